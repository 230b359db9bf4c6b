// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Console } from "./console.js";
import { server, skip, sql, text } from "./system.js";

const messageCount = 100_000;
const groups = 50;
const keysOfGroup = 100;
let page;
let conversation;

const send = (body) => server("POST", `/conversations/${conversation}/messages`, {
  sender_id: "layer:///identities/lena", parts: [text(body)] });

/** A metadata tree of 5,000 keys. */
const tree = () => Object.fromEntries(Array.from({ length: groups }, (_, group) => [`group-${group}`,
  Object.fromEntries(Array.from({ length: keysOfGroup }, (_, key) => [`key-${key}`, `value ${group}.${key}`]))]));

/** Repeats the only message, whose text is "Message 000001", up to number 100,000. */
const fill = () => sql(`
  BEGIN;
  INSERT INTO conversations.message (conversation_id, ordinal, id, position, sender, sent_at, parts)
  SELECT conversation_id, n, gen_random_uuid(), position + n - 1, sender, sent_at + n * interval '1 microsecond',
    overlay(parts PLACING convert_to(lpad(n::text, 6, '0'), 'UTF8') FROM position('000001'::bytea IN parts))
  FROM conversations.message, generate_series(2, ${messageCount}) n WHERE conversation_id = '${conversation}';
  INSERT INTO conversations.message_place (message_id, app_id, conversation_id, ordinal)
  SELECT m.id, c.app_id, c.id, m.ordinal FROM conversations.message m, conversations.conversation c
  WHERE c.id = '${conversation}' AND m.conversation_id = c.id AND m.ordinal > 1;
  INSERT INTO conversations.change (
    conversation_id, position, kind, actor, message_id, ordinal, message_count, created_at)
  SELECT m.conversation_id, m.position, 5, m.sender, m.id, m.ordinal, m.ordinal, m.sent_at
  FROM conversations.message m WHERE m.conversation_id = '${conversation}' AND m.ordinal > 1;
  UPDATE conversations.conversation SET position = position + ${messageCount - 1}, message_count = ${messageCount},
    last_ordinal = ${messageCount} WHERE id = '${conversation}';
  UPDATE conversations.participant SET uncounted = ${messageCount},
    read = int8multirange(int8range(1, ${messageCount + 1}))
  WHERE conversation_id = '${conversation}' AND user_id = 'lena';
  COMMIT;`);

before(async () => {
  if (skip) return;
  await server("PUT", "/users/lena/identity", { display_name: "Lena" });
  const body = { participants: ["lena", "omar"], distinct: false, metadata: tree() };
  const { id } = await server("POST", "/conversations", body);
  conversation = id.split("/").at(-1);
  await send("Message 000001");
  fill();
  page = await Console.open();
  await page.show("conversations", conversation);
});

after(() => page?.close());

/** The numbers of the shown messages, the oldest first. */
const numbers = () => page.browser.run(() =>
  [...document.querySelectorAll(".part-text")].map((one) => Number(/Message (\d+)/.exec(one.textContent)?.[1])));

const scroll = (selector, place) => page.browser.run((one, isEnd) => {
  const box = document.querySelector(one);
  box.scrollTop = isEnd ? box.scrollHeight : 0;
}, selector, place === "end");

test("a conversation of 100,000 messages shows the newest ones at once", { skip }, async () => {
  await page.sees("Message 100000", "Messages");
  await page.sees("shown of 100,000", "Messages");
  await page.sees("100,000 unread", "Participants");
  assert.ok((await numbers()).length <= 200);
});

test("older messages are read as the reader scrolls, in order and without a gap", { skip }, async () => {
  let oldest = (await numbers())[0];
  for (let step = 0; step < 8; step += 1) {
    await scroll(".messages-box", "start");
    await page.browser.until(`messages before ${oldest}`, (number) =>
      Number(/Message (\d+)/.exec(document.querySelector(".part-text")?.textContent)?.[1]) < number, oldest);
    const shown = await numbers();
    shown.forEach((number, index) => assert.equal(number, shown[0] + index));
    assert.ok(shown.length <= 1000, `${shown.length} messages are shown at once`);
    oldest = shown[0];
  }
});

test("a new message is announced to who reads old ones, and leads to the newest", { skip }, async () => {
  await send("The newest message");
  await page.sees("1 new message", "Messages");
  await page.misses("The newest message", "Messages");
  await page.press("1 new message", "Messages");
  await page.sees("The newest message", "Messages");
});

test("a tree of 5,000 keys is shown, with a bounded number of rows, up to its end", { skip }, async () => {
  const rows = () => page.browser.run(() => document.querySelectorAll(".leaf").length);
  await page.sees("group-0", "Metadata");
  assert.ok((await rows()) < 100);
  await page.browser.until("all keys are read", () => {
    const box = document.querySelector(".tree");
    box.scrollTop = box.scrollHeight;
    return hands.text("Metadata").includes("5,000 keys") && !hands.text("Metadata").includes("loaded");
  });
  await page.sees("value 9.99", "Metadata");
  assert.ok((await rows()) < 100);
});

test("a filter finds one of 5,000 keys, and an edit says who wrote it", { skip }, async () => {
  await page.fill("Filter keys and values", "value 37.42", "Metadata");
  await page.sees("key-42", "Metadata");
  await page.browser.until("one key is shown", () => document.querySelectorAll(".leaf .leaf-author").length === 1);
  await page.submit("Edit", "Metadata", { Value: "value 37.42, edited" }, "Save");
  await page.sees("value 37.42, edited", "Metadata");
  await page.sees("App's server", "Metadata");
  const { metadata } = await server("GET", `/conversations/${conversation}`);
  assert.equal(metadata["group-37"]["key-42"], "value 37.42, edited");
});

test("the page reports no error, and asks nobody else", { skip }, () => page.check());
