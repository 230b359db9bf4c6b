// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { EventParser } from "../Web/events.js";

/** Parses a stream in chunks of a size. */
function parse(text, size = text.length) {
  const events = [];
  const parser = new EventParser((type, data) => events.push([type, data]));
  for (let start = 0; start < text.length; start += size) parser.add(text.slice(start, start + size));
  return events;
}

test("events have a type and data, and comments are ignored", () => {
  const stream = ': hello\n\nevent: change\ndata: {"position":1}\n\n:\ndata: plain\n\nevent: typing\ndata:no space\n\n';
  assert.deepEqual(parse(stream), [["change", '{"position":1}'], ["message", "plain"], ["typing", "no space"]]);
});

test("lines of data are joined, and colons in them stay", () => {
  assert.deepEqual(parse("event: a\ndata: 1: 2\ndata: 3\n\n"), [["a", "1: 2\n3"]]);
});

test("an event without data, and one without an end, is none", () => {
  assert.deepEqual(parse("event: a\n\ndata: 1\n"), []);
});

test("chunks of any size and all line ends give the same events", () => {
  const lines = ["event: change", "data: one", "", ": comment", "data: two", "data: three", "", ""];
  const expected = [["change", "one"], ["message", "two\nthree"]];
  for (const end of ["\n", "\r\n", "\r"]) {
    const stream = lines.join(end) + (end === "\r" ? ":" : "");
    for (let size = 1; size <= stream.length; size += 1) {
      assert.deepEqual(parse(stream, size), expected, `${JSON.stringify(end)} in chunks of ${size}`);
    }
  }
});
