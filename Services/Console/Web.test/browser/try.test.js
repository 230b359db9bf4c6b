// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { disconnectAll } from "../../../../Clients/JavaScript/test/support/system.js";
import { Console } from "./console.js";
import { makePeople, makeTalk } from "./content.js";
import { appName, server, skip, sql } from "./system.js";

let page;
let talk;
let session;

before(async () => {
  if (skip) return;
  await makePeople();
  talk = await makeTalk();
  session = talk.clients["ines.costa"].session.token;
  page = await Console.open();
  await page.go(["try"]);
});

after(async () => {
  disconnectAll();
  await page?.close();
});

/** Chooses a call by its summary, and waits for its form. */
async function choose(summary) {
  await page.press(summary, "Calls");
  await page.sees(summary, ".call");
}

test("a call of the Server API is sent with the console's token, and shows its curl line", { skip }, async () => {
  await choose("One conversation");
  await page.fill("App", appName);
  await page.press("Send");
  await page.sees("Needed: id");
  await page.fill("id", talk.id);
  await page.press("Send");
  await page.sees("200", "Answer");
  await page.sees("Dom Dinis", "Answer");
  await page.sees("curl", "As a command");
  await page.sees(talk.id, "As a command");
});

test("a message that is sent here arrives", { skip }, async () => {
  await choose("Sends a message, or several");
  await page.fill("id", talk.id);
  const body = { sender_id: "layer:///identities/ines.costa", parts: [{ body: "Tried", mime_type: "text/plain" }] };
  await page.fill("application/json", JSON.stringify(body));
  await page.press("Send");
  await page.sees("201", "Answer");
  const [newest] = await server("GET", `/conversations/${talk.id}/messages`);
  assert.equal(newest.parts[0].body, "Tried");
});

test("a call of the Client API is sent with a session, whose token is not in the audit log", { skip }, async () => {
  await page.press("Client API", "main");
  await choose("The user's conversations");
  await page.fill("As", "a session of a user");
  await page.fill("Session token", session);
  await page.press("Send");
  await page.sees("200", "Answer");
  await page.sees(talk.id, "Answer");
  await page.isAudited("developer", "client_api", "/conversations", "ok");
  assert.equal(sql(`SELECT count(*) FROM console.audit a WHERE a::text LIKE '%${session}%'`), "0");
});

test("frames are sent on a socket, and what comes is shown", { skip }, async () => {
  await page.go(["try"]);
  await page.press("WebSocket", "main");
  await choose("Check that no packet is missing");
  await page.fill("Session token", session);
  await page.fill("Open for", "1 second");
  await page.press("Open and send");
  await page.sees("Counter.read", "Answer");
  assert.ok(await page.browser.run(() => document.querySelectorAll(".socket-packets li").length) >= 2);
  await page.isAudited("developer", "client_socket", "ok");
});

test("a session that does not exist is refused", { skip }, async () => {
  page.refusals.add(422);
  await page.go(["try"]);
  await page.press("WebSocket", "main");
  await choose("Check that no packet is missing");
  await page.fill("Session token", "no-session");
  await page.press("Open and send");
  await page.sees("The gateway refused the socket", "Answer");
});

test("the page reports no error, and asks nobody else", { skip }, () => page.check());
