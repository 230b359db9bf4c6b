// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { StrataError } from "../errors.js";
import { Queue } from "../queue.js";
import { Store } from "../store.js";
import { randomUUID } from "../wire.js";
import { TestClock, microtasks } from "./support/clock.js";
import { conversationId, createConversation, createMessage, messageId } from "./support/wire.js";

const ok = (position = null, userPosition = null) => ({ status: 200, body: null, position, userPosition, next: null });

/** A queue whose requests the test answers. */
async function newQueue({ storage, restore = true, time = 0, onAnswer = () => {} } = {}) {
  const [clock, sent, failures, answered] = [new TestClock(), [], [], []];
  clock.time = time;
  const host = {
    send: (operation) => new Promise((answer, refuse) => {
      sent.push({ operation, name: operation.name, label: label(operation.change), answer, refuse });
    }),
    answered: (operation) => {
      answered.push(operation.name);
      onAnswer(operation);
    },
    failed: (error, change) => failures.push(`${error.code} ${label(change)}`),
    changed: () => {},
  };
  const queue = new Queue({ host, clock, storage });
  if (restore) await queue.restore("me");
  return { queue, clock, sent, failures, answered };
}

const label = ({ kind, conversation, ids, steps, user }) =>
  [kind, conversation ?? user, ids?.join("+"), steps?.map((step) => step.path).join("+")].filter(Boolean).join(" ");
const send = (conversation, id) => ({ kind: "send", conversation, ids: [id], data: { parts: [] } });
const setMetadata = (conversation, path, value = "1") => ({ kind: "setMetadata", conversation, steps: [{ path,
  value }] });
const labels = (sent) => sent.map((request) => request.label);
const error = (code, status, retryAfter) => new StrataError(code, code, { status, retryAfter });

test("the changes of a conversation are sent in order, and conversations do not wait for each other", async () => {
  const { queue, sent } = await newQueue();
  for (const change of [send("a", "1"), send("a", "2"), send("b", "3")]) queue.add(change, "me");
  assert.equal(sent.length, 0);
  queue.setConnected(true);
  await microtasks();
  assert.deepEqual(labels(sent), ["send a 1", "send b 3"]);
  sent[0].answer(ok());
  await microtasks();
  assert.deepEqual(labels(sent), ["send a 1", "send b 3", "send a 2"]);
});

test("a receipt does not wait for messages, and unsent receipts are merged", async () => {
  const { queue, sent } = await newQueue();
  queue.setConnected(true);
  queue.add(send("a", "1"), "me");
  for (const id of ["2", "3", "4"]) queue.add({ kind: "read", conversation: "a", ids: [id] }, "me");
  await microtasks();
  assert.deepEqual(labels(sent), ["send a 1", "read a 2"]);
  sent[1].answer(ok());
  await microtasks();
  assert.equal(sent[2].label, "read a 3+4");
});

test("unsent changes of metadata are merged into one, and those behind a message are not", async () => {
  const { queue, sent } = await newQueue();
  const calls = [queue.add(setMetadata("a", "x.y"), "me"), queue.add(setMetadata("a", "z"), "me"),
    queue.add(setMetadata("a", "x", null), "me")];
  queue.add(send("a", "1"), "me");
  queue.add(setMetadata("a", "z"), "me");
  queue.setConnected(true);
  await microtasks();
  assert.deepEqual(labels(sent), ["setMetadata a z+x"]);
  sent[0].answer(ok());
  await Promise.all(calls);
  assert.equal(queue.size, 2);
});

test("a change that may have been sent is never merged, and keeps its name", async () => {
  const { queue, clock, sent } = await newQueue();
  queue.setConnected(true);
  queue.add(setMetadata("a", "x"), "me");
  await microtasks();
  sent[0].refuse(error("network", 0));
  await microtasks();
  queue.add(setMetadata("a", "y"), "me");
  clock.advance(1_000);
  await microtasks();
  assert.deepEqual(labels(sent), ["setMetadata a x", "setMetadata a x"]);
  assert.equal(sent[0].name, sent[1].name);
});

