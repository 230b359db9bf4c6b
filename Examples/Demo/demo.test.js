// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser } from "../../Clients/JavaScript/test/support/browser.js";

/**
 * A smoke test of the demo page in headless Chromium, against a running system:
 *
 *     node Examples/Demo/demo.test.js 'http://localhost:8080/demo/#app=…&alice=…&bob=…'
 *
 * The test can be repeated with the same address.
 */
const url = process.argv[2] ?? process.env.DEMO_URL;

// Functions that run in the page.

const isLive = (user) => document.querySelector(`#${user}`)?.dataset.state === "live";

function send(user, text) {
  const pane = document.querySelector(`#${user}`);
  const input = pane.querySelector("[data-part=text]");
  input.focus();
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  pane.querySelector("[data-part=composer]").requestSubmit();
}

/** Returns the statuses of the messages with a text. */
function statuses(user, text) {
  const messages = [...document.querySelectorAll(`#${user} .message`)];
  return messages.filter((one) => one.querySelector(".bubble").lastChild.data === text).map((one) => one.dataset.status);
}

const hasStatus = (user, text, status) => {
  const all = [...document.querySelectorAll(`#${user} .message`)];
  const found = all.filter((one) => one.querySelector(".bubble").lastChild.data === text);
  return found.length === 1 && found[0].dataset.status === status;
};

const setOnline = (user, isOnline) => {
  const input = document.querySelector(`#${user} [data-part=online]`);
  if (input.checked !== isOnline) input.click();
};

const browser = url ? new Browser() : null;
const run = Date.now().toString(36);
const options = { skip: browser ? false : "the address of a running page is missing" };

before(async () => {
  await browser?.open(url);
});

after(async () => {
  await browser?.close();
});

test("Both panes are live and show the first conversation", options, async () => {
  for (const user of ["alice", "bob"]) {
    await browser.until(`${user} is live`, isLive, user);
    await browser.until(`${user} has messages`, (id) => document.querySelectorAll(`#${id} .message`).length >= 4, user);
  }
});

test("A message of Alice is delivered to Bob, and read when Bob looks", options, async () => {
  const text = `Hello ${run}`;
  await browser.run(send, "alice", text);
  await browser.until("Bob has the message", hasStatus, "bob", text, "received");
  await browser.until("Alice sees the delivery", hasStatus, "alice", text, "delivered");
  await browser.until("Bob has an unread message", () => !document.querySelector("#bob .badge").hidden);
  await browser.run(() => document.querySelector("#bob [data-part=text]").focus());
  await browser.until("Alice sees that it is read", hasStatus, "alice", text, "read");
  await browser.until("Bob has no unread message", () => document.querySelector("#bob .badge").hidden);
});

test("HTML in a message is shown as text", options, async () => {
  const text = `<img src=x onerror=alert(1)> ${run}`;
  await browser.run(send, "bob", text);
  await browser.until("Alice has the message", hasStatus, "alice", text, "received");
  assert.equal(await browser.run(() => document.querySelectorAll("main img").length), 0);
});

test("Alice sees that Bob types", options, async () => {
  await browser.run(() => {
    const input = document.querySelector("#bob [data-part=text]");
    input.value = "A draft";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await browser.until("Alice sees it", () => /is typing/.test(document.querySelector("#alice .typing").textContent));
  await browser.run(() => {
    const input = document.querySelector("#bob [data-part=text]");
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await browser.until("it ends", () => document.querySelector("#alice .typing").textContent === "");
});

test("The colour that Bob sets is Alice's, and her pane says so", options, async () => {
  const theme = await browser.run(() => {
    const other = [...document.querySelectorAll("#bob .themes input")].find((input) => !input.checked);
    other.click();
    return other.value;
  });
  await browser.until("Alice has it", (value) => document.querySelector("#alice").dataset.theme === value, theme);
  assert.match(await browser.run(() => document.querySelector("#alice [data-part=notice]").textContent), /Bob/);
});

test("Two titles set at once end as one, and the loser's pane says so", options, async () => {
  await browser.run((name) => {
    for (const user of ["alice", "bob"]) {
      const input = document.querySelector(`#${user} [data-part=title]`);
      input.value = `${name} by ${user}`;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }, run);
  await browser.until("both have the same title", () => {
    const [one, other] = [...document.querySelectorAll("[data-part=title]")].map((input) => input.value);
    const notices = [...document.querySelectorAll("[data-part=notice]")].map((notice) => notice.textContent);
    return one === other && notices.filter((notice) => /last writer wins: /.test(notice)).length === 1;
  });
});

test("Messages of an offline Alice arrive once after she is online again", options, async () => {
  await browser.run(setOnline, "alice", false);
  await browser.until("Alice is offline", () => document.querySelector("#alice").dataset.state === "closed");
  await browser.until("Bob sees it", () => /offline/.test(document.querySelector("#bob .presence").textContent));
  const texts = [1, 2, 3].map((number) => `Offline ${number} ${run}`);
  for (const text of texts) await browser.run(send, "alice", text);
  await browser.run(send, "bob", `Meanwhile ${run}`);
  await browser.until("Bob's message is sent", hasStatus, "bob", `Meanwhile ${run}`, "sent");
  for (const text of texts) {
    assert.deepEqual(await browser.run(statuses, "alice", text), ["waiting"]);
    assert.deepEqual(await browser.run(statuses, "bob", text), []);
  }
  const waiting = await browser.run(() => document.querySelectorAll("#alice .change[data-status=waiting]").length);
  assert.ok(waiting >= texts.length, `the queue shows ${waiting} waiting changes`);
  await browser.run(setOnline, "alice", true);
  for (const text of texts) await browser.until(`Bob has ${text}`, hasStatus, "bob", text, "received");
  await browser.until("Alice has Bob's message", hasStatus, "alice", `Meanwhile ${run}`, "received");
  for (const text of texts) {
    // Bob's pane was used last, so that he reads them.
    await browser.until("Alice sees the receipt", hasStatus, "alice", text, "read");
    assert.deepEqual(await browser.run(statuses, "bob", text), ["received"]);
  }
  assert.equal(await browser.run(() => document.querySelector("#alice [data-part=queueCount]").textContent), "0");
});

test("A reload shows each message once, and makes no second exchange", options, async () => {
  const count = await browser.run(() => document.querySelectorAll("#alice .conversation").length);
  await browser.call("Page.reload");
  await browser.until("both are live", () =>
    ["alice", "bob"].every((user) => document.querySelector(`#${user}`)?.dataset.state === "live"));
  await browser.until("the messages are there", hasStatus, "bob", `Offline 3 ${run}`, "received");
  assert.deepEqual(await browser.run(statuses, "bob", `Offline 1 ${run}`), ["received"]);
  assert.equal(await browser.run(() => document.querySelectorAll("#alice .conversation").length), count);
});

test("A message that waits during a reload is sent once", options, async () => {
  const text = `Reloaded ${run}`;
  await browser.run(setOnline, "bob", false);
  await browser.until("Bob is offline", () => document.querySelector("#bob").dataset.state === "closed");
  await browser.run(send, "bob", text);
  await browser.until("it waits", hasStatus, "bob", text, "waiting");
  await browser.run(() => new Promise((resolve) => setTimeout(resolve, 200)));
  await browser.call("Page.reload");
  await browser.until("Alice has it", hasStatus, "alice", text, "received");
  await browser.until("Bob sees the delivery", hasStatus, "bob", text, "delivered");
});

test("The page reports no error", options, () => {
  assert.deepEqual(browser.problems, []);
});
