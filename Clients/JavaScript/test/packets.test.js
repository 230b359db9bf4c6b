// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { Store } from "../store.js";
import {
  change, conversation, conversationId, createConversation, createMessage, identity, message, messageId, part,
    partId, set,
  status, updateConversation, updateMessage,
} from "./support/wire.js";

const plain = (value) => JSON.parse(JSON.stringify(value));

/** What a test compares: the conversation, its messages, and the users. */
function stateOf(store) {
  const record = store.conversations.get(conversationId());
  return {
    conversation: record && { ...plain(record), epoch: undefined },
    messages: Object.fromEntries([...store.messagesIn(conversationId()).values()].map((one) => [
      Number(one.id.slice(-12)),
      { texts: one.parts.map((each) => each.body), statuses: Object.fromEntries(one.statuses), isUnread: one.isUnread },
    ])),
  };
}

const isGone = ({ conversation: record }) => assert.equal(record, undefined);
const has = (members) => ({ conversation: record }) => {
  for (const [name, value] of Object.entries(members)) assert.deepEqual(record[name], value, name);
};
const hasMessages = (expected) => ({ messages }) => assert.deepEqual(messages, expected);
const unread = { texts: ["part 1"], statuses: { bob: 2, me: 0 }, isUnread: true };
const add = (user) => ({ operation: "add", property: "participants", id: identity(user).id, value: identity(user) });
const remove = (user) => ({ operation: "remove", property: "participants", id: identity(user).id });
const allRead = (position, user, members = {}) => ({
  type: "operation",
  body: {
    method: "Conversation.mark_all_read", object: { type: "Conversation", id: conversationId() }, position: 9,
    data: { position, identity: { id: identity(user).id } }, ...members,
  },
});
const deletion = (from, position = 9) =>
  change("Conversation", "delete", conversationId(), { mode: "my_devices", from_position: from },
    { user_position: position });
const trip = { metadata: { title: "T", trip: { city: "Porto", hotel: { name: "Sol" } } } };
const old = (number) => part(number, 1, { body: "old", updated_at: "2026-01-01T00:00:01.000Z" });