test("a temporary failure is retried after a growing delay, or the one that the server requests", async () => {
  const { queue, clock, sent } = await newQueue();
  queue.setConnected(true);
  queue.add(send("a", "1"), "me");
  for (const [failure, delay] of [[error("service_unavailable", 503), 750], [error("x", 500), 1500],
    [error("rate_limit_exceeded", 429, 9000), 9000]]) {
    const count = sent.length;
    await microtasks();
    sent.at(-1).refuse(failure);
    await microtasks();
    clock.advance(delay - 1);
    await microtasks();
    assert.equal(sent.length, Math.max(1, count));
    clock.advance(1);
    await microtasks();
    assert.equal(sent.length, Math.max(1, count) + 1);
  }
});

test("a change is dropped and reported after 20 temporary failures with a connection", async () => {
  const { queue, clock, sent, failures } = await newQueue();
  queue.setConnected(true);
  const result = queue.add(send("a", "1"), "me");
  for (let tries = 0; tries < 20; tries += 1) {
    await microtasks();
    sent.at(-1).refuse(error("network", 0));
    await microtasks();
    clock.advance(60_000);
  }
  await assert.rejects(result, { code: "gave_up" });
  assert.equal(sent.length, 20);
  assert.deepEqual(failures, ["gave_up send a 1"]);
});

test("failures without a connection do not count, and a new connection ends the delays", async () => {
  const { queue, sent, failures } = await newQueue();
  queue.add(send("a", "1"), "me");
  for (let tries = 0; tries < 50; tries += 1) {
    queue.setConnected(true);
    await microtasks();
    queue.setConnected(false);
    sent.at(-1).refuse(error("network", 0));
    await microtasks();
  }
  assert.equal(sent.length, 50);
  assert.equal(new Set(sent.map((request) => request.name)).size, 1);
  assert.deepEqual(failures, []);
});

test("a refused change is dropped and reported, and the next one is sent", async () => {
  const { queue, sent, failures } = await newQueue();
  queue.setConnected(true);
  const result = queue.add(setMetadata("a", "x"), "me");
  queue.add(send("a", "1"), "me");
  await microtasks();
  sent[0].refuse(error("invalid_property", 422));
  await assert.rejects(result, { code: "invalid_property", status: 422 });
  await microtasks();
  assert.deepEqual(labels(sent), ["setMetadata a x", "send a 1"]);
  assert.deepEqual(failures, ["invalid_property setMetadata a x"]);
});

test("a refused creation takes all changes of its conversation with it", async () => {
  const { queue, sent, failures } = await newQueue();
  queue.setConnected(true);
  queue.add({ kind: "createConversation", conversation: "a" }, "me");
  queue.add(send("a", "1"), "me");
  queue.add(send("b", "2"), "me");
  await microtasks();
  sent[0].refuse(error("invalid_property", 422));
  await microtasks();
  assert.deepEqual(failures, ["invalid_property createConversation a", "invalid_property send a 1"]);
  assert.deepEqual(queue.operations.map(({ change }) => label(change)), ["send b 2"]);
});

test("an answered change stays until a packet of a later position, or of its own after the others", async () => {
  const { queue, sent } = await newQueue();
  const store = new Store("me");
  store.apply(createConversation());
  queue.setConnected(true);
  queue.add(send(conversationId(), messageId(3)), "me");
  await microtasks();
  sent[0].answer(ok(3));
  await microtasks();
  queue.settle(store, true, null);
  assert.equal(queue.operations.length, 1);
  store.apply(createMessage(3));
  queue.settle(store, true, { id: conversationId(), position: 3 });
  assert.equal(queue.operations.length, 1);
  queue.settle(store, true, null);
  assert.equal(queue.operations.length, 0);
});

