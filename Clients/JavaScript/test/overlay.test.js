// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { TestServer } from "./support/server.js";
import {
  conversation, conversationId, createMessage, identity, message, messageId, part, set, updateConversation,
} from "./support/wire.js";

const parts = (number) => [part(number, 1, { body: `part ${number}` })];
const own = (number) => message(number, {
  parts: parts(number), sender: identity("me"), is_unread: false,
  recipient_status: { "layer:///identities/me": "read", "layer:///identities/bob": "read" },
});

/** A client with the messages 2, 3 (of bob, unread) and 4 (its own), whose changes are never answered. */
async function newClient() {
  const server = new TestServer({ confirmsDelivery: false });
  const messages = [own(4), message(3, { parts: parts(3) }), message(2, { parts: parts(2) })];
  const counts = { unread_message_count: 2, total_message_count: 3, position: 4 };
  server.answers["GET /conversations"] = {
    body: [conversation({ ...counts, last_message: own(4), messages, metadata: { a: { b: "1" } } })],
  };
  const never = () => new Promise(() => {});
  const path = `/conversations/${conversationId().slice(-36)}`;
  for (const route of [`PATCH ${path}`, `DELETE ${path}`, "POST /conversations"]) server.answers[route] = never;
  for (const route of ["messages", "receipts", "mark_all_read"]) server.answers[`POST ${path}/${route}`] = never;
  for (const number of [2, 3, 4]) {
    server.answers[`DELETE /messages/${messageId(number).slice(-36)}`] = never;
    server.answers[`PUT /messages/${messageId(number).slice(-36)}/parts`] = never;
  }
  for (const list of ["blocks", "following"]) {
    for (const method of ["PUT", "DELETE"]) server.answers[`${method} /${list}/users/bob`] = never;
  }
  await server.start();
  const chat = () => server.client.conversation(conversationId());
  const at = (number) => chat().messages().items.find(({ id }) => id === messageId(number));
  return { server, client: server.client, chat, at };
}

const shape = (chat) =>
  chat && [chat.unreadCount, chat.totalCount, chat.messages().items.length, chat.lastMessage?.text];

/** [the subject's sentence, the change, unread count, total count, loaded messages, text of the last message] */
const effects = [
  ["a sent message counts, and is the last one", ({ chat }) => chat().send("new"), [2, 4, 4, "new"]],
  ["several sent messages are in the order of the calls", ({ chat }) => (chat().send("one"), chat().send("two")),
    [2, 5, 5, "two"]],
  ["a deleted last message leaves the one before it", ({ at }) => at(4).delete(), [2, 2, 2, "part 3"]],
  ["a deleted unread message lowers both counts", ({ at }) => at(3).delete("all_participants"), [1, 2, 2, "part 4"]],
  ["a message that is read and deleted lowers the unread count once", ({ at }) => (at(3).markRead(), at(3).delete()),
    [1, 2, 2, "part 4"]],
  ["a message that is deleted and read lowers the unread count once", ({ at }) => {
    const deleted = at(3);
    void deleted.delete();
    void deleted.markRead();
  }, [1, 2, 2, "part 4"]],
  ["a read message lowers the unread count", ({ at }) => at(2).markRead(), [1, 3, 3, "part 4"]],
  ["a message that is read twice counts once", ({ at }) => (at(2).markRead(), at(2).markRead()), [1, 3, 3, "part 4"]],
  ["all messages that are read leave no unread count", ({ chat }) => chat().markAllRead(), [0, 3, 3, "part 4"]],
  ["an edited message has its new text", ({ at }) => at(4).edit("edited"), [2, 3, 3, "edited"]],
  ["a deleted conversation is not shown", ({ chat }) => chat().delete(), null],
];

for (const [name, change, expected] of effects) {
  test(name, async () => {
    const scene = await newClient();
    void change(scene);
    assert.deepEqual(shape(scene.chat()), expected);
    await scene.server.settle();
    assert.deepEqual(shape(scene.chat()), expected);
  });
}

test("messages that arrive after reading all stay unread", async () => {
  const { server, chat } = await newClient();
  void chat().markAllRead();
  server.push(createMessage(5));
  server.push(updateConversation(5, set("unread_message_count", 3), set("total_message_count", 4)));
  await server.settle();
  assert.deepEqual(shape(chat()), [1, 4, 4, "part 4"]);
  assert.deepEqual(chat().messages().items.map(({ isUnread }) => isUnread), [false, false, false, true]);
});

test("a message that arrives after the deletion brings a conversation back, unless the user left", async () => {
  for (const leave of [false, true]) {
    const { server, chat } = await newClient();
    void chat().delete("my_devices", { leave });
    assert.equal(chat(), null);
    server.push(createMessage(5));
    await server.settle();
    assert.equal(chat()?.messages().items.length ?? null, leave ? null : 1);
  }
});

test("participants change at once, and a conversation without the user has none", async () => {
  const { chat } = await newClient();
  const users = () => chat().participants.map(({ userId }) => userId);
  void chat().add("cleo");
  assert.deepEqual([users(), chat().distinct], [["me", "bob", "cleo"], false]);
  void chat().remove("bob", "cleo");
  assert.deepEqual(users(), ["me"]);
  void chat().leave();
  assert.deepEqual(users(), []);
});

test("follows and blocks change at once, and the last one counts", async () => {
  const { client } = await newClient();
  const bob = () => client.identity("bob");
  assert.deepEqual([bob().isFollowed, bob().isBlocked], [true, false]);
  void bob().block();
  assert.deepEqual([bob().isFollowed, bob().isBlocked], [true, true]);
  void bob().unfollow();
  void bob().unblock();
  assert.deepEqual([bob().isFollowed, bob().isBlocked], [false, false]);
});

test("a conversation that was never sent is shown, takes changes, and has no request before its creation", async () => {
  const { server, client } = await newClient();
  const draft = client.createConversation({ participants: ["cleo"], metadata: { a: "1" } });
  void draft.setMetadata("b", "2");
  void draft.send("hello");
  await server.settle();
  const shown = client.conversation(draft.id);
  assert.deepEqual([shown.isPending, shown.valueAt("a"), shown.valueAt("b")], [true, "1", "2"]);
  assert.equal(shown.lastMessage.text, "hello");
  assert.deepEqual(client.conversations().items.map(({ id }) => id).includes(draft.id), true);
  const paths = server.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(paths, ["POST /nonces", "POST /sessions", "POST /conversations"]);
});
