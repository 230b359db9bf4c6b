// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../../../../Clients/JavaScript/test/support/system.js";
import { Console } from "./console.js";
import { skip } from "./system.js";

const name = `Tours ${Date.now().toString(36)}`;
let page;
let uuid;
let token;

before(async () => {
  if (!skip) page = await Console.open();
});

after(() => page?.close());

/** The status with which the Server API answers a token. */
async function statusOf(bearer, path = "/webhooks") {
  const headers = { Accept: "application/vnd.layer+json; version=3.0", Authorization: `Bearer ${bearer}` };
  return (await fetch(`${process.env.STRATA_URL}/apps/${uuid}${path}`, { headers })).status;
}

async function closeSecrets(button = "Close") {
  await page.fill("I have kept them", true);
  await page.press(button);
}

test("an app that an operator creates lets its server in", { skip }, async () => {
  await page.go(["apps"]);
  await page.submit("New app", undefined, { Name: name }, "Create");
  await page.sees(`${name} is ready`);
  token = await page.secret("Server token");
  assert.match(await page.secret("Private key"), /^-----BEGIN (RSA )?PRIVATE KEY-----/);
  await closeSecrets("Go to the app");
  await page.sees("Limits and settings");
  await page.sees(name);
  uuid = await page.browser.run(() => location.hash.split("/").at(-1));
  assert.equal(await statusOf(token), 200);
});

test("a key is added and removed", { skip }, async () => {
  await page.submit("New key", "Keys", {}, "Add");
  const key = (await page.secret("Key id")).split("/").at(-1).slice(0, 8);
  await closeSecrets();
  await page.sees(key, "Keys");
  await page.submit(`Remove the key ${key}`, "Keys", {}, "Remove");
  await page.misses(key, "Keys");
  await page.isAudited("developer", "key_remove", name, key, "ok");
});

test("a token lets a server in until it is revoked", { skip }, async () => {
  await page.go(["apps", uuid]);
  await page.submit("New token", "Server tokens", { Name: "back office" }, "Create");
  const second = await page.secret("Server token");
  await closeSecrets();
  await page.sees("back office", "Server tokens");
  assert.equal(await statusOf(second), 200);
  await page.submit("Revoke the token back office", "Server tokens", {}, "Revoke");
  await page.misses("back office", "Server tokens");
  await until(async () => (await statusOf(second)) === 401, "the token is refused");
});

test("settings are saved, and shown again", { skip }, async () => {
  await page.fill("Lifetime of an unused session", "20");
  await page.sees("A whole number from 30 to");
  await page.fill("Lifetime of an unused session", "3600");
  await page.fill("Who may add participants", "Only the app's server");
  await page.press("Save", "Limits and settings");
  await page.sees("The settings are saved.");
  await page.go(["apps"]);
  await page.go(["apps", uuid]);
  await page.browser.until("the lifetime is shown", () =>
    hands.control("Lifetime of an unused session")?.value === "3600"
    && hands.control("Who may add participants").value === "server");
});

test("an index is added, and is ready", { skip }, async () => {
  await page.submit("New index", "Indexes", { "Key path": "metadata.status" }, "Add");
  await page.sees("Ready", "Indexes");
  await page.submit("Remove the index metadata.status", "Indexes", {}, "Remove");
  await page.sees("There is no index", "Indexes");
});

test("a suspended app refuses its server, until it is resumed", { skip }, async () => {
  await page.submit("Suspend", undefined, { Type: name }, "Suspend the app");
  await page.sees("The app is suspended: nobody can sign in");
  await until(async () => (await statusOf(token)) === 403, "the app is refused");
  await page.submit("Resume", undefined, {}, "Resume");
  await page.sees(`${name} is active again.`);
  await until(async () => (await statusOf(token)) === 200, "the app is let in");
});

test("the audit log has each change, with the operator and the app", { skip }, async () => {
  const actions = ["app_create", "key_add", "token_create", "token_revoke", "server_api", "app_suspend", "app_resume"];
  for (const action of actions) {
    await page.isAudited("developer", action, name, "ok", "127.0.0.1");
  }
});

test("the page reports no error, and asks nobody else", { skip }, () => page.check());