for (const [name, change, answer, prepare, isOver] of [
  ["position 0 is contained in everything", send(conversationId(), "1"), ok(0), () => {}, true],
  ["a message waits for its packet if the conversation is shown as it is later", send(conversationId(), "1"), ok(1),
    () => {}, false],
  ["a change of the user's own log waits for its position", { kind: "block", user: "bob" }, ok(null, 4), (store) =>
    (store.userPosition = 3), false],
  ["a change of the user's own log ends at its position", { kind: "block", user: "bob" }, ok(null, 4), (store) =>
    (store.userPosition = 4), true],
  ["a change with two positions waits for both", send(conversationId(), "1"), ok(1, 4), () => {}, false],
  ["a change over a conversation that is gone ends", send("gone", "1"), ok(5), () => {}, true],
]) {
  test(name, async () => {
    const { queue, sent } = await newQueue();
    const store = new Store("me");
    store.apply(createConversation());
    prepare(store);
    queue.setConnected(true);
    queue.add(change, "me");
    await microtasks();
    sent[0].answer(answer);
    await microtasks();
    queue.settle(store, true, null);
    assert.equal(queue.operations.length, isOver ? 0 : 1);
  });
}

test("a message in a created conversation stays until the packets of the conversation arrive", async () => {
  const { queue, sent } = await newQueue();
  const store = new Store("me");
  queue.setConnected(true);
  queue.add({ kind: "createConversation", conversation: conversationId() }, "me");
  queue.add(send(conversationId(), messageId(2)), "me");
  await microtasks();
  sent[0].answer(ok(1));
  await microtasks();
  sent[1].answer(ok(2));
  await microtasks();
  queue.settle(store, true, null);
  assert.equal(queue.operations.length, 2);
  store.apply(createConversation());
  queue.settle(store, true, null);
  assert.deepEqual(queue.operations.map(({ change }) => change.kind), ["send"]);
  store.apply(createMessage(2));
  queue.settle(store, true, null);
  assert.equal(queue.operations.length, 0);
});

test("a replay ends the changes that were answered before it", async () => {
  const { queue, sent } = await newQueue();
  queue.setConnected(true);
  queue.add({ kind: "block", user: "bob" }, "me");
  await microtasks();
  sent[0].answer(ok(null, 4));
  await microtasks();
  queue.syncBegan();
  queue.add({ kind: "block", user: "cleo" }, "me");
  await microtasks();
  sent[1].answer(ok(null, 5));
  await microtasks();
  queue.syncEnded();
  assert.deepEqual(queue.operations.map(({ change }) => change.user), ["cleo"]);
});

/** A storage as a map, of which each write takes a turn. */
class TestStorage {
  stored = new Map();
  load = async (user) => [...this.stored.values()].filter((operation) => operation.user === user).map((one) =>
    structuredClone(one));
  put = async (operation) => void this.stored.set(operation.name, structuredClone(operation));
  delete = async (name) => void this.stored.delete(name);
}

test("stored changes are sent by the next queue, in order and under their names, before newer ones", async () => {
  const storage = new TestStorage();
  const first = await newQueue({ storage });
  first.queue.setConnected(true);
  for (const id of ["1", "2", "3"]) first.queue.add(send("a", id), "me");
  first.queue.add(send("a", "x"), "other");
  await microtasks();
  first.sent[0].answer(ok(2));
  await microtasks();
  const names = first.queue.operations.filter(({ state }) => state !== "answered").map(({ name }) => name);
  const second = await newQueue({ storage, restore: false });
  second.queue.setConnected(true);
  second.queue.add(send("a", "4"), "me");
  await second.queue.restore("me");
  for (let count = 1; count <= 3; count += 1) {
    await microtasks();
    assert.equal(second.sent.length, count);
    second.sent.at(-1).answer(ok());
  }
  await microtasks();
  assert.deepEqual(labels(second.sent), ["send a 2", "send a 3", "send a 4"]);
  assert.deepEqual(second.sent.slice(0, 2).map(({ name }) => name), names.slice(0, 2));
  assert.deepEqual([...storage.stored.values()].map((one) => one.user), ["other"]);
});

test("a stored change says that it may have been sent before its request is sent", async () => {
  const storage = new TestStorage();
  const { queue, sent } = await newQueue({ storage });
  queue.setConnected(true);
  queue.add(send("a", "1"), "me");
  await microtasks();
  assert.equal(sent.length, 1);
  assert.deepEqual([...storage.stored.values()].map(({ wasTried }) => wasTried), [true]);
});

