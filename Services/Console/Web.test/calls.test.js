// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bodyComplaint, bodyText, canBeOnBehalf, grouped, initialValues, missing, requestOf,
  search } from "../Web/model/calls.js";
import { curlLine, quoted, socketLine } from "../Web/model/curl.js";

const calls = JSON.parse(readFileSync(new URL("../Web/calls.json", import.meta.url)));
const call = (api, id) => calls.find((one) => one.api === api && one.id === id);

test("every call has a form that makes a request, and a body that is sent as it is shown", () => {
  for (const one of calls.filter(({ api }) => api !== "socket")) {
    const values = initialValues(one);
    for (const parameter of one.parameters ?? []) {
      if (parameter.required) values[`${parameter.in}:${parameter.name}`] ||= String(parameter.example ?? "x");
    }
    assert.deepEqual(missing(one, values), [], one.id);
    const request = requestOf(one, values, { body: bodyText(one.body) });
    assert.doesNotMatch(request.path, /[{}]/, one.id);
    assert.equal(bodyComplaint(one, bodyText(one.body)), null, one.id);
    assert.match(curlLine(request), /^curl -i/);
  }
});

test("the ids of calls differ within an API", () => {
  const keys = calls.map(({ api, id }) => `${api} ${id}`);
  assert.equal(new Set(keys).size, keys.length);
});

test("values are escaped in the path and in the query, and empty ones are left out", () => {
  const list = call("server", "listMessages");
  const request = requestOf(list, { ...initialValues(list), "path:id": "a/b c", "query:page_size": "",
    "query:from_id": "layer:///messages/1" });
  assert.deepEqual(request, {
    method: "GET", path: "/conversations/a%2Fb%20c/messages?from_id=layer%3A%2F%2F%2Fmessages%2F1",
    headers: { Accept: "application/vnd.layer+json; version=3.0" },
  });
});

test("a query by any indexed path is sent", () => {
  const find = call("server", "findConversations");
  assert.equal(requestOf(find, {}, { query: "metadata.status.prefix=op" }).path,
    "/conversations?metadata.status.prefix=op");
});

test("the server calls on behalf of a user below that user", () => {
  assert.equal(canBeOnBehalf(call("client", "listConversations")), true);
  assert.equal(canBeOnBehalf(call("client", "createNonce")), false);
  assert.equal(canBeOnBehalf(call("client", "listBlocks")), false);
  assert.equal(canBeOnBehalf(call("client", "listFollowing")), false);
  assert.equal(canBeOnBehalf(call("server", "listMessages")), false);
  assert.equal(requestOf(call("client", "listConversations"), {}, { user: "team/ana" }).path,
    "/users/team%2Fana/conversations");
});

test("a GET has no body and no type of one", () => {
  const request = requestOf({ method: "GET", path: "/x", headers: { "Content-Type": "application/json" } }, {},
    { body: "{}" });
  assert.deepEqual(request, { method: "GET", path: "/x", headers: {} });
});

test("required values and broken bodies are named", () => {
  assert.deepEqual(missing(call("server", "getConversation"),
    initialValues(call("server", "getConversation"))), ["id"]);
  const send = call("server", "sendMessage");
  assert.match(bodyComplaint(send, "{"), /no JSON/);
  assert.equal(bodyComplaint(send, " "), null);
});

test("calls are found by all words of a text", () => {
  assert.ok(search(calls, "delete conversation").some(({ id }) => id === "deleteConversation"));
  assert.deepEqual(search(calls, "no such words"), []);
  assert.deepEqual(grouped([{ group: "a", n: 1 }, { group: "b", n: 2 }, { group: "a", n: 3 }]).map(([name, list]) =>
    [name, list.length]), [["a", 2], ["b", 1]]);
});

const shell = (line) =>
  execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }; STRATA=https://chat SESSION=s TOKEN=t; ${line}`],
    { encoding: "utf8" }).split("\0").slice(0, -1);

test("a shell reads the command as the request, whatever its texts are", () => {
  const body = `{"text": "it's $HOME \`x\` \\ \\"y\\" \n !"}`;
  const request = { method: "POST", path: "/users/a'b$(id)/x?y=1&z=2",
    headers: { Accept: "application/vnd.layer+json; version=3.0" }, body };
  assert.deepEqual(shell(curlLine(request, { authorization: "token", app: "1" })), [
    "-i", "-X", "POST", "https://chat/apps/1/users/a'b$(id)/x?y=1&z=2", "-H", "Authorization: Bearer t", "-H",
    "Accept: application/vnd.layer+json; version=3.0", "--data-binary", body,
  ]);
  assert.deepEqual(shell(curlLine({ method: "HEAD", path: "/", headers: {} }, { authorization: "session" })), [
    "-i", "--head", "https://chat/", "-H", "Authorization: Layer session-token=s",
  ]);
  assert.equal(quoted("plain/1.0"), "plain/1.0");
});

test("frames are one line each", () => {
  assert.match(socketLine(['{"a":"it\'s"}', "{}"], 2),
    /^\(printf '%s\\n' '\{"a":"it'\\''s"\}' '\{\}'; sleep 2\) \| websocat/);
});