/** [the subject's sentence, packets, the expected state] */
const rules = [
  ["a create shows the object as it is now, and its position is that of the object",
    [createConversation({ position: 7, ...trip }, 2)], has({ position: 7, metadata: trip.metadata })],
  ["an update of metadata before the object's position is skipped",
    [createConversation({ position: 7 }), updateConversation(6, set("metadata.a", "1"))], has({ metadata: {},
      position: 7 })],
  ["an update of metadata at the object's position is applied",
    [createConversation({ position: 7 }), updateConversation(7, set("metadata.a", "1"))],
      has({ metadata: { a: "1" } })],
  ["an update without a position is applied",
    [createConversation({ position: 7 }), updateConversation(null, set("metadata.a", "1"))],
      has({ metadata: { a: "1" }, position: 7 })],
  ["an update advances the position",
    [createConversation(), updateConversation(5, set("distinct", false))], has({ position: 5, distinct: false })],
  ["an old update of participants or distinct is skipped",
    [createConversation({ position: 7 }), updateConversation(6, remove("bob"), set("distinct", false))],
    has({ participants: ["me", "bob"], distinct: true })],
  ["counts and the last message are applied at any position",
    [createConversation({ position: 70 }), updateConversation(6, set("last_message", message(6)),
      set("unread_message_count", 3), set("total_message_count", 4))],
    has({ unread: 3, total: 4, lastMessage: messageId(6), position: 70 })],
  ["a last message of null leaves none", [createConversation({ last_message: message(2), total_message_count: 1 }),
    updateConversation(3, set("last_message", null))], has({ lastMessage: null })],
  ["the user's own removal empties the participants and keeps the rest",
    [createConversation(trip), updateConversation(4, remove("me"))], has({ participants: [],
      metadata: trip.metadata })],
  ["a participant is added once", [createConversation(), updateConversation(4, add("cleo")), updateConversation(4,
    add("cleo"))],
    has({ participants: ["me", "bob", "cleo"] })],
  ["an added user has read the earlier messages, also by an old packet",
    [createConversation(), createMessage(2), createMessage(5), updateConversation(4, add("cleo"), remove("cleo"))],
    hasMessages({ 2: { ...unread, statuses: { bob: 2, me: 0, cleo: 2 } }, 5: unread })],
  ["a deletion of metadata removes everything below its path",
    [createConversation(trip), updateConversation(2, { operation: "delete", property: "metadata.trip" })],
      has({ metadata: { title: "T" } })],
  ["the last key of an object takes the object with it",
    [createConversation(trip), updateConversation(2, { operation: "delete", property: "metadata.trip.hotel.name" })],
    has({ metadata: { title: "T", trip: { city: "Porto" } } })],
  ["a string replaces an object, and an object a string",
    [createConversation(trip), updateConversation(2, set("metadata.trip", "none"), set("metadata.title.long", "x"))],
    has({ metadata: { trip: "none", title: { long: "x" } } })],
  ["a set of all metadata replaces them", [createConversation(trip), updateConversation(2, set("metadata", {}))],
    has({ metadata: {} })],
  ["a deletion without a position removes the conversation", [createConversation(), createMessage(2),
    deletion(null)], isGone],
  ["a deletion with a position removes the messages up to it, and keeps the conversation",
    [createConversation(), createMessage(2), createMessage(3), deletion(2 * 8192)], hasMessages({ 3: unread })],
  ["a repeated create of a message keeps further statuses",
    [createConversation(), createMessage(2), updateMessage(2, 3, status("me", "delivered")), createMessage(2)],
    hasMessages({ 2: { ...unread, statuses: { bob: 2, me: 1 } } })],
  ["a repeated create of a message keeps later parts",
    [createConversation(), createMessage(2, { parts: [old(2)], updated_at: "2026-01-01T00:00:02.000Z" }),
      createMessage(2)],
    hasMessages({ 2: { ...unread, texts: ["old"] } })],
  ["a create with later parts replaces them",
    [createConversation(), createMessage(2), createMessage(2, { parts: [old(2)],
      updated_at: "2026-01-01T00:00:02.000Z" })],
    hasMessages({ 2: { ...unread, texts: ["old"] } })],
  ["a large message comes in several packets, whose parts add up",
    [createConversation(), createMessage(2), createMessage(2, { parts: [part(2, 2)] }),
      updateMessage(2, 2, { operation: "add", property: "parts", id: partId(2, 3), value: part(2, 3) })],
    ({ messages }) => assert.deepEqual(messages[2].texts.sort(), ["part 1", "part 2", "part 3"])],
  ["an update of an unknown message is ignored", [createConversation(), updateMessage(2, 3, status("me", "read"))],
    hasMessages({})],
  ["a status never moves back",
    [createConversation(), createMessage(2), updateMessage(2, 3, status("me", "read")), updateMessage(2, 4,
      status("me", "delivered"))],
    hasMessages({ 2: { ...unread, statuses: { bob: 2, me: 2 }, isUnread: false } })],
  ["a status property has escaped dots",
    [createConversation(), createMessage(2), updateMessage(2, 3, status("a\\.b", "read"))],
    ({ messages }) => assert.equal(messages[2].statuses["a.b"], 2)],
  ["operations on parts before the message's last change are skipped",
    [createConversation(), createMessage(2, { updated_at: "2026-01-01T00:00:09.000Z" }),
      updateMessage(2, 3, set("parts", [old(2)]), set("updated_at", "2026-01-01T00:00:08.000Z"))],
        hasMessages({ 2: unread })],
  ["a part is removed", [createConversation(), createMessage(2, { parts: [part(2, 1), part(2, 2)] }),
    updateMessage(2, 3, { operation: "remove", property: "parts", id: partId(2, 1) })], hasMessages({ 2: { ...unread,
      texts: ["part 2"] } })],
  ["a changed part replaces all members",
    [createConversation(), createMessage(2), change("MessagePart", "update", partId(2, 1),
      [set("body", "new"), set("mime_type", "text/plain"), set("updated_at", "2026-01-01T00:00:09.000Z")],
        { position: 3 })],
    hasMessages({ 2: { ...unread, texts: ["new"] } })],
  ["a changed part before the stored one is skipped",
    [createConversation(), createMessage(2, { parts: [part(2, 1, { updated_at: "2026-01-01T00:00:09.000Z" })] }),
      change("MessagePart", "update", partId(2, 1), [set("body", "new"), set("updated_at",
        "2026-01-01T00:00:08.000Z")], { position: 3 })],
    hasMessages({ 2: unread })],
  ["the last message takes changes of its status",
    [createConversation({ last_message: message(2), total_message_count: 1 }), updateMessage(2, 3, status("me",
      "read"))],
    hasMessages({ 2: { ...unread, statuses: { bob: 2, me: 2 }, isUnread: false } })],
  ["a deleted message is removed", [createConversation(), createMessage(2),
    change("Message", "delete", messageId(2), { mode: "all_participants" }, { position: 3 })], hasMessages({})],
  ["mark all read advances one user's statuses up to the position, except own messages",
    [createConversation(), createMessage(2), createMessage(3), createMessage(4, { sender: identity("me"),
      is_unread: false,
      recipient_status: { "layer:///identities/me": "read", "layer:///identities/bob": "sent" } }), allRead(3 * 8192,
        "me"), allRead(4 * 8192, "bob")],
    hasMessages({
      2: { ...unread, statuses: { bob: 2, me: 2 }, isUnread: false }, 3: { ...unread, statuses: { bob: 2, me: 2 },
        isUnread: false },
      4: { ...unread, statuses: { bob: 2, me: 2 }, isUnread: false },
    })],
];

for (const [name, packets, check] of rules) {
  test(name, () => {
    const store = new Store("me");
    for (const packet of packets) assert.equal(store.apply(packet), true);
    check(stateOf(store));
    const before = stateOf(store);
    // A replay brings packets again; positions alone do not move then.
    if (packets.length > 1 && !packets.some((packet) => packet.body.operation === "delete")) {
      store.apply(packets.at(-1));
      assert.deepEqual(stateOf(store), before);
    }
  });
}

