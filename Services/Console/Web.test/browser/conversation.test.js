// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { disconnectAll, openProxy, until } from "../../../../Clients/JavaScript/test/support/system.js";
import { Console } from "./console.js";
import { makePeople, makeTalk } from "./content.js";
import { appName, consoleURL, server, signInLink, skip, state } from "./system.js";

let page;
let talk;
let proxy;
let clients;
/** The conversation, as a client sees it. */
const seenBy = (user) => clients[user].conversation(`layer:///conversations/${talk.id}`);

before(async () => {
  if (skip) return;
  await makePeople();
  talk = await makeTalk();
  clients = talk.clients;
  // Connections are lost and made again at a proxy.
  proxy = await openProxy(consoleURL);
  page = await Console.open(signInLink().replace(consoleURL, proxy.url));
  await page.show("conversations", talk.id);
  await page.sees("Live");
});

after(async () => {
  disconnectAll();
  await page?.close();
  proxy?.close();
});

test("messages, typing, metadata, receipts and participants of clients appear as they come", { skip }, async () => {
  await page.sees("Gate is closed: 312 tickets, 48 seats left.", "Messages");
  seenBy("ines.costa").typing();
  await page.sees("Inês Costa is typing", "Messages");
  await seenBy("ines.costa").send("All aboard, we leave in two minutes.");
  await page.sees("All aboard, we leave in two minutes.", "Messages");
  await page.misses("is typing", "Messages");
  await seenBy("rui.almeida").setMetadata("status", "departed");
  await page.sees("departed", "Metadata");
  await page.sees("rui.almeida set status", "Changes");
  await page.sees("unread", "Participants");
  await seenBy("tiago.reis").markAllRead();
  await page.sees("tiago.reis read all messages", "Changes");
  await seenBy("ines.costa").remove("marta.sousa");
  await page.sees("marta.sousa, joined at #1, left at", "Participants");
});

test("a key that an operator sets reaches the clients, and says that the app's server wrote it", { skip }, async () => {
  await page.submit("Set a key", "Metadata", { Path: "trip.pier", Value: "Pier 3" }, "Save");
  await page.sees("metadata.trip.pier was set");
  const rowOf = (key) => page.browser.until(`the row of ${key}`, (name) =>
    [...document.querySelectorAll(".leaf")].find((row) => row.querySelector("code")?.textContent === name)?.innerText,
  key);
  const row = await rowOf("pier");
  assert.match(row, /Pier 3/);
  assert.match(row, /App's server/);
  assert.match(await rowOf("captain"), /rui\.almeida/);
  await until(() => seenBy("ines.costa").valueAt("trip.pier") === "Pier 3", "the client has the key");
  await page.go(["overview"]);
  await page.show("conversations", talk.id);
  assert.match(await rowOf("pier"), /App's server/);
});

test("a key that an operator deletes goes, with a question", { skip }, async () => {
  const rows = () => page.browser.run(() => [...document.querySelectorAll(".leaf code")].map((one) => one.textContent));
  await page.browser.until("the row can be deleted", () => {
    const rows = [...document.querySelectorAll(".leaf")];
    const row = rows.find((one) => one.querySelector("code")?.textContent === "pier");
    const button = [...(row?.querySelectorAll("button") ?? [])].find((one) => one.textContent === "Delete");
    button?.click();
    return button;
  });
  await page.sees("Delete trip.pier?");
  await page.press("Delete");
  await page.sees("metadata.trip.pier was deleted");
  await page.browser.until("the row is gone", () =>
    ![...document.querySelectorAll(".leaf code")].some((one) => one.textContent === "pier"));
  assert.ok((await rows()).includes("boat"));
  const { metadata } = await server("GET", `/conversations/${talk.id}`);
  assert.equal(metadata.trip.pier, undefined);
});

test("an operator adds and removes a participant", { skip }, async () => {
  await page.submit("Add", "Participants", { "User id": "clara.nunes" }, "Add");
  await page.sees("clara.nunes was added");
  await page.sees("Clara Nunes", "Participants");
  await page.submit("Remove clara.nunes", "Participants", {}, "Remove");
  await page.sees("clara.nunes was removed");
});

test("an operator deletes a message for all", { skip }, async () => {
  const body = "I meet them at ramp B and keep the lift free.";
  await page.browser.until("the message opens", (text) => {
    const row = [...document.querySelectorAll(".message")].find((one) => one.innerText.includes(text));
    row?.querySelector("[aria-expanded=false]")?.click();
    return row?.querySelector(".message-details");
  }, body);
  await page.sees("As JSON", "Messages");
  await page.browser.run(() => {
    const details = document.querySelector(".message-details");
    [...details.querySelectorAll("button")].find((one) => one.textContent === "Delete").click();
  });
  await page.sees("Delete this message?");
  await page.press("Delete for all");
  await page.sees("The message was deleted for all");
  await page.sees("Deleted for all by the app's server", "Messages");
  await page.misses(body, "Messages");
});

test("after a lost connection the page is live again, and shows what it missed", { skip }, async () => {
  proxy.isDown = true;
  proxy.cut();
  await page.sees("Reconnecting");
  await seenBy("rui.almeida").send("Sent while the console's page was cut off.");
  await seenBy("rui.almeida").setMetadata("trip.boat", "Almadense");
  proxy.isDown = false;
  await page.sees("Live");
  await page.sees("Sent while the console's page was cut off.", "Messages");
  await page.sees("Almadense", "Metadata");
  await page.sees("rui.almeida set trip.boat", "Changes");
});

test("after a restart of the console the page is live again, and shows what it missed", { skip }, async () => {
  const { pid } = state().processes.find((one) => one.service === "console");
  await page.browser.run(() => (globalThis.isSamePage = true));
  process.kill(pid, "SIGKILL");
  await seenBy("rui.almeida").send("Sent while the console was away.");
  await page.sees("Sent while the console was away.", "Messages");
  await page.sees("Live");
  await seenBy("ines.costa").send("Welcome back.");
  await page.sees("Welcome back.", "Messages");
  assert.ok(await page.browser.run(() => globalThis.isSamePage));
});

test("an operator deletes a conversation, once its id was typed", { skip }, async () => {
  await page.press("Delete");
  await page.fill("Type", talk.id.slice(0, 8));
  await page.press("Delete for all");
  await page.sees("The conversation was deleted for all");
  await page.sees("The messages went with the conversation");
  await page.isAudited("developer", "server_api", appName, `/conversations/${talk.id}`, "ok");
});

// The live page may read the deleted conversation once more.
test("the page reports no error but its lost connections, and asks nobody else", { skip }, () =>
  page.check({ origin: proxy.url, allowed: /net::ERR_|status of 410/ }));
