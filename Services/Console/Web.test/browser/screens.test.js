// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { disconnectAll } from "../../../../Clients/JavaScript/test/support/system.js";
import { Console } from "./console.js";
import { makePeople, makeTalk } from "./content.js";
import { appName, appUUID, newOperator, password, skip, sql } from "./system.js";

let page;
let talk;

before(async () => {
  if (skip) return;
  sql("DELETE FROM console.attempt");
  await makePeople();
  talk = await makeTalk();
  page = await Console.open();
});

after(async () => {
  disconnectAll();
  await page?.close();
});

/** The screens with texts of theirs, in the order of docs/console.md. */
const screens = () => [
  [["overview"], ["Instances ready", "Open sockets", "Latency", "Services", "gateway"]],
  [["apps"], [appName, "Keys", "Tokens", "Webhooks"]],
  [["apps", appUUID], ["Identity", "Limits and settings", "Indexes", "Keys", "Server tokens", "first"]],
  [["apps", appUUID, "conversations"], ["Newest activity first", "ines.costa", "Last activity"]],
  [["apps", appUUID, "conversations", talk.id],
    ["Live", "Boarding for the 17:40", "Participants", "Marta Sousa", "trip", "Dom Dinis", "App's server", "Changes"]],
  [["apps", appUUID, "users"], ["ines.costa", "Rui Almeida"]],
  [["apps", appUUID, "users", "ines.costa"],
    ["Inês Costa", "ines.costa@ferries.example", "At a glance", "Sessions", "Devices", "Blocks"]],
  [["apps", appUUID, "webhooks"], ["Webhooks"]],
  [["try"], ["Choose a call", "/conversations/{id}/messages", "Client API", "WebSocket"]],
  [["space"], ["Retention", "When data is deleted", "Growth of the log", "conversations.change"]],
  [["audit"], ["sign_in", "operator_create", "Outcome"]],
];

/** Buttons that change nothing. */
const harmless = new Set([
  "Copy", "Copy the id", "Copy the URL", "Refresh", "Retry", "Export", "Collapse", "Older messages", "Open",
  "Older changes", "Show", "Load more", "All calls", "GET", "Find",
]);
const isHarmless = (name) => harmless.has(name)
  || /^(Show \d+ smaller tables|\d+ (read|delivered|sent).*|crew|trip|tickets|weather)$/.test(name);

/** Visits all screens and returns the buttons of each. */
async function visit() {
  const found = new Map();
  for (const [parts, texts] of screens()) {
    await page.go(parts);
    for (const one of texts) await page.sees(one);
    const problem = await page.browser.run(() => document.querySelector(".failure")?.textContent);
    assert.equal(problem, undefined, `#/${parts.join("/")}`);
    const width = await page.browser.run(() => document.documentElement.scrollWidth);
    assert.ok(width <= 1280, `#/${parts.join("/")} is ${width} pixels wide`);
    found.set(parts.at(-1), await page.browser.run(() => hands.offers()));
  }
  return found;
}

test("an operator sees every screen, and can change what it shows", { skip }, async () => {
  const offers = await visit();
  const changes = {
    apps: ["New app"], [appUUID]: ["Suspend", "Save", "New index", "New key", "New token", "Remove", "Revoke"],
    [talk.id]: ["Delete", "Add", "Set a key", "Edit"], "ines.costa": ["Trace", "Suspend", "Sign out", "Erase", "Block"],
    webhooks: ["Register"],
  };
  for (const [screen, names] of Object.entries(changes)) {
    for (const name of names) assert.ok(offers.get(screen).includes(name), `${screen}: ${name}`);
  }
});

test("an address that leads nowhere, and objects that do not exist, say so", { skip }, async () => {
  page.refusals.add(404);
  await page.go(["nowhere"]);
  await page.sees("No such screen");
  await page.show("users", "nobody-at-all");
  await page.sees("No such user");
  await page.show("conversations", "00000000-0000-4000-8000-000000000000");
  await page.sees("No such conversation");
});

test("a viewer sees every screen, no button that changes something, and no trace", { skip }, async () => {
  const name = newOperator("viewer");
  await page.go(["overview"]);
  await page.press("Sign out");
  await page.fill("Name", name);
  await page.fill("Password", password);
  await page.press("Sign in");
  await page.sees("viewer");
  for (const [screen, offers] of await visit()) {
    assert.deepEqual(offers.filter((offer) => !isHarmless(offer)), [], screen);
  }
  await page.show("users", "ines.costa", "trace");
  await page.sees("Only operators may trace");
  await page.misses("Start");
});

test("all screens fit into 380 pixels", { skip }, async () => {
  await page.browser.resize(380, 800);
  for (const [parts] of screens()) {
    await page.go(parts);
    const width = await page.browser.run(() => document.documentElement.scrollWidth);
    assert.ok(width <= 380, `#/${parts.join("/")} is ${width} pixels wide`);
  }
});

test("the page reports no error, and asks nobody else", { skip }, () => page.check());
