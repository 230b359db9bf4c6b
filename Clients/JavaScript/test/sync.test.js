// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { microtasks } from "./support/clock.js";
import { TestServer } from "./support/server.js";
import {
  change, conversation, conversationId, createConversation, createMessage, identity, message, messageId, set, status,
  updateConversation, updateMessage,
} from "./support/wire.js";

const at = (second) => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000Z`;
const page = (...items) => ({ body: items });
const shown = (server) => server.client.conversations().items;

test("a first connection asks for something else than a replay, then loads the lists", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation({ messages: [] }));
  await server.start();
  assert.equal(server.methods()[0], "Counter.read");
  assert.deepEqual(server.loads().sort(), [
    "/blocks?page_size=500", "/conversations?sort_by=created_at&messages=20", "/identities?page_size=500",
  ]);
  assert.equal(server.client.state, "live");
  assert.equal(shown(server).length, 1);
  assert.match(server.socket.url, /^wss:\/\/test\/\?session_token=token-1$/);
  assert.deepEqual(server.socket.protocols, ["layer-3.0"]);
});

test("a list is loaded by its links to its end, on the own host only", async () => {
  const server = new TestServer();
  const other = conversation({ id: conversationId(2) });
  server.answers["GET /conversations"] = ({ search }) => search.includes("from_id") ? page(other)
    : { body: [conversation()], headers: { Link: '<https://elsewhere/conversations?from_id=x>; rel="next"' } };
  await server.start();
  assert.equal(shown(server).length, 2);
});

test("packets that arrive during a load are applied to its answer again", async () => {
  const server = new TestServer();
  let answer;
  server.answers["GET /conversations"] = () => new Promise((resolve) => (answer = resolve));
  const connected = server.client.connect();
  await server.open();
  server.push(createMessage(2));
  server.push(updateConversation(3, set("metadata.a", "new")));
  server.push(change("Message", "delete", messageId(4), { mode: "my_devices" }, { position: 5 }));
  answer(page(conversation({ position: 2, metadata: { a: "old" }, total_message_count: 2, messages: [message(4)] })));
  await connected;
  const [only] = shown(server);
  assert.equal(only.valueAt("a"), "new");
  assert.deepEqual(only.messages().items.map(({ id }) => id), [messageId(2)]);
  assert.deepEqual(server.loads().filter((path) => path.startsWith("/conversations/")), []);
});

test("packets about users that arrive during a load are applied to its answer again, in order", async () => {
  const server = new TestServer();
  let answer;
  server.answers["GET /blocks"] = () => new Promise((resolve) => (answer = resolve));
  const connected = server.client.connect();
  await server.open();
  server.push(change("Identity", "update", identity("bob").id, [set("blocked", false)], { user_position: 4 }));
  server.push(change("Identity", "update", identity("cleo").id, [set("blocked", true)], { user_position: 5 }));
  answer(page(identity("bob")));
  await connected;
  const blocked = server.client.identities({ where: ({ isBlocked }) => isBlocked }).items;
  assert.deepEqual(blocked.map(({ userId }) => userId), ["cleo"]);
});

test("a client that comes back replays first, from the time of the last packet", async () => {
  const server = new TestServer();
  await server.start();
  server.push({ ...createConversation(), timestamp: at(7) });
  server.push({ type: "signal", body: {}, timestamp: at(9) });
  const before = server.packets.length;
  await server.restart();
  assert.equal(server.methods(before)[0], "Event.replay");
  assert.deepEqual(server.replays(), [at(9)]);
  assert.equal(server.client.state, "live");
});

test("the packets of a replay do not move the time before the response", async () => {
  const server = new TestServer();
  await server.start();
  server.push({ ...createConversation(), timestamp: at(9) });
  server.responds = ({ body }) => body.method !== "Event.replay";
  await server.restart();
  server.push({ ...createMessage(2), timestamp: at(20) });
  assert.equal(server.client.state, "syncing");
  await server.restart();
  assert.deepEqual(server.replays(), [at(9), at(9)]);
});

test("an incomplete replay and another epoch lead to a first load, and the former state stays visible until then",
  async () => {
  for (const response of [{ complete: false, epoch: "e1" }, { complete: true, epoch: "e2" }]) {
    const server = new TestServer();
    server.answers["GET /conversations"] = page(conversation());
    await server.start();
    let answer;
    server.answers["GET /conversations"] = () => new Promise((resolve) => (answer = resolve));
    server.responses["Event.replay"] = response;
    await server.restart();
    assert.equal(server.client.state, "syncing");
    assert.deepEqual(shown(server).map(({ id }) => id), [conversationId(1)]);
    answer(page(conversation({ id: conversationId(2), epoch: response.epoch })));
    await server.settle();
    assert.equal(server.client.state, "live");
    assert.deepEqual(shown(server).map(({ id }) => id), [conversationId(2)]);
  }
});

test("a refused replay is repeated within 30 s, with the same time", async () => {
  const server = new TestServer();
  await server.start();
  server.push({ ...createConversation(), timestamp: at(9) });
  server.responses["Event.replay"] = { success: false, id: "service_unavailable" };
  await server.restart();
  assert.equal(server.client.state, "syncing");
  server.responses["Event.replay"] = { complete: true, epoch: "e1" };
  server.clock.advance(29_000);
  await server.settle();
  assert.deepEqual(server.replays(), [at(9), at(9)]);
  assert.equal(server.client.state, "live");
});

test("a replay that the server closes with 1013 leads to a first load", async () => {
  const server = new TestServer();
  await server.start();
  server.responds = ({ body }) => body.method !== "Event.replay";
  await server.restart();
  const before = server.packets.length;
  server.responds = () => true;
  await server.restart(1013);
  assert.equal(server.methods(before)[0], "Counter.read");
  assert.equal(server.client.state, "live");
});

test("a response without an epoch is compared with a conversation", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation());
  await server.start();
  server.responses["Event.replay"] = { complete: true };
  server.answers["GET /conversations"] = page(conversation({ epoch: "e2" }));
  await server.restart();
  await server.settle();
  const lists = server.loads().filter((path) => path.startsWith("/conversations?sort_by"));
  assert.equal(lists.length, 2);
});

test("a conversation of another epoch leads to a first load", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation());
  await server.start();
  server.push(change("Conversation", "create", conversationId(2), conversation({ id: conversationId(2),
    epoch: "e2" }), { position: 1 }));
  server.answers["GET /conversations"] = page(conversation({ epoch: "e2" }));
  server.clock.advance(60_000);
  const before = server.packets.length;
  await server.open();
  assert.equal(server.methods(before)[0], "Counter.read");
});

test("a gap of the counter leads to a replay from the last time before it", async () => {
  const server = new TestServer();
  await server.start();
  server.push({ ...createConversation(), timestamp: at(5) });
  server.socket.counter += 1;
  server.push({ ...createMessage(2), timestamp: at(8) });
  server.clock.advance(60_000);
  await server.open();
  assert.deepEqual(server.replays(), [at(5)]);
});

for (const [name, text] of [["text that is no JSON", "{"], ["a list", "[]"], ["null", "null"], ["a binary frame",
  new ArrayBuffer(3)]]) {
  test(`${name} in place of a packet leads to a replay`, async () => {
    const server = new TestServer();
    await server.start();
    server.push({ ...createConversation(), timestamp: at(5) });
    server.raw(text);
    server.clock.advance(60_000);
    await server.open();
    assert.deepEqual(server.replays(), [at(5)]);
    assert.equal(server.client.state, "live");
  });
}

test("malformed packets lead to first loads at a bounded rate", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation());
  await server.start();
  const hour = 3_600_000;
  for (const start = server.clock.time; server.clock.time < start + hour; server.clock.advance(500)) {
    await microtasks();
    if (server.socket.isClosed) continue;
    if (!server.socket.counter) server.socket.onopen();
    server.push(updateConversation(3, set("total_message_count", "many")));
  }
  assert.ok(server.sockets.length < 130, `${server.sockets.length} sockets in an hour`);
  assert.equal(server.client.conversations().items.length, 1);
});

test("an unknown conversation is loaded with its messages, and one that is not found is forgotten", async () => {
  const server = new TestServer();
  await server.start();
  const path = conversationId().slice(-36);
  server.answers[`GET /conversations/${path}`] = { body: conversation({ total_message_count: 2, position: 8 }) };
  server.answers[`GET /conversations/${path}/messages`] = page(message(3), message(2));
  server.push(updateConversation(8, set("metadata.a", "1")));
  server.push(change("Conversation", "update", conversationId(2), [set("total_message_count", 1)], { position: 8 }));
  await server.settle();
  const [only] = shown(server);
  assert.deepEqual(only.messages().items.map(({ id }) => id), [messageId(2), messageId(3)]);
  assert.equal(shown(server).length, 1);
  assert.equal(only.messages().hasMore, false);
});

test("a load that fails is repeated after a delay", async () => {
  const server = new TestServer();
  let tries = 0;
  server.answers["GET /conversations"] = () => (++tries < 3 ? { status: 503, body: { id: "service_unavailable" } }
    : page(conversation()));
  void server.client.connect();
  await server.open();
  for (let second = 0; second < 10; second += 1) {
    server.clock.advance(1000);
    await server.settle();
  }
  assert.equal(tries, 3);
  assert.equal(server.client.state, "live");
});

test("older messages are loaded page by page, and an empty page leads on", async () => {
  const server = new TestServer();
  const messages = [message(30), message(29)];
  server.answers["GET /conversations"] = page(conversation({ total_message_count: 4, messages,
    messages_next: "https://x/next" }));
  await server.start();
  const list = shown(server)[0].messages({ limit: 2 });
  assert.equal(list.hasMore, true);
  const paths = [];
  server.answers[`GET /conversations/${conversationId().slice(-36)}/messages`] = ({ search }) => {
    paths.push(search);
    return paths.length === 1 ? { body: [], headers: { Link: '<https://x/conversations/' + conversationId()
      .slice(-36) + '/messages?page=2>; rel="next"' } }
      : page(message(28), message(27));
  };
  await list.more();
  assert.deepEqual(list.items.map(({ position }) => position / 8192), [27, 28, 29, 30]);
  assert.equal(list.hasMore, false);
  assert.equal(paths[0], `?page_size=2&from_id=${encodeURIComponent(messageId(29))}`);
  server.close();
  await assert.doesNotReject(list.more());
});

test("30 silent seconds lead to Counter.read, and 10 more to another socket", async () => {
  const server = new TestServer();
  await server.start();
  const before = server.packets.length;
  server.clock.advance(30_000);
  assert.deepEqual(server.methods(before), ["Counter.read"]);
  server.responds = () => false;
  server.clock.advance(30_000);
  server.clock.advance(10_000);
  assert.equal(server.client.state, "offline");
  server.responds = () => true;
  server.clock.advance(2_000);
  await server.open();
  assert.equal(server.sockets.length, 2);
  assert.equal(server.client.state, "live");
});

test("an ended session is renewed with the nonce of the refusal, once for all requests", async () => {
  const nonces = [];
  const server = new TestServer({ identityToken: (nonce) => (nonces.push(nonce), "token") });
  await server.start();
  const refuse = ({ headers }) => headers.get("Authorization").includes("token-1")
    ? { status: 401, body: { id: "authentication_required", data: { nonce: "nonce-of-the-refusal" } } } : { body: {} };
  server.answers["GET /"] = refuse;
  server.answers["PUT /blocks/users/bob"] = (request) => refuse(request);
  const blocked = server.client.identity("bob").block();
  await server.restart(4401);
  await server.settle();
  await blocked;
  assert.deepEqual(nonces, ["nonce-0123456789", "nonce-of-the-refusal"]);
  assert.match(server.socket.url, /token-2/);
  assert.equal(server.client.state, "live");
});

test("a refused identity token rejects the connection, and a failing callback does", async () => {
  const server = new TestServer();
  server.answers["POST /sessions"] = { status: 422, body: { id: "invalid_property",
    data: { property: "identity_token" } } };
  await assert.rejects(server.client.connect(), { code: "invalid_property", property: "identity_token", status: 422 });
  assert.equal(server.client.state, "closed");
  const other = new TestServer({ identityToken: () => Promise.reject(new Error("down")) });
  await assert.rejects(other.client.connect(), { code: "sign_in_failed" });
});

test("an identity token of another user ends the connection", async () => {
  const server = new TestServer();
  await server.start();
  server.answers["GET /"] = { status: 401, body: { id: "authentication_required", data: {} } };
  server.answers["POST /sessions"] = { status: 201, body: { session_token: "t", identity: identity("mallory") } };
  const states = [];
  server.client.on("state", ({ state, error }) => states.push(error?.code ?? state));
  server.close(4401);
  server.clock.advance(60_000);
  await server.settle();
  assert.deepEqual(states, ["offline", "user_changed"]);
});

test("the network's failure at the start is retried until the client is live", async () => {
  const server = new TestServer();
  const { "POST /nonces": nonces } = server.answers;
  server.answers["POST /nonces"] = new TypeError("fetch failed");
  const connected = server.client.connect();
  await server.settle();
  server.answers["POST /nonces"] = nonces;
  server.clock.advance(1_000);
  await server.open();
  await connected;
  assert.equal(server.client.state, "live");
});

test("a delivery is confirmed once, for messages that are neither delivered nor read", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation({ total_message_count: 1, messages: [message(2)] }));
  const receipts = [];
  const path = `POST /conversations/${conversationId().slice(-36)}/receipts`;
  server.answers[path] = ({ body }) => (receipts.push(body), { body: { ignored: [] } });
  await server.start();
  await server.settle();
  server.push(createMessage(3));
  server.push(createMessage(4, { recipient_status: { "layer:///identities/me": "read" }, is_unread: false }));
  await server.settle();
  server.push(updateMessage(3, 5, status("bob", "read")));
  await server.settle();
  assert.deepEqual(receipts, [{ type: "delivery", ids: [messageId(2)] }, { type: "delivery", ids: [messageId(3)] }]);
});

test("an own change hides the server's value until the packets contain it", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation({ metadata: { a: "old", b: "old" } }));
  let answer;
  server.answers[`PATCH /conversations/${conversationId().slice(-36)}`] = () => new Promise((resolve) =>
    (answer = resolve));
  await server.start();
  const value = () => ["a", "b"].map((path) => shown(server)[0].valueAt(path)).join();
  void shown(server)[0].setMetadata("a", "mine");
  assert.equal(value(), "mine,old");
  server.push(updateConversation(4, set("metadata.a", "theirs"), set("metadata.b", "theirs")));
  assert.equal(value(), "mine,theirs");
  await server.settle();
  answer({ status: 204, headers: { "Strata-Position": "5" } });
  await server.settle();
  assert.equal(value(), "mine,theirs");
  server.push(updateConversation(5, set("metadata.a", "mine")));
  await server.settle();
  server.clock.advance(100);
  await server.settle();
  server.push(updateConversation(6, set("metadata.a", "last")));
  assert.equal(value(), "last,theirs");
});

test("a refused change is reverted and reported", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation());
  server.answers[`POST /conversations/${conversationId().slice(-36)}/messages`] = { status: 422,
    body: { id: "invalid_property", data: { property: "parts.0.body" } } };
  await server.start();
  const failures = [];
  server.client.on("failure", ({ error, change: dropped }) => failures.push(`${error.property} ${dropped.kind}`));
  const sent = shown(server)[0].send("x".repeat(3000));
  assert.equal(shown(server)[0].messages().items[0].isPending, true);
  assert.equal(shown(server)[0].lastMessage.text.length, 3000);
  await assert.rejects(sent, { code: "invalid_property", property: "parts.0.body" });
  assert.equal(shown(server)[0].messages().items.length, 0);
  assert.equal(shown(server)[0].lastMessage, null);
  assert.deepEqual(failures, ["parts.0.body send"]);
});

test("a distinct conversation that exists under another id takes over messages and metadata", async () => {
  const server = new TestServer();
  await server.start();
  const path = conversationId().slice(-36);
  const existing = conversation({ metadata: { title: "theirs" } });
  server.answers["POST /conversations"] = { status: 409, body: { id: "conflict", data: existing } };
  server.answers[`GET /conversations/${path}`] = { body: existing };
  const requests = [];
  for (const route of [`POST /conversations/${path}/messages`, `PATCH /conversations/${path}`]) {
    server.answers[route] = ({ body }) => (requests.push(body.parts?.[0].body ?? body), { status: 201, body: {},
      headers: { "Strata-Position": "0" } });
  }
  const draft = server.client.createConversation({ participants: ["bob"], metadata: { title: "mine" } });
  assert.equal(draft.isPending, true);
  void draft.send("hello");
  const created = await draft.created;
  await server.settle();
  assert.equal(created.id, conversationId());
  assert.equal(server.client.conversation(draft.id).id, conversationId());
  assert.deepEqual(requests, ["hello", [{ operation: "set", property: "metadata.title", value: "mine" }]]);
  assert.equal(shown(server).length, 1);
});

test("an unchanged object stays the same one, and a list the same array", async () => {
  const server = new TestServer();
  const other = conversation({ id: conversationId(2), created_at: at(30) });
  server.answers["GET /conversations"] = page(other, conversation({ messages: [message(2)], total_message_count: 1 }));
  await server.start();
  await server.settle();
  const list = server.client.conversations({ sort: "created_at" });
  const [first, second] = list.items;
  assert.equal(list.items, list.items);
  const changes = [];
  const stop = list.subscribe((items) => changes.push(items));
  server.push(updateConversation(3, set("metadata.a", "1")));
  await server.settle();
  assert.equal(changes.length, 1);
  assert.equal(changes[0][0], first);
  assert.notEqual(changes[0][1], second);
  stop();
  server.push(updateConversation(4, set("metadata.a", "2")));
  await server.settle();
  assert.equal(changes.length, 1);
});

test("an iteration of a list yields the present items, then the latest after each change", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation());
  await server.start();
  const iterator = shown(server)[0].messages()[Symbol.asyncIterator]();
  assert.equal((await iterator.next()).value.length, 0);
  server.push(createMessage(2));
  server.push(createMessage(3));
  assert.equal((await iterator.next()).value.length, 2);
  await iterator.return();
});

test("a failing listener stops neither the client nor other listeners", async () => {
  const server = new TestServer();
  await server.start();
  let calls = 0;
  server.client.on("change", () => {
    throw new Error("of the app");
  });
  server.client.on("change", () => (calls += 1));
  server.push(createConversation());
  await microtasks();
  assert.equal(calls, 1);
  assert.throws(() => server.clock.advance(0), /of the app/);
});

/** Returns an answer that the test gives later. */
function laterAnswer() {
  const later = {};
  later.answer = () => new Promise((resolve) => (later.give = resolve));
  return later;
}

test("a sign-in that ends after the sign-out brings no session", async () => {
  const server = new TestServer();
  const later = laterAnswer();
  server.answers["POST /sessions"] = later.answer;
  const sessions = [];
  server.client.on("session", (session) => sessions.push(session));
  const connected = assert.rejects(server.client.connect(), { code: "closed" });
  await server.settle();
  await server.client.signOut();
  await connected;
  later.give({ status: 201, body: { session_token: "late", identity: identity("me") } });
  await server.settle();
  assert.deepEqual([sessions, server.client.session, server.client.userId], [[], null, ""]);
});

test("a request that is refused after the sign-out makes no session", async () => {
  const server = new TestServer();
  const later = laterAnswer();
  server.answers["PUT /blocks/users/bob"] = later.answer;
  server.answers["DELETE /sessions/token-1"] = { status: 204 };
  await server.start();
  const blocked = assert.rejects(server.client.identity("bob").block(), { code: "closed" });
  await server.settle();
  const signedOut = server.client.signOut();
  later.give({ status: 401, body: { id: "authentication_required", data: { nonce: "nonce" } } });
  await Promise.all([signedOut, blocked]);
  await server.settle();
  assert.deepEqual([server.sessions, server.client.session], [1, null]);
});

test("the sign-out of an ended session succeeds, and makes no other one", async () => {
  const server = new TestServer();
  server.answers["DELETE /sessions/token-1"] = { status: 401, body: { id: "authentication_required", data: {} } };
  await server.start();
  await server.client.signOut();
  assert.deepEqual([server.sessions, server.client.session], [1, null]);
});

test("a refused sign-in refuses no change", async () => {
  const server = new TestServer();
  const { "POST /sessions": signIn } = server.answers;
  server.answers["PUT /blocks/users/bob"] = ({ headers }) => headers.get("Authorization").includes("token-1")
    ? { status: 401, body: { id: "authentication_required", data: {} } } : { body: {} };
  await server.start();
  server.answers["POST /sessions"] = { status: 422, body: { id: "invalid_property", data: {} } };
  const failures = [];
  server.client.on("failure", ({ error }) => failures.push(error.code));
  const blocked = server.client.identity("bob").block();
  await server.settle();
  assert.deepEqual([server.client.pendingChanges, failures], [1, []]);
  server.answers["POST /sessions"] = signIn;
  server.clock.advance(60_000);
  await server.settle();
  await blocked;
});

test("a link that is no URL delays a list until the server is sound", async () => {
  const server = new TestServer();
  let pages = 0;
  server.answers["GET /conversations"] = () => (++pages === 1
    ? { body: [conversation()], headers: { Link: '<http://[>; rel="next"' } } : page(conversation()));
  void server.client.connect();
  await server.open();
  server.clock.advance(1_000);
  await server.settle();
  assert.equal(server.client.state, "live");
  assert.equal(shown(server).length, 1);
});

test("a disconnected client has no timers", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = { status: 503, body: { id: "service_unavailable" } };
  const connected = assert.rejects(server.client.connect(), { code: "closed" });
  await server.open();
  server.client.disconnect();
  await connected;
  server.clock.advance(50);
  await server.settle();
  assert.equal(server.clock.timers, 0);
});

test("calls that share a load of older messages share its failure", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation({ total_message_count: 9, messages: [message(9)],
    messages_next: "https://x/next" }));
  await server.start();
  const path = `/conversations/${conversationId().slice(-36)}/messages`;
  server.answers[`GET ${path}`] = { status: 403, body: { id: "forbidden" } };
  const list = shown(server)[0].messages();
  const results = await Promise.allSettled([list.more(), list.more()]);
  assert.deepEqual(results.map(({ reason }) => reason?.code), ["forbidden", "forbidden"]);
});

test("a listener that signs out hears of each dropped change once", async () => {
  const server = new TestServer();
  server.responds = () => false;
  server.answers["POST /conversations"] = laterAnswer().answer;
  server.answers["DELETE /sessions/token-1"] = { status: 204 };
  void server.client.connect().catch(() => {});
  await server.open();
  const kinds = [];
  server.client.on("failure", ({ change: dropped }) => {
    kinds.push(dropped.kind);
    if (kinds.length === 1) void server.client.signOut();
  });
  const draft = server.client.createConversation({ participants: ["bob"] });
  void draft.send("one");
  void draft.send("two");
  await server.client.signOut();
  assert.deepEqual(kinds, ["createConversation", "send", "send"]);
});

test("metadata of an app are refused at once if a key has a dot or the whole is a string", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation());
  await server.start();
  const [chat] = shown(server);
  const refusal = (property) => ({ code: "invalid_property", property });
  assert.throws(() => chat.mergeMetadata({ a: { "b.c": "1" } }), refusal("metadata.a.b.c"));
  assert.throws(() => chat.mergeMetadata("text"), refusal("metadata"));
  const create = () => server.client.createConversation({ participants: ["cleo"], metadata: "text" });
  assert.throws(create, refusal("metadata"));
  assert.equal(server.client.pendingChanges, 0);
});

test("a URL without a scheme, and participants that are no array, are refused with the property's name", async () => {
  const refusal = (property) => ({ code: "invalid_property", property });
  for (const url of ["localhost:8080", "", undefined]) assert.throws(() => new TestServer({ url }), refusal("url"));
  const server = new TestServer();
  await server.start();
  for (const participants of [undefined, "bob"]) {
    assert.throws(() => server.client.createConversation({ participants }), refusal("participants"));
  }
});

test("a request that is sent again has the same idempotency key, and its second success is the first", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation());
  const keys = [];
  server.answers[`POST /conversations/${conversationId().slice(-36)}/messages`] = ({ headers, body }) => {
    keys.push(`${headers.get("Strata-Mutation")} ${body.id}`);
    return keys.length === 1 ? new TypeError("the answer was lost")
      : { status: 409, body: { id: "id_in_use", data: message(2, { id: body.id }) } };
  };
  await server.start();
  const sent = shown(server)[0].send("hello");
  await server.settle();
  server.clock.advance(1_000);
  await sent;
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  assert.match(keys[0], /^[0-9a-f-]{36} layer/);
});

test("deleting what the server no longer has succeeds", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = page(conversation({ messages: [message(2)], total_message_count: 1 }));
  await server.start();
  const failures = [];
  server.client.on("failure", (failure) => failures.push(failure));
  await shown(server)[0].messages().items[0].delete("all_participants");
  await shown(server)[0].delete("all_participants");
  assert.deepEqual(failures, []);
});

test("a refused receipt is reverted", async () => {
  const server = new TestServer({ confirmsDelivery: false });
  server.answers["GET /conversations"] = page(conversation({ messages: [message(2)], total_message_count: 1,
    unread_message_count: 1 }));
  const path = `/conversations/${conversationId().slice(-36)}/receipts`;
  server.answers[`POST ${path}`] = { status: 403, body: { id: "forbidden" } };
  await server.start();
  const state = () => [shown(server)[0].unreadCount, shown(server)[0].messages().items[0].isUnread];
  const read = shown(server)[0].messages().items[0].markRead();
  assert.deepEqual(state(), [0, false]);
  await assert.rejects(read, { code: "forbidden" });
  assert.deepEqual(state(), [1, true]);
});

test("a list that cannot be continued starts again", async () => {
  const server = new TestServer();
  const paths = [];
  server.answers["GET /conversations"] = ({ search }) => {
    paths.push(search);
    if (search.includes("gone")) return { status: 404, body: { id: "not_found" } };
    return paths.length === 1 ? { body: [conversation()], headers: { Link: '</conversations?from=gone>; rel="next"' } }
      : page(conversation());
  };
  void server.client.connect();
  await server.open();
  server.clock.advance(1_000);
  await server.settle();
  assert.deepEqual(paths, [paths[0], "?from=gone", paths[0]]);
  assert.equal(server.client.state, "live");
});

test("a listener of the state can disconnect the client at any state", async () => {
  for (const at of ["connecting", "syncing", "live"]) {
    const server = new TestServer();
    server.client.on("state", ({ state }) => state === at && server.client.disconnect());
    const connected = assert.rejects(server.client.connect(), { code: "closed" });
    await server.settle();
    server.socket?.onopen();
    await server.settle();
    await connected;
    const requests = server.requests.length;
    if (server.client.userId) void server.client.identity("bob").block();
    server.clock.advance(60_000);
    await server.settle();
    assert.deepEqual([server.client.state, server.requests.length, server.clock.timers], ["closed", requests, 0], at);
  }
});

test("an answer to a creation with an id that is no text names no other conversation", async () => {
  const server = new TestServer();
  server.answers["POST /conversations"] = { status: 201, body: { id: {}, position: "x", metadata: 5 } };
  await server.start();
  const draft = server.client.createConversation({ participants: ["bob"] });
  assert.equal((await draft.created).id, draft.id);
});