test("a packet about an unknown conversation requests the conversation", () => {
  const store = new Store("me");
  store.apply(updateConversation(3, set("total_message_count", 1)));
  store.apply(createMessage(2));
  assert.deepEqual([...store.unknown], [conversationId()]);
  assert.equal(store.messagesIn(conversationId()).size, 0);
});

test("a conversation that comes back after leaving requests its messages", () => {
  const store = new Store("me");
  store.apply(createConversation({ total_message_count: 1 }));
  store.incomplete.clear();
  store.apply(updateConversation(4, remove("me")));
  store.apply(createConversation({ total_message_count: 3, position: 9 }, 9));
  assert.deepEqual([...store.incomplete], [conversationId()]);
});

test("a repeated create requests no messages", () => {
  const store = new Store("me");
  store.apply(createConversation({ total_message_count: 1 }));
  store.incomplete.clear();
  store.apply(createConversation({ total_message_count: 1 }));
  assert.equal(store.incomplete.size, 0);
});

test("metadata have own keys only, so __proto__ and constructor are harmless", () => {
  const store = new Store("me");
  const hostile = JSON.parse('{"__proto__": {"polluted": "yes"}, "constructor": "x"}');
  store.apply(createConversation({ metadata: hostile }));
  store.apply(updateConversation(2, set("metadata.__proto__.other", "yes"), set("metadata.prototype", "yes")));
  assert.equal({}.polluted, undefined);
  assert.equal({}.other, undefined);
  const { metadata } = store.conversations.get(conversationId());
  assert.equal(Object.getPrototypeOf(metadata), null);
  assert.deepEqual(Object.keys(metadata).sort(), ["__proto__", "constructor", "prototype"]);
});

test("an identity packet with an earlier user position is skipped", () => {
  const store = new Store("me");
  store.apply(change("Identity", "update", identity("bob").id, [set("blocked", true)], { user_position: 5 }));
  store.apply(change("Identity", "update", identity("bob").id, [set("blocked", false)], { user_position: 4 }));
  assert.equal(store.blocked.has("bob"), true);
  store.apply(change("Identity", "update", identity("bob").id, [set("blocked", false)], { user_position: 6 }));
  assert.equal(store.blocked.has("bob"), false);
});

test("a user without conversations has a presence, which the first conversation keeps", () => {
  const store = new Store("me");
  for (const user of ["me", "bob"]) {
    store.apply(change("Identity", "update", identity(user).id, [set("presence.status", "available")]));
  }
  assert.deepEqual([...store.identities.keys()], ["me"]);
  store.apply(createConversation());
  assert.deepEqual([store.identities.get("me").displayName, store.identities.get("me").presence.status],
    ["ME", "available"]);
});

test("an identity is followed, changed and unfollowed", () => {
  const store = new Store("me");
  store.apply(change("Identity", "create", identity("cleo").id, { ...identity("cleo"), metadata: {} },
    { user_position: 1 }));
  store.apply(change("Identity", "update", identity("cleo").id, [set("display_name", "C"), set("presence.status",
    "busy")]));
  assert.equal(store.identities.get("cleo").displayName, "C");
  assert.equal(store.identities.get("cleo").presence.status, "busy");
  assert.equal(store.followed.has("cleo"), true);
  store.apply(change("Identity", "delete", identity("cleo").id, null, { user_position: 2 }));
  assert.equal(store.followed.has("cleo"), false);
});

test("a page of messages replaces its range, and nothing else", () => {
  const store = new Store("me");
  store.apply(createConversation({ total_message_count: 5 }));
  for (const number of [2, 3, 4, 6]) store.apply(createMessage(number));
  store.putMessages(conversationId(), [message(4), message(3)], 6 * 8192, true);
  const numbers = [...store.messagesIn(conversationId()).values()].map((one) => one.position / 8192).sort();
  assert.deepEqual(numbers, [2, 3, 4, 6]);
  store.putMessages(conversationId(), [message(4)], 6 * 8192, false);
  assert.deepEqual([...store.messagesIn(conversationId()).keys()].sort(), [messageId(4), messageId(6)]);
  assert.equal(store.conversations.get(conversationId()).oldest, 0);
});

test("malformed objects of a page are left out", () => {
  const store = new Store("me");
  const ids = store.putConversationPage([null, { id: 5 }, conversation({ messages: [{}, message(2)],
    total_message_count: 1 })], 20);
  assert.deepEqual([...ids], [conversationId()]);
  assert.deepEqual([...store.messagesIn(conversationId()).keys()], [messageId(2)]);
});

test("an unknown type, operation or member is ignored, and a malformed packet is reported", () => {
  const store = new Store("me");
  assert.equal(store.apply(change("Planet", "create", "x", {})), true);
  assert.equal(store.apply({ type: "novelty", body: {} }), true);
  store.apply(createConversation());
  assert.equal(store.apply(updateConversation(2, set("colour", "red"))), true);
  assert.equal(store.apply(updateConversation(2, set("total_message_count", -1))), false);
  assert.equal(store.apply(updateConversation(2, set("metadata.a", 5))), false);
  assert.equal(store.apply({ type: "change", body: null }), false);
});
