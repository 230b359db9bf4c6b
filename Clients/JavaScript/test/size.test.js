// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { gunzipSync } from "node:zlib";
import * as modules from "../strata.js";
import * as minified from "../strata.min.js";
import { TestServer } from "./support/server.js";
import { conversation, conversationId, createMessage } from "./support/wire.js";

/** The maximum size of strata.min.js.gz, in bytes. docs/javascript.md names it. */
const limit = 16_500;

test("strata.min.js is not larger than the guide says", () => {
  const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url));
  const compressed = read("strata.min.js.gz");
  assert.ok(compressed.length <= limit, `${compressed.length} bytes`);
  assert.deepEqual(gunzipSync(compressed), read("strata.min.js"));
});

test("strata.min.js exports what strata.js exports", () => {
  assert.deepEqual(Object.keys(minified).sort(), Object.keys(modules).sort());
});

test("a client of strata.min.js connects, receives, sends, and comes back", async () => {
  const server = new TestServer({}, minified);
  server.answers["GET /conversations"] = { body: [conversation()] };
  const route = `POST /conversations/${conversationId().slice(-36)}/messages`;
  server.answers[route] = { status: 201, body: {}, headers: { "Strata-Position": "0" } };
  const refusal = { status: 422, body: { id: "invalid_property" } };
  server.answers[`PATCH /conversations/${conversationId().slice(-36)}`] = refusal;
  await server.start();
  const chat = () => server.client.conversation(conversationId());
  server.push(createMessage(2));
  assert.equal(chat().messages().items[0].text, "part 1");
  assert.equal((await chat().send("hello")).text, "hello");
  await assert.rejects(chat().setMetadata("a", "b"), minified.StrataError);
  await server.restart();
  assert.equal(server.replays().length, 1);
  assert.equal(server.client.state, "live");
});
