// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { exportUser } from "../Web/model/export.js";

/** A server whose lists have pages of two items. */
const source = (lists, objects = {}) => {
  const asked = [];
  return {
    asked,
    one: async (target) => objects[target] ?? null,
    page: async (target, { from_id: from }) => {
      asked.push(`${target} ${from ?? ""}`.trim());
      const list = lists[target] ?? [];
      const start = from === undefined ? 0 : list.findIndex((item) => (item.id ?? item) === from) + 1;
      return { items: list.slice(start, start + 2), hasMore: start + 2 < list.length };
    },
  };
};

async function document(given, onProgress) {
  let text = "";
  for await (const piece of exportUser({ user: "ana", now: "2018-05-04T09:31:10.480Z", ...given,
    onProgress })) text += piece;
  return JSON.parse(text);
}

test("an export has every page of every list, and is one JSON document", async () => {
  const messages = (ids) => ids.map((id) => ({ id: `layer:///messages/${id}` }));
  const given = source({
    "/sessions": [{ id: "s1" }, { id: "s2" }, { id: "s3" }],
    "/following": ["ben", "cleo", "dora"],
    "/conversations": [1, 2, 3].map((n) => ({ id: `layer:///conversations/${n}`, last_message: { id: "x" },
      metadata: { "a": "\"\n" } })),
    "/conversations/1/messages": messages([1, 2, 3, 4, 5]),
    "/conversations/3/messages": messages([6]),
  }, { "": { suspended: false }, "/identity": { display_name: "Ana" } });
  const steps = [];
  const made = await document(given, (progress) => steps.push(progress));
  assert.equal(made.user_id, "ana");
  assert.deepEqual([made.user, made.identity, made.badge], [{ suspended: false }, { display_name: "Ana" }, null]);
  assert.deepEqual(made.sessions.map(({ id }) => id), ["s1", "s2", "s3"]);
  assert.deepEqual(made.following, ["ben", "cleo", "dora"]);
  assert.deepEqual(made.blocks, []);
  assert.deepEqual(made.conversations.map(({ conversation, messages: list }) => [conversation.id.at(-1), list.length]),
    [["1", 5], ["2", 0], ["3", 1]]);
  assert.equal("last_message" in made.conversations[0].conversation, false);
  assert.deepEqual(steps.at(-1), { conversations: 3, messages: 6 });
  assert.ok(given.asked.includes("/conversations/1/messages layer:///messages/4"));
});

test("a user who is only an id has an export", async () => {
  const made = await document(source({}));
  assert.deepEqual([made.identity, made.conversations], [null, []]);
});

test("a reading that fails ends the export", async () => {
  const given = { ...source({}), page: async () => { throw new Error("no answer"); } };
  await assert.rejects(document(given), /no answer/);
});
