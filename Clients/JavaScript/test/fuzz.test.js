// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { systemClock } from "../clock.js";
import { Queue } from "../queue.js";
import { Store } from "../store.js";
import { View } from "../view.js";
import { microtasks, randomNumbers } from "./support/clock.js";
import { TestServer } from "./support/server.js";
import {
  change, conversation, conversationId, createConversation, createMessage, identity, message, messageId, part,
    partId, set,
  status, updateConversation, updateMessage,
} from "./support/wire.js";

const packets = [
  createConversation({ last_message: message(2), total_message_count: 1, metadata: { a: { b: "c" } } }),
  updateConversation(3, set("metadata.a.b", "x"), { operation: "delete", property: "metadata.a" }),
  updateConversation(4, { operation: "add", property: "participants", id: identity("cleo").id,
    value: identity("cleo") }),
  updateConversation(5, { operation: "remove", property: "participants", id: identity("bob").id }, set("distinct",
    false)),
  updateConversation(6, set("last_message", message(6)), set("unread_message_count", 1), set("total_message_count", 2)),
  change("Conversation", "delete", conversationId(), { mode: "my_devices", from_position: 8192 }, { user_position: 2 }),
  createMessage(7), createMessage(8, { parts: [part(8, 1), part(8, 2)] }),
  updateMessage(7, 9, status("me", "read"), set("parts", [part(7, 3)]), set("updated_at", "2026-01-01T00:00:09.000Z")),
  change("MessagePart", "update", partId(7, 1), [set("body", "new"), set("updated_at", null)], { position: 10 }),
  change("Message", "delete", messageId(8), { mode: "all_participants" }, { position: 11 }),
  change("Identity", "create", identity("dan").id, { ...identity("dan"), metadata: {} }, { user_position: 3 }),
  change("Identity", "update", identity("bob").id, [set("blocked", true), set("presence.status", "away")],
    { user_position: 4 }),
  { type: "operation", body: { method: "Conversation.mark_all_read", object: { type: "Conversation",
    id: conversationId() },
    position: 12, data: { position: 70_000, identity: { id: identity("me").id } } } },
  { type: "signal", body: { type: "typing_indicator", object: { id: conversationId() },
    data: { sender: identity("bob"), action: "started" } } },
  { type: "response", body: { request_id: "r1", method: "Counter.read", success: true, data: { counter: 1 } } },
];
const values = [null, undefined, true, -1, 0.5, 1e300, Number.MAX_SAFE_INTEGER, "", "x", "metadata", "__proto__",
  "\ud800", [], {}, [[]],
  [null], { id: null }, "layer:///identities/%", "layer:///conversations/x", "2026", "read", conversationId(2),
    messageId(3), JSON.parse('{"__proto__": "x"}')];

/** Replaces, removes, copies or moves members at random places. */
function mutate(packet, random) {
  const copy = structuredClone(packet);
  for (let count = Math.floor(random() * 4); count >= 0; count -= 1) {
    let [place, key] = [{ copy }, "copy"];
    while (typeof place[key] === "object" && place[key] !== null && random() < 0.8) {
      const keys = Object.keys(place[key]);
      if (keys.length === 0) break;
      [place, key] = [place[key], keys[Math.floor(random() * keys.length)]];
    }
    if (key === "copy") continue;
    const choice = random();
    if (choice < 0.2) delete place[key];
    else if (choice < 0.3) place[`${key}x`] = place[key];
    else place[key] = structuredClone(values[Math.floor(random() * values.length)]);
  }
  return JSON.parse(JSON.stringify(copy));
}

/** Checks what must hold after any packet. */
function checkStore(store, view) {
  for (const [id, record] of store.conversations) {
    assert.equal(record.id, id);
    assert.ok(Number.isSafeInteger(record.position) && record.unread >= 0 && record.total >= 0);
    assert.ok(store.messages.has(id));
    assert.equal(Object.getPrototypeOf(record.metadata), null);
    for (const [key,
      one] of store.messages.get(id)) assert.ok(one.id === key && one.conversation === id && one.position >= 0);
    const shown = view.conversation(id);
    assert.ok(shown.participants.every((user) => typeof user.name === "string"));
    for (const one of view.messages(id)) assert.ok(typeof one.text === "string" && typeof one.senderName === "string");
    JSON.stringify(shown.metadata);
  }
  for (const id of store.messages.keys()) assert.ok(store.conversations.has(id), "messages have a conversation");
}

test("100,000 mutated packets leave a consistent state and throw nothing", () => {
  const random = randomNumbers(20261126);
  const queue = new Queue({ host: { changed: () => {} }, clock: systemClock });
  let [store, malformed] = [null, 0];
  const view = new View(queue, { me: () => "me", identity: (user) => view.identity(user) });
  for (let round = 0; round < 100_000; round += 1) {
    if (round % 500 === 0) {
      store = new Store("me");
      view.show(store);
      store.apply(createConversation());
    }
    const packet = mutate(packets[Math.floor(random() * packets.length)], random);
    if (!store.apply(packet, random() < 0.1)) malformed += 1;
    view.touch(store.takeTouched());
    if (round % 10 === 0) checkStore(store, view);
    assert.ok(store.unknown.size < 20 && store.conversations.size < 10, "nothing grows without bounds");
  }
  assert.equal({}.x, undefined);
  assert.ok(malformed > 10_000 && malformed < 90_000, `${malformed} malformed packets`);
});

test("5,000 mutated packets from the socket, and as answers of loads, throw nothing out of the client", async () => {
  const random = randomNumbers(7);
  const server = new TestServer();
  const errors = [];
  const report = (error) => errors.push(error);
  process.on("unhandledRejection", report);
  const answer = () => ({ body: random() < 0.5 ? mutate([conversation({ messages: [message(2)],
    total_message_count: 5 })], random) : [conversation()] });
  for (const path of ["", `/${conversationId().slice(-36)}`, `/${conversationId().slice(-36)}/messages`]) {
    server.answers[`GET /conversations${path}`] = answer;
  }
  server.responses["Presence.sync"] = { changes: [null, {}, 5, mutate(packets[12].body, random)] };
  void server.client.connect();
  for (let round = 0; round < 5_000; round += 1) {
    if (!server.socket || server.socket.isClosed) server.clock.advance(60_000);
    await microtasks();
    if (!server.socket.isClosed && server.socket.counter === 0) server.socket.onopen();
    server.push(mutate(packets[Math.floor(random() * packets.length)], random));
    if (round % 50 === 0) JSON.stringify(server.client.conversations().items.map((one) => one.messages().items.length));
  }
  process.off("unhandledRejection", report);
  assert.deepEqual(errors, []);
  // The server is sound again.
  for (const path of ["GET /conversations", "Presence.sync"]) delete server.answers[path];
  server.answers["GET /conversations"] = { body: [conversation()] };
  server.responses = { "Event.replay": { complete: true, epoch: "e1" } };
  for (let round = 0; round < 20 && server.client.state !== "live"; round += 1) {
    server.clock.advance(60_000);
    await microtasks();
    if (!server.socket.isClosed && server.socket.counter === 0) server.socket.onopen();
    await server.settle();
  }
  assert.equal(server.client.state, "live");
});
