// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test, { beforeEach, mock } from "node:test";
import * as api from "../Web/api.js";
import { idleTime, watchInput } from "../Web/idle.js";

/** Requests that were sent, and answers to the next ones. */
let [sent, answers, ended] = [[], [], 0];

const answer = (status, body, headers = {}) => ({ status, body: body ? JSON.stringify(body) : null, headers });

globalThis.fetch = async (target, options) => {
  sent.push({ target, ...options });
  const next = answers.shift();
  if (!next) throw new TypeError("fetch failed");
  return new Response(next.body, { status: next.status, headers: next.headers });
};

beforeEach(() => {
  [sent, answers, ended] = [[], [], 0];
  api.setToken("token");
  api.onSignedOut(() => (ended += 1));
});

const refused = async (promise) => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  assert.fail("it was not refused");
};

test("values in paths and queries are escaped, and empty ones are left out", async () => {
  answers = [answer(200, [])];
  await api.report("users", { app: "a", user: "ü&", after: undefined, limit: 0 });
  assert.equal(sent[0].target, "/api/reports/users?app=a&user=%C3%BC%26&limit=0");
  assert.equal(api.path`/api/apps/${"a/b"}/keys/${1}`, "/api/apps/a%2Fb/keys/1");
});

test("only changes carry the CSRF token", async () => {
  answers = [answer(200, {}), answer(201, { id: "x" })];
  await api.get("/api/overview");
  assert.deepEqual(await api.post("/api/apps", { name: "A" }), { id: "x" });
  assert.equal(sent[0].headers["X-CSRF-Token"], undefined);
  assert.equal(sent[1].headers["X-CSRF-Token"], "token");
  assert.equal(sent[1].body, '{"name":"A"}');
});

test("requests of a page that nobody uses say so, until the next input", async (context) => {
  const page = new EventTarget();
  watchInput(page);
  const read = async () => {
    answers = [answer(200, {})];
    await api.get("/api/overview");
    return sent.at(-1).headers["X-Idle"];
  };
  assert.equal(await read(), undefined);
  mock.timers.enable({ apis: ["Date"], now: Date.now() + idleTime + 1000 });
  context.after(() => mock.timers.reset());
  assert.equal(await read(), "true");
  page.dispatchEvent(new Event("keydown"));
  assert.equal(await read(), undefined);
});

test("the Server API is called below the app, also at its root", async () => {
  answers = [answer(202), answer(200, []), answer(204)];
  const operations = [{ operation: "set", property: "badge_counts", value: "external" }];
  await api.patch("a", "", operations);
  await api.server("a", "GET", "webhooks", { accept: api.types.webhooks });
  await api.server("a", "DELETE", api.path`indexes/${"metadata.a/b"}`);
  assert.deepEqual(sent.map(({ method, target }) => `${method} ${target}`), [
    "PATCH /api/apps/a/server", "GET /api/apps/a/server/webhooks",
    "DELETE /api/apps/a/server/indexes/metadata.a%2Fb",
  ]);
  assert.equal(sent[0].headers["Content-Type"], "application/vnd.layer-patch+json");
  assert.match(sent[1].headers.Accept, /webhooks/);
});

test("errors of the console and of the Server API name the field", async () => {
  answers = [
    answer(422, { error: { code: "invalid_property", message: "must be short", field: "name" } }),
    answer(422, { id: "x", code: "invalid_property", message: "is wrong", data: { property: "metadata.a" } }),
    answer(429, { error: { code: "rate_limit_exceeded", message: "Too many." } }, { "Retry-After": "7" }),
    answer(502),
  ];
  const own = await refused(api.post("/api/apps", {}));
  assert.deepEqual([own.status, own.code, own.message, own.field], [422, "invalid_property", "must be short", "name"]);
  assert.equal((await refused(api.server("a", "POST", "indexes", { body: {} }))).field, "metadata.a");
  assert.equal((await refused(api.get("/api/overview"))).retryAfter, 7);
  assert.match((await refused(api.get("/api/overview"))).message, /502/);
});

test("a request without an answer is an error with status 0", async () => {
  const error = await refused(api.get("/api/overview"));
  assert.deepEqual([error.status, error.code], [0, "no_answer"]);
});

test("a missing session is reported, but not a 401 of the gateway or of the sign-in", async () => {
  const missing = { error: { code: "authentication_required", message: "Sign in." } };
  answers = [answer(401, missing), answer(401, missing.error), answer(401, missing)];
  await refused(api.get("/api/overview"));
  assert.equal(ended, 1);
  await refused(api.server("a", "GET", "indexes"));
  await refused(api.post("/api/session", {}));
  assert.equal(ended, 1);
});

test("a change with another tab's CSRF token is repeated once with the present one", async () => {
  const wrong = answer(403, { error: { code: "csrf", message: "wrong" } });
  answers = [wrong, answer(200, { csrf: "new" }), answer(204), wrong, answer(200, { csrf: "newer" }), wrong];
  await api.put("/api/apps/a/suspension");
  assert.deepEqual(sent.map((one) => one.headers["X-CSRF-Token"]), ["token", undefined, "new"]);
  assert.equal((await refused(api.put("/api/apps/a/suspension"))).code, "csrf");
  assert.equal(sent.length, 6);
});

const listened = (target, handlers, options) => new Promise((resolve) => {
  const states = [];
  const close = api.listen(target, handlers, { ...options, onState: (state, error) => {
    states.push(state);
    if (state === "waiting" || state === "ended") {
      close();
      resolve({ states, error });
    }
  } });
});

const stream = (body) => ({ status: 200, body, headers: { "Content-Type": "text/event-stream" } });

test("a stream calls the handlers by type, and a finite one ends", async () => {
  answers = [stream('event: packet\ndata: {"n":1}\n\nevent: other\ndata: {}\n\nevent: packet\ndata: {"n":2}\n\n')];
  const packets = [];
  const handlers = { packet: ({ n }) => packets.push(n) };
  const { states } = await listened("/api/trace", handlers, { isFinite: true, query: { seconds: 5 } });
  assert.deepEqual([packets, states], [[1, 2], ["connecting", "open", "ended"]]);
  assert.equal(sent[0].target, "/api/trace?seconds=5");
});

test("a stream that ends waits before it opens again, a refused one ends", async () => {
  answers = [stream(""), answer(404, { error: { code: "not_found", message: "gone" } })];
  assert.deepEqual((await listened("/api/events", {})).states, ["connecting", "open", "waiting"]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sent.length, 1, "it is closed");
  const { states, error } = await listened("/api/events", {});
  assert.deepEqual([states, error.code], [["connecting", "ended"], "not_found"]);
  assert.deepEqual([0, 1, 5, 20].map(api.retryDelay), [500, 1000, 15_000, 15_000]);
});
