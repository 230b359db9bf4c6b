// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { backoff } from "../clock.js";
import { TypingReceiver, TypingSender } from "../typing.js";
import { TestClock } from "./support/clock.js";

function sender() {
  const clock = new TestClock();
  const sent = [];
  const typing = new TypingSender(clock, (conversation, action) =>
    sent.push(`${clock.time / 1000} ${conversation} ${action}`));
  typing.setConnected(true);
  return { clock, sent, typing };
}

test("typing pauses 10 s after the last call and finishes 10 s later", () => {
  const { clock, sent, typing } = sender();
  typing.call("c", "started");
  clock.advance(9_000);
  typing.call("c", "started");
  clock.advance(60_000);
  assert.deepEqual(sent, ["0 c started", "9 c started", "19 c paused", "29 c finished"]);
  assert.equal(clock.timers, 0);
});

test("100 calls in 2 s send one signal, and a repeated action is sent again after 2.5 s", () => {
  const { clock, sent, typing } = sender();
  for (let call = 0; call < 100; call += 1) {
    typing.call("c", "started");
    clock.advance(20);
  }
  assert.deepEqual(sent, ["0 c started"]);
  clock.advance(500);
  typing.call("c", "started");
  assert.deepEqual(sent, ["0 c started", "2.5 c started"]);
});

test("a different action is sent at once, and finished only after a start", () => {
  const { clock, sent, typing } = sender();
  typing.call("c", "finished");
  typing.call("c", "started");
  typing.call("c", "paused");
  typing.call("c", "finished");
  clock.advance(60_000);
  assert.deepEqual(sent, ["0 c started", "0 c paused", "0 c finished"]);
});

test("a message ends typing without a signal", () => {
  const { clock, sent, typing } = sender();
  typing.call("c", "started");
  typing.end("c");
  clock.advance(60_000);
  assert.deepEqual(sent, ["0 c started"]);
});

test("without a connection nothing is sent, and after it only a start that still holds", () => {
  const { clock, sent, typing } = sender();
  typing.call("a", "started");
  typing.setConnected(false);
  typing.call("b", "started");
  clock.advance(9_000);
  typing.call("b", "started");
  clock.advance(2_000);
  typing.setConnected(true);
  assert.deepEqual(sent, ["0 a started", "11 b started"]);
});

test("another user types until a signal, a message, silence or the loss of the connection", () => {
  const clock = new TestClock();
  const events = [];
  const typing = new TypingReceiver(clock, (conversation, user, action) => events.push(`${user} ${action}`));
  typing.received("c", "ann", "started");
  typing.received("c", "ben", "started");
  typing.received("c", "cleo", "paused");
  assert.deepEqual([...typing.in("c")], [["ann", "started"], ["ben", "started"], ["cleo", "paused"]]);
  typing.received("c", "ann", "finished");
  typing.finish("c", "nobody");
  clock.advance(20_000);
  typing.received("c", "ben", "started");
  clock.advance(5_000);
  assert.deepEqual([...typing.in("c").keys()], ["ben"]);
  typing.finishAll();
  assert.deepEqual(events, ["ann started", "ben started", "cleo paused", "ann finished", "ben started",
    "cleo finished", "ben finished"]);
  assert.equal(clock.timers, 0);
});

test("the delay between tries doubles from 1 s to 60 s, has a random part, and honours the server's request", () => {
  assert.deepEqual([1, 2, 3, 6, 7, 100].map((tries) => backoff(tries, 0)), [500, 1000, 2000, 16000, 30000, 30000]);
  assert.deepEqual([1, 7].map((tries) => Math.round(backoff(tries, 0.999999))), [1000, 60000]);
  assert.equal(backoff(1, 0, 5000), 5000);
  assert.equal(backoff(1, 0, 1e9), 60000);
});
