// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Console } from "./console.js";
import { appName, newOperator, password, server, signInLink, skip, text } from "./system.js";

/** The requests that the receiver of the webhook got. */
const received = [];
/** The status with which the receiver answers events. */
let status = 200;
const receiver = createServer(async (request, response) => {
  const challenge = new URL(request.url, "http://localhost").searchParams.get("verification_challenge");
  if (challenge) return response.writeHead(200).end(challenge);
  const body = Buffer.concat(await request.toArray());
  received.push({ body, headers: request.headers });
  response.writeHead(status).end();
});
let page;
let conversation;
let secret;

before(async () => {
  if (skip) return;
  await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const made = await server("POST", "/conversations", { participants: ["hooked"], distinct: false, metadata: {} });
  conversation = made.id.split("/").at(-1);
  page = await Console.open();
  await page.show("webhooks");
});

after(async () => {
  await page?.close();
  receiver.closeAllConnections();
  receiver.close();
});

const address = () => `http://127.0.0.1:${receiver.address().port}/strata`;

async function send(body) {
  await server("PUT", "/users/hooked/identity", { display_name: "Hooked" });
  await server("POST", `/conversations/${conversation}/messages`, {
    sender_id: "layer:///identities/hooked", parts: [text(body)] });
}

test("a webhook that an operator registers becomes active", { skip }, async () => {
  await page.press("Register");
  await page.fill("Target URL", address());
  await page.fill("Message.created", true);
  secret = await page.browser.run(() => hands.control("Secret").value);
  await page.press("Register");
  await page.sees("active", "Webhook");
  await page.sees("Message.created", "Webhook");
});

test("a test is signed, and its answer is shown", { skip }, async () => {
  await page.press("Send a test");
  await page.sees("200", ".test-result");
  const { body, headers } = received.at(-1);
  assert.equal(JSON.parse(body).event.type, "Test");
  assert.equal(headers["layer-webhook-signature"], createHmac("sha1", secret).update(body).digest("hex"));
  status = 500;
  await page.press("Send a test");
  await page.sees("500", ".test-result");
});

test("a delivery that failed is listed with its attempts, and sent again", { skip }, async () => {
  await send("An event that fails at first");
  await page.sees("Message.created", "Deliveries");
  await page.sees("500", "Deliveries");
  await page.sees("unexpected response status: 500", "Deliveries");
  status = 200;
  await page.press("Send again", "Deliveries");
  await page.sees("Message.created is sent again, with the same id");
  await page.browser.until("it is delivered", () =>
    document.querySelector("[aria-label=Deliveries] tbody tr .badge.good")?.textContent === "200");
  await page.press("Message.created", "Deliveries");
  await page.sees("The object now");
  await page.sees("An event that fails at first");
  await page.press("Close");
});

test("a paused webhook gets nothing, until it is activated", { skip }, async () => {
  await page.submit("Pause", "Webhook", {}, "Pause");
  await page.sees("The webhook is paused");
  await page.sees("inactive", "Webhook");
  await page.submit("Activate", "Webhook", {}, "Activate");
  await page.browser.until("it is active again", () =>
    document.querySelector("[aria-label=Webhook] .badge.good")?.textContent === "active");
  const count = received.length;
  await send("An event after the pause");
  await page.browser.until("it is delivered, too", () =>
    document.querySelectorAll("[aria-label=Deliveries] tbody tr").length > 1);
  assert.ok(received.length > count);
});

test("a viewer sees deliveries, and no button that changes a webhook", { skip }, async () => {
  const name = newOperator("viewer");
  await page.press("Sign out");
  await page.fill("Name", name);
  await page.fill("Password", password);
  await page.press("Sign in");
  await page.sees("Message.created", "Deliveries");
  const offers = await page.browser.run(() => hands.offers());
  const changes = ["Register", "Send a test", "Pause", "Activate", "Delete", "Send again"];
  assert.deepEqual(offers.filter((offer) => changes.includes(offer)), []);
  await page.press("Sign out");
});

test("a webhook is deleted, and the audit log has every change", { skip }, async () => {
  const webhook = await page.browser.run(() => /webhook=([^&]+)/.exec(location.hash)[1]);
  page.refusals.add(401);
  await page.visit(signInLink());
  await page.show("webhooks");
  await page.press(address());
  await page.submit("Delete", "Webhook", {}, "Delete");
  await page.sees("The webhook was deleted");
  await page.isAudited("developer", "webhook_test", appName, webhook, "ok");
  await page.isAudited("developer", "server_api", appName, `/webhooks/${webhook}/deactivate`, "ok");
});

test("the page reports no error, and asks nobody else", { skip }, () => page.check());
