// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { disconnectAll, until } from "../../../../Clients/JavaScript/test/support/system.js";
import { Console } from "./console.js";
import { makePeople, makeTalk, signIn } from "./content.js";
import { appName, appUUID, server, skip, temporaryDirectory } from "./system.js";

const run = Date.now().toString(36);
const user = `${run}.ines.costa`;
const other = `${run}.rui.almeida`;
let page;
let talk;

before(async () => {
  if (skip) return;
  await makePeople(`${run}.`);
  talk = await makeTalk(`${run}.`);
  page = await Console.open();
});

after(async () => {
  disconnectAll();
  await page?.close();
});

const conversationOf = (client) => client.conversation(`layer:///conversations/${talk.id}`);

test("a user is found by the beginning of the id", { skip }, async () => {
  await page.show("users");
  await page.fill("User id begins with", `${run}.i`);
  await page.misses("Rui Almeida");
  await page.press("Inês Costa");
  await page.sees(`ines.costa@ferries.example`);
  await page.sees("available");
  await page.sees(talk.id.slice(0, 8), "Conversations");
});

test("a trace shows the packets of a client's socket as they go, both ways", { skip }, async () => {
  await page.press("Trace");
  await page.sees("Trace the sockets of");
  await page.press("Start");
  await page.sees("Tracing");
  await page.sees("opened", "Packets");
  const client = talk.clients["ines.costa"];
  conversationOf(client).typing();
  await page.sees("typing_indicator", "Packets");
  await conversationOf(talk.clients["rui.almeida"]).send(`Traced ${run}`);
  await page.browser.until("the message's packet is shown", (text) =>
    [...document.querySelectorAll(".packet.out")].some((row) => row.innerText.includes(text)), "Message");
  assert.ok(await page.browser.run(() => document.querySelectorAll(".packet.in").length) > 0);
  await page.fill("Filter packets by their text", `Traced ${run}`);
  await page.browser.until("the filter leaves the packets with the text", () =>
    /[1-9]\d* of \d+ packets/.test(hands.text("Packets")));
  await page.press("Stop");
  await page.sees("Ended");
  await page.isAudited("developer", "trace", appName, user, "ok");
});

test("a trace ends when its time is over", { skip }, async () => {
  const events = await page.browser.run(async (path) => (await fetch(path)).text(),
    `/api/apps/${appUUID}/users/${user}/trace?seconds=1`);
  assert.match(events, /event: gateway\n/);
  assert.match(events, /event: end\ndata: \{\}\n\n$/);
});

test("a suspended user is cut off, until the suspension ends", { skip }, async () => {
  const client = talk.clients["ines.costa"];
  await page.show("users", user);
  await page.submit("Suspend", undefined, {}, "Suspend");
  await page.sees(`${user} is suspended`);
  await page.sees("Suspended");
  await until(() => client.state !== "live", "the client is cut off");
  await page.submit("End suspension", undefined, {}, "End the suspension");
  await page.sees(`${user} is not suspended any more`);
});

test("an operator blocks a user for another one", { skip }, async () => {
  await page.submit("Block", "Blocks", { "User id": other }, "Block");
  await page.sees(`${other} is blocked by ${user}`);
  await page.sees("Rui Almeida", "Blocks");
  await page.submit("Unblock", "Blocks", {}, "Unblock");
  await page.sees("Nobody is blocked", "Blocks");
});

test("a session ends alone, and all end with a sign-out", { skip }, async () => {
  await signIn(user);
  await page.show("users", user);
  await page.submit("End", "Sessions", {}, "End the session");
  await page.sees("The session has ended");
  await page.submit("Sign out", "main", {}, "End all sessions");
  await page.sees("Not signed in", "Sessions");
});

test("the export has what the user wrote", { skip }, async () => {
  const directory = temporaryDirectory();
  await page.browser.call("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: directory });
  await page.press("Export");
  await page.sees("The file was saved.");
  const file = await until(() => readdirSync(directory).find((name) => name.endsWith(".json")), "the file is there");
  await page.press("Close");
  const text = readFileSync(`${directory}/${file}`, "utf8");
  assert.ok(text.includes("Boarding for the 17:40 begins at pier 3."));
  assert.ok(text.includes("ines.costa@ferries.example"));
});

test("an operator erases a user, once the id was typed", { skip }, async () => {
  // The identity is gone, and the page asks for it.
  page.refusals.add(404);
  await page.show("users", user);
  await page.submit("Erase", undefined, { Type: user }, "Erase for good");
  await page.sees(`The erasure of ${user} has begun`);
  await until(async () => {
    const messages = await server("GET", `/conversations/${talk.id}/messages?page_size=100`);
    return messages.every((message) => message.sender?.user_id !== user || message.parts.length === 0);
  }, "the parts of the user's messages are gone", 60_000);
  await page.isAudited("developer", "server_api", appName, `/users/${user}`, "ok");
});

test("the page reports no error, and asks nobody else", { skip }, () => page.check());
