// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeText, hasGap, joined, receiptGroups, typingText, withChanges, withSignal,
  withoutSilent } from "../Web/model/live.js";

const text = (kind, operations) => changeText({ kind, operations });

test("a change is described by what it did", () => {
  assert.equal(text("metadata_changed", [{ path: "a.b", value: "x" }, { path: "c", value: null }]),
    "set a.b; deleted c");
  assert.equal(text("participants_changed", { added: ["ana", "ben"], removed: [] }), "added ana and ben");
  assert.equal(text("participants_changed", { added: null, removed: ["cleo"] }), "removed cleo");
  assert.equal(text("receipts", [{ user: "ben", status: "read" }, { user: "ben", status: "read" },
    { user: "ana", status: "delivered" }]),
    "ben read 2 messages; ana received a message");
  assert.equal(text("all_read", { user: "ana", up_to: 4 }), "ana read all messages");
  assert.equal(text("message_created", undefined), "sent a message");
  assert.equal(text("constructor", undefined), "");
  assert.equal(text("metadata_changed", undefined), "");
});

test("long lists of names are shortened", () => {
  assert.equal(joined(["a"]), "a");
  assert.equal(joined(["a", "b", "c", "d"]), "a, b, c and d");
  assert.equal(joined(["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
  assert.equal(joined(["a, b", "c"]), "a, b and c");
});

test("changes are kept once each, the newest first, up to the limit", () => {
  const positions = (changes) => changes.map((change) => change.position);
  const known = withChanges([], [1, 2, 3].map((position) => ({ position })));
  assert.deepEqual(positions(known), [3, 2, 1]);
  assert.deepEqual(positions(withChanges(known, [{ position: 5 }, { position: 3 }, { position: 4 }], 4)), [5, 4, 3, 2]);
});

test("a missing position is a gap; the first change is none", () => {
  assert.equal(hasGap(undefined, { position: 9 }), false);
  assert.equal(hasGap(4, { position: 5 }), false);
  assert.equal(hasGap(4, { position: 4 }), false);
  assert.equal(hasGap(4, { position: 6 }), true);
});

test("typing begins, pauses and ends, also without a signal", () => {
  let typing = withSignal(new Map(), { user: "ana", action: "started" }, 0);
  typing = withSignal(typing, { user: "ben", action: "started" }, 1000);
  assert.equal(typingText(typing), "ana and ben are typing");
  typing = withSignal(typing, { user: "ana", action: "paused" }, 2000);
  assert.equal(typingText(typing, (user) => user.toUpperCase()), "BEN is typing; ANA has paused");
  typing = withSignal(typing, { user: "ana", action: "finished" }, 3000);
  assert.equal(typingText(typing), "ben is typing");
  assert.equal(withoutSilent(typing, 20_000), typing);
  assert.equal(typingText(withoutSilent(typing, 26_000)), "");
});

test("receipts are grouped in the order of a receipt's life", () => {
  assert.deepEqual(receiptGroups({ a: "sent", b: "read", c: "read" }), [["read", ["b", "c"]], ["sent", ["a"]]]);
  assert.deepEqual(receiptGroups(null), []);
});
