// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { LeafReader } from "../Web/model/leaf-reader.js";
import { MessageReader } from "../Web/model/message-reader.js";
import { pageSize, shownMessages } from "../Web/model/messages.js";

const message = (number) => ({ id: `layer:///messages/${number}`, position: number, parts: [number] });

/** A reader of a conversation whose messages are `numbers`; the next readings can be made to fail. */
function messageReader(count) {
  const given = { numbers: Array.from({ length: count }, (_, index) => index + 1), failures: [], warnings: [] };
  const numberOf = (id) => Number(id.split("/").at(-1));
  const reader = new MessageReader({
    async page(from) {
      if (given.failures.length) throw given.failures.shift();
      const end = from === undefined ? given.numbers.length : given.numbers.indexOf(numberOf(from));
      if (end < 0) throw Object.assign(new Error("no such message"), { status: 404 });
      const start = Math.max(0, end - pageSize);
      return { items: given.numbers.slice(start, end).reverse().map(message), hasMore: start > 0 };
    },
    message: async (id) => (given.numbers.includes(Number(id)) ? message(Number(id)) : null),
    show: () => {},
    warn: (text) => given.warnings.push(text),
  });
  const shown = () => shownMessages(reader.state.window).map((one) => one.position);
  return { reader, given, shown };
}

test("a reader goes up, and down again, over messages that came meanwhile", async () => {
  const { reader, given, shown } = messageReader(400);
  await reader.newest();
  for (let page = 0; page < 5; page += 1) await reader.older();
  assert.deepEqual([shown()[0], shown().at(-1), reader.isAtNewest], [101, 250, false]);
  given.numbers.push(401, 402);
  reader.missed(2);
  while (!reader.isAtNewest) await reader.newer();
  assert.deepEqual([shown().at(-1), reader.state.unseen], [402, 0]);
});

test("the newest page is shown if too many messages came to go down page by page", async () => {
  const { reader, given, shown } = messageReader(300);
  await reader.newest();
  for (let page = 0; page < 3; page += 1) await reader.older();
  for (let number = 301; number <= 1000; number += 1) given.numbers.push(number);
  await reader.newer();
  assert.deepEqual([shown().at(-1), shown().length, reader.isAtNewest], [1000, pageSize, true]);
});

test("a reader begins again if the message to read on from was deleted", async () => {
  const { reader, given, shown } = messageReader(200);
  await reader.newest();
  given.numbers = given.numbers.filter((number) => number !== 151);
  await reader.older();
  assert.deepEqual([shown().at(-1), given.warnings.length, reader.state.error], [200, 1, undefined]);
});

test("a failure is shown, and the messages stay", async () => {
  const { reader, given, shown } = messageReader(200);
  await reader.newest();
  given.failures.push(new Error("no answer"));
  await reader.older();
  assert.deepEqual([reader.state.error.message, shown().length], ["no answer", pageSize]);
  await reader.older();
  assert.deepEqual([reader.state.error, shown().length], [undefined, 100]);
});

test("a message is shown with what was before it; one that is gone is said", async () => {
  const { reader, given, shown } = messageReader(200);
  await reader.newest();
  await reader.show("120");
  assert.deepEqual([shown().at(-1), reader.state.target, reader.isAtNewest], [120, message(120).id, false]);
  await reader.show("999");
  assert.deepEqual([shown().at(-1), given.warnings.length], [120, 1]);
});

const leaf = (path, position = 1) => ({ path, value: "v", position, actor: "", at: null });

test("a change that comes while the tree is read again is in the new tree", async () => {
  const pages = [];
  const reader = new LeafReader(() => new Promise((resolve) => pages.push(resolve)), () => {});
  const read = (...items) => pages.shift()({ items, next: null });
  const first = reader.more();
  read(leaf("a"));
  await first;
  const again = reader.again();
  reader.apply({ position: 2, actor: "ana", at: "",
    operations: [{ path: "a", value: "new" }, { path: "b", value: "x" }] });
  read(leaf("a"));
  await again;
  assert.deepEqual(reader.leaves.all.map(({ path, value }) => [path, value]), [["a", "new"], ["b", "x"]]);
});

test("one page is read at a time, and a complete tree is not read on", async () => {
  let count = 0;
  const reader = new LeafReader(async () => ({ items: [leaf(`k${(count += 1)}`)], next: count < 2 ? `k${count}`
    : null }), () => {});
  await Promise.all([reader.more(), reader.more()]);
  assert.equal(count, 1);
  for (let n = 0; n < 3; n += 1) await reader.more();
  assert.deepEqual([count, reader.leaves.count], [2, 2]);
});

test("a failed reading is told and can be repeated", async () => {
  const told = [];
  let fails = true;
  const page = async () => {
    if (fails) throw new Error("no answer");
    return { items: [leaf("a")], next: null };
  };
  const reader = new LeafReader(page, ({ error }) => told.push(error?.message));
  await reader.more();
  fails = false;
  await reader.more();
  assert.deepEqual([told, reader.leaves.count], [["no answer", undefined], 1]);
});
