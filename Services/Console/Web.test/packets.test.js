// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { filtered, ndjson, packetSummary, traceEntry, withEntries } from "../Web/model/packets.js";

const at = "2018-05-04T09:31:10.480Z";
const line = (direction, packet, socket = "7") => ({ at, socket, direction, packet });
const all = { direction: "", type: "", socket: "", text: "" };

test("a packet is described in one line", () => {
  const object = { type: "Message", id: "layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10" };
  const summary = (type, body) => packetSummary({ type, body });
  assert.equal(summary("request", { method: "Event.replay", request_id: "r1" }), "Event.replay r1");
  assert.equal(summary("response", { method: "Message.create", request_id: "r6", success: true, data: {} }),
    "Message.create r6 ok");
  assert.equal(summary("response", { method: "Message.create", request_id: "r6", success: false,
    data: { id: "not_found" } }), "Message.create r6 failed: not_found");
  assert.equal(summary("change", { operation: "create", object, position: 17, data: {} }),
    "Message create 0c4b0b4e #17");
  assert.equal(summary("change", { operation: "update", object, user_position: 3,
    data: [{ property: "a" }, { property: "a" }, { property: "b" }] }), "Message update 0c4b0b4e #3 (a, b)");
  assert.equal(summary("signal", { type: "typing_indicator", object,
    data: { action: "started", sender: { user_id: "ana" } } }), "typing_indicator started ana 0c4b0b4e");
});

test("a packet that is none is shown as it is", () => {
  for (const packet of ["no JSON", null, 7, { type: "change" }, { type: "constructor", body: {} },
    { type: "request", body: "x" }]) {
    assert.equal(typeof packetSummary(packet), "string");
  }
  assert.equal(packetSummary("{broken"), '"{broken"');
});

test("entries of packets and of sockets", () => {
  const entry = traceEntry(line("in", { type: "request", body: { method: "Counter.read", request_id: "ä" } }), 3);
  assert.deepEqual([entry.number, entry.type, entry.direction, entry.summary], [3, "request", "in", "Counter.read ä"]);
  assert.equal(entry.bytes, new TextEncoder().encode(JSON.stringify(entry.line.packet)).length);
  const dropped = traceEntry({ event: "dropped", socket: "7", at, count: 12 }, 4);
  assert.deepEqual([dropped.type, dropped.direction, dropped.bytes], ["dropped", "event", null]);
  assert.match(dropped.summary, /^12 packets are missing/);
});

test("the oldest entries go beyond the limit", () => {
  const entries = [1, 2, 3].map((n) => traceEntry(line("in", { n }), n));
  assert.deepEqual(withEntries(entries.slice(0, 2), entries.slice(2), 2).map((entry) => entry.number), [2, 3]);
});

test("a filter looks at direction, type, socket and every word of the packet's text", () => {
  const entries = [
    traceEntry(line("in", { type: "request", body: { method: "Message.create", data: "Train at 8" } }), 0),
    traceEntry(line("out", { type: "change", body: { operation: "create" } }, "9"), 1),
    traceEntry({ event: "closed", socket: "9", at }, 2),
  ];
  const numbers = (filter) => filtered(entries, { ...all, ...filter }).map((entry) => entry.number);
  assert.deepEqual(numbers({}), [0, 1, 2]);
  assert.deepEqual(numbers({ direction: "in" }), [0, 2]);
  assert.deepEqual(numbers({ type: "change" }), [1]);
  assert.deepEqual(numbers({ socket: "9" }), [1, 2]);
  assert.deepEqual(numbers({ text: "TRAIN request" }), [0]);
  assert.deepEqual(numbers({ text: "train change" }), []);
});

test("NDJSON has the gateway's lines as they came", () => {
  const lines = [line("in", { a: "x\ny" }), { event: "opened", socket: "7", at }];
  const text = ndjson(lines.map(traceEntry));
  assert.deepEqual(text.trimEnd().split("\n").map((one) => JSON.parse(one)), lines);
});
