// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { kinds } from "../changes.js";
import * as content from "../content.js";
import * as storage from "../indexeddb.js";
import * as library from "../strata.js";
import { TestServer } from "./support/server.js";
import { conversation, conversationId, createMessage } from "./support/wire.js";

const text = readFileSync(new URL("../../../docs/javascript.md", import.meta.url), "utf8");
const guide = text.replaceAll(/^```[^]*?^```/gm, "");

/** Returns the names of an object's public members, those of every error excepted. */
function membersOf(object) {
  const names = new Set();
  const ends = [Object.prototype, Error.prototype];
  for (let one = object; !ends.includes(one); one = Object.getPrototypeOf(one)) {
    for (const name of Object.getOwnPropertyNames(one)) names.add(name);
  }
  const general = Object.getOwnPropertyNames(object instanceof Error ? new Error("", { cause: null }) : {});
  for (const name of ["constructor", ...general, ...(object instanceof Error ? ["name"] : [])]) names.delete(name);
  return [...names].sort();
}

/** Returns the members in code such as `conversation.add(…)`, `.remove(…)`, by the name before the dot. */
function calls() {
  const found = new Map();
  let subject = "";
  for (const [, code] of guide.matchAll(/`([^`]+)`/g)) {
    const [, name, member] = /^(client|conversation|message|identity|list|messages)?\.(\w+)/.exec(code) ?? [];
    if (!member || /\.[jt]s$/.test(code)) continue;
    subject = name ?? subject;
    found.set(subject, (found.get(subject) ?? new Set()).add(member));
  }
  return (...subjects) => subjects.flatMap((one) => [...found.get(one)]);
}

const section = (title) => guide.split(`\n## ${title}\n`)[1].split("\n## ")[0];
const codes = (text) => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name);
const listed = (title) => codes(/^Members: (.*)$/m.exec(section(title))[1]);
const rows = (table) => [...table.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].flatMap(([, cell]) => codes(cell));

test("the guide names every public member, and no other", async () => {
  const server = new TestServer();
  server.answers["GET /conversations"] = { body: [conversation()] };
  await server.start();
  server.push(createMessage(2));
  const { client } = server;
  const chat = client.conversation(conversationId());
  const list = chat.messages();
  const named = calls();
  const expected = [
    [client, named("client")],
    [list, named("list", "messages")],
    [chat, [...named("conversation"), ...listed("Conversations")]],
    [list.items[0], [...named("message"), ...listed("Messages")]],
    [list.items[0].parts[0], codes(/^A part has (.*);/m.exec(guide)[1])],
    [client.identity("bob"), [...named("identity"), ...listed("Users")]],
    [new library.StrataError("closed"), rows(section("Errors").split("| Code of the client |")[0])],
  ];
  for (const [object, names] of expected) {
    assert.deepEqual([...new Set(names)].sort(), membersOf(object), object.constructor.name);
  }
  client.disconnect();
});

test("the guide names every option, event and kind of change, and no other", () => {
  const source = readFileSync(new URL("../client.js", import.meta.url), "utf8");
  const [, options] = /@typedef \{object\} ClientOptions\n([^]*?)@typedef/.exec(source);
  const [, events] = /@typedef \{\{([^]*?)\}\} ClientEvents/.exec(source);
  const [optionTable, rest] = section("Connect").split("\n| Call |");
  const optionNames = [...options.matchAll(/@property \{.*\} \[?(\w+)/g)].map(([, name]) => name);
  assert.deepEqual(rows(optionTable).sort(), optionNames.filter((name) => name !== "clock").sort());
  const eventNames = [...events.replaceAll(/\{[^{}]*\}?/g, "").matchAll(/(\w+):/g)].map(([, name]) => name);
  assert.deepEqual(rows(rest.split("\n| Event |")[1]).sort(), eventNames.sort());
  assert.deepEqual(codes(/^The kinds are (.*)/m.exec(guide)[1]).sort(), Object.keys(kinds).sort());
});

test("the guide uses every export of the modules beside the core", () => {
  for (const [module, file] of [[content, "content.js"], [storage, "indexeddb.js"]]) {
    const [, imports] = new RegExp(`import \\{ (.*) \\} from "./client/${file}"`).exec(text);
    assert.deepEqual(imports.split(", ").sort(), Object.keys(module).sort());
  }
});