test("changes of a page that ended before it took over the stored ones follow them", async () => {
  const storage = new TestStorage();
  const first = await newQueue({ storage, time: 1_000 });
  for (const kind of ["follow", "unfollow", "follow"]) first.queue.add({ kind, user: "bob" }, "me");
  await microtasks();
  const second = await newQueue({ storage, restore: false, time: 2_000 });
  second.queue.add({ kind: "unfollow", user: "bob" }, "me");
  await microtasks();
  const third = await newQueue({ storage, time: 3_000 });
  assert.deepEqual(third.queue.operations.map(({ change }) => change.kind), ["follow", "unfollow", "follow",
    "unfollow"]);
});

test("the changes of a distinct conversation with another id are stored before its creation is removed", async () => {
  const storage = new TestStorage();
  const onAnswer = ({ change }) => change.kind === "createConversation" && queue.move("old", "new");
  const { queue, sent } = await newQueue({ storage, onAnswer });
  queue.setConnected(true);
  queue.add({ kind: "createConversation", conversation: "old" }, "me");
  queue.add(send("old", "1"), "me");
  await microtasks();
  const states = [];
  for (const name of ["put", "delete"]) {
    const write = storage[name];
    storage[name] = async (argument) => {
      await write(argument);
      const stored = [...storage.stored.values()].map(({ change }) => change);
      const isCreated = stored.some(({ kind }) => kind === "createConversation");
      states.push(isCreated || stored.every(({ conversation }) => conversation === "new"));
    };
  }
  sent[0].answer(ok());
  await microtasks();
  assert.ok(states.length >= 2 && !states.includes(false), "the page may end after any write");
});

test("a storage that fails does not stop the queue", async () => {
  const fail = () => Promise.reject(new Error("full"));
  const { queue, sent } = await newQueue({ storage: { load: fail, put: fail, delete: fail } });
  queue.setConnected(true);
  queue.add(send("a", "1"), "me");
  await microtasks();
  assert.equal(sent.length, 1);
});

test("a storage that throws at once does not stop the queue", async () => {
  const fail = () => {
    throw new Error("none");
  };
  const { queue, sent } = await newQueue({ storage: { load: fail, put: fail, delete: fail } });
  queue.setConnected(true);
  queue.add(send("a", "1"), "me");
  await microtasks();
  assert.equal(sent.length, 1);
});

test("stored changes that are read after the sign-out are not taken over", async () => {
  let give;
  const stored = { name: "n", sequence: 0, user: "me", change: send("a", "1"), state: "waiting", wasTried: true,
    tries: 0 };
  const write = async () => {};
  const storage = { load: () => new Promise((resolve) => (give = resolve)), put: write, delete: write };
  const { queue, sent } = await newQueue({ storage, restore: false });
  const restored = queue.restore("me");
  queue.clear(error("closed", 0));
  queue.setConnected(true);
  give([stored]);
  await restored;
  await microtasks();
  assert.deepEqual([labels(sent), queue.operations.length], [[], 0]);
});

test("stored changes of unknown kinds are left alone", async () => {
  const load = async () => ["novelty", "constructor", "__proto__"].map((kind, sequence) =>
    ({ name: kind, sequence, user: "me", change: { kind }, state: "waiting", wasTried: false, tries: 0 }));
  const { queue } = await newQueue({ storage: { load, put: async () => {}, delete: async () => {} } });
  assert.equal(queue.operations.length, 0);
});

test("a UUID has the form of version 4, also on a page without HTTPS", (context) => {
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  context.after(() => delete crypto.randomUUID);
  const names = Array.from({ length: 100 }, randomUUID);
  for (const name of names) assert.match(name, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(names).size, 100);
});

test("receipts are sent together, at most 1000 per request", async () => {
  const { queue, sent } = await newQueue();
  const read = (number) => queue.add({ kind: "read", conversation: "a", ids: [String(number)] }, "me");
  for (let number = 0; number < 1001; number += 1) void read(number);
  queue.setConnected(true);
  await microtasks();
  sent[0].answer(ok());
  await microtasks();
  assert.deepEqual(sent.map(({ operation }) => operation.change.ids.length), [1000, 1]);
});
