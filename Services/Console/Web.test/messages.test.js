// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  emptyWindow, isAtNewest, newerPart, newerStart, newestWindow, olderStart, pageSize, shownLimit, shownMessages,
  shownStarts,
  windowAt, withChanged, withDeleted, withNewer, withNewest, withOlder,
} from "../Web/model/messages.js";

const message = (number) => ({ id: `layer:///messages/${number}`, position: number * 8192, parts: [number] });

/** A server with a conversation of messages 1, 2, 3, …, which lists the newest first. */
class Conversation {
  constructor(count) {
    this.numbers = Array.from({ length: count }, (_, index) => index + 1);
  }
  read(from) {
    const end = from === null || from === undefined ? this.numbers.length
      : this.numbers.indexOf(Number(from.split("/").at(-1)));
    assert.ok(end >= 0, "the message to read from exists");
    const start = Math.max(0, end - pageSize);
    return { items: this.numbers.slice(start, end).reverse().map(message), hasMore: start > 0 };
  }
  send(count) {
    for (let n = 0; n < count; n += 1) this.numbers.push(this.numbers.at(-1) + 1);
  }
  delete(number) {
    this.numbers = this.numbers.filter((one) => one !== number);
  }
}

const older = (conversation, window) => withOlder(window, conversation.read(olderStart(window)));

function newer(conversation, window) {
  const read = [];
  for (let from = newerStart(window); ; from = read.at(-1).id) {
    read.push(...conversation.read(from).items);
    const part = newerPart(window, read);
    if (part) return withNewer(window, part);
  }
}

const shown = (window) => shownMessages(window).map((one) => one.position / 8192);

function assertRun(window, what) {
  const numbers = shown(window);
  numbers.forEach((number, index) => assert.equal(number, numbers[0] + index, `${what}: no gap and no repetition`));
}

test("paging up through 100,000 messages shows at most the limit, and down again leads to the newest", () => {
  const conversation = new Conversation(100_000);
  let window = newestWindow(conversation.read());
  let pages = 1;
  while (window.hasOlder) {
    window = older(conversation, window);
    pages += 1;
    assert.ok(shown(window).length <= shownLimit);
  }
  assert.equal(pages, 2000);
  assert.equal(shown(window)[0], 1);
  assertRun(window, "the oldest");
  assert.equal(isAtNewest(window), false);
  while (newerStart(window) !== undefined) {
    window = newer(conversation, window);
    assert.ok(shown(window).length <= shownLimit);
  }
  assertRun(window, "the newest");
  assert.equal(shown(window).at(-1), 100_000);
  assert.equal(isAtNewest(window), true);
  assert.equal(window.hasOlder, true);
});

test("messages that came meanwhile are between the pages when the reader comes back", () => {
  const conversation = new Conversation(400);
  let window = newestWindow(conversation.read());
  for (let page = 0; page < 4; page += 1) window = older(conversation, window);
  conversation.send(70);
  while (newerStart(window) !== undefined) {
    window = newer(conversation, window);
    assertRun(window, "on the way back");
  }
  assert.equal(shown(window).at(-1), 470);
});

test("a page is found again although its neighbours were deleted", () => {
  const conversation = new Conversation(400);
  let window = newestWindow(conversation.read());
  for (let page = 0; page < 4; page += 1) window = older(conversation, window);
  const first = shown(window).at(-1);
  conversation.delete(first + 3);
  window = newer(conversation, window);
  const numbers = shown(window);
  assert.ok(!numbers.includes(first + 3));
  assert.ok(numbers.includes(first + 4) && numbers.includes(first));
  assert.equal(new Set(numbers).size, numbers.length);
});

test("what does not reach down to the window is no part of it", () => {
  const conversation = new Conversation(300);
  const window = older(conversation, older(conversation, older(conversation, newestWindow(conversation.read()))));
  conversation.send(200);
  assert.equal(newerPart(window, conversation.read().items), null);
});

test("new messages are added at the end, and the oldest ones go", () => {
  const conversation = new Conversation(300);
  let window = older(conversation, older(conversation, newestWindow(conversation.read())));
  assert.equal(shown(window).length, 150);
  conversation.send(20);
  window = withNewest(window, conversation.read());
  assertRun(window, "after new messages");
  assert.deepEqual([shown(window)[0], shown(window).at(-1)], [171, 320]);
  assert.equal(window.hasOlder, true);
  assertRun(older(conversation, window), "older ones after that");
});

test("after more new messages than a page, only the page is shown", () => {
  const conversation = new Conversation(300);
  const window = newestWindow(conversation.read());
  conversation.send(51);
  const after = withNewest(window, conversation.read());
  assert.deepEqual([shown(after)[0], shown(after).length], [302, 50]);
});

test("a short conversation is shown whole, also without messages and when it grows", () => {
  const conversation = new Conversation(0);
  let window = newestWindow(conversation.read());
  assert.deepEqual([shown(window), window.hasOlder], [[], false]);
  conversation.numbers.push(1);
  window = withNewest(window, conversation.read());
  assert.deepEqual(shown(window), [1]);
  conversation.send(59);
  window = withNewest(window, conversation.read());
  assert.deepEqual([shown(window).length, window.hasOlder], [50, true]);
});

test("a page may be short before the list ends", () => {
  const window = newestWindow({ items: [message(9), message(8)], hasMore: true });
  assert.equal(window.hasOlder, true);
  assert.equal(withOlder(window, { items: [], hasMore: false }).hasOlder, false);
});

test("a deleted message keeps its place, and no list is read on from it", () => {
  const conversation = new Conversation(120);
  let window = newestWindow(conversation.read());
  const oldest = shown(window)[0];
  conversation.delete(oldest);
  window = withDeleted(window, String(oldest), { actor: "ana" });
  assert.deepEqual(shownMessages(window)[0], { ...message(oldest), parts: [], deleted: { actor: "ana" } });
  assert.equal(olderStart(window), message(oldest + 1).id);
  assertRun(older(conversation, window), "above a deleted message");
  conversation.send(1);
  conversation.delete(119);
  window = withNewest(withDeleted(window, "119", { actor: "" }), conversation.read());
  assert.deepEqual(shown(window).slice(-3), [119, 120, 121]);
});

test("a page that was read before a deletion does not bring the message back", () => {
  const conversation = new Conversation(60);
  const page = conversation.read();
  const window = withDeleted(newestWindow(page), "58", { actor: "ana" });
  for (const after of [withNewest(window, page), withChanged(window, page.items)]) {
    assert.equal(shown(after).filter((number) => number === 58).length, 1);
    assert.ok(shownMessages(after).find((one) => one.position === 58 * 8192).deleted);
  }
});

test("a window at a message shows it with what was before, and is not at the newest", () => {
  const conversation = new Conversation(300);
  const window = windowAt(message(200), conversation.read(message(200).id));
  assert.deepEqual([shown(window)[0], shown(window).at(-1)], [150, 200]);
  assert.equal(isAtNewest(window), false);
  assert.equal(newerStart(window), undefined);
  assert.deepEqual(shownStarts(window), [message(200).id]);
});

test("messages that were read again take the place of the shown ones", () => {
  const window = withChanged(newestWindow({ items: [message(2), message(1)], hasMore: false }),
    [{ ...message(1), parts: ["new"] }, message(7)]);
  assert.deepEqual(shownMessages(window).map((one) => one.parts), [["new"], [2]]);
  assert.deepEqual(shownMessages(emptyWindow()), []);
});
