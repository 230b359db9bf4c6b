// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Browser } from "../../../../Clients/JavaScript/test/support/browser.js";
import { hands } from "./hands.js";
import { appUUID, consoleURL, signInLink } from "./system.js";

/** The console in a browser, as an operator uses it. */
export class Console {
  browser = new Browser();
  /** The statuses of refusals that a test provokes. Others are problems. */
  refusals = new Set();

  /** Opens a page of the console: that of a sign-in link by default. */
  static async open(address = signInLink()) {
    const made = new Console();
    await made.browser.open("about:blank", hands);
    await made.browser.resize(1280, 900);
    await made.visit(address);
    return made;
  }

  /** Loads a page, and waits until it shows a screen or the sign-in. */
  async visit(address) {
    await this.browser.call("Page.navigate", { url: address });
    await this.browser.until("the page is there", () => location.pathname === "/console/"
      && document.querySelector("main h1"));
  }

  /** Opens a screen by its parts, after those of the app. */
  show = (...parts) => this.go(["apps", appUUID, ...parts]);

  /** Opens a screen by all parts of its address, and waits until its data is there. */
  async go(parts) {
    const hash = `#/${parts.map(encodeURIComponent).join("/")}`;
    // Each path has a heading of its own.
    await this.browser.run((address) => {
      const [path] = (location.hash || "#/overview").split("?");
      if (path !== address) document.querySelector("main h1").dataset.isLeft = true;
      location.hash = address;
    }, hash);
    await this.browser.until(`${hash} is there`, () => {
      const heading = document.querySelector("main h1");
      return heading && !heading.dataset.isLeft && !document.querySelector("main [aria-busy]");
    });
  }

  press = (name, area) =>
    this.browser.until(`“${name}” can be pressed`, (...values) => hands.press(...values), name, area);

  fill = (label, value, area) =>
    this.browser.until(`“${label}” can be filled`, (...values) => hands.fill(...values), label, value, area);

  /** Waits until an area shows a text. */
  sees = (wanted, area) => this.browser.until(`“${wanted}” is shown`,
    (one, place) => hands.text(place).includes(one), wanted, area);

  /** Waits until an area does not show a text. */
  misses = (wanted, area) => this.browser.until(`“${wanted}” is gone`,
    (one, place) => !hands.text(place).includes(one), wanted, area);

  /** Opens a dialog, fills its form in and sends it. */
  async submit(opener, area, fields, button) {
    await this.press(opener, area);
    await this.browser.until(`“${opener}” opens a dialog`, () => document.querySelector("dialog[open]"));
    for (const [label, value] of Object.entries(fields)) await this.fill(label, value);
    await this.press(button);
  }

  /** Reads a value that is shown once. */
  secret = (name) => this.browser.until(`the value “${name}”`, (one) => hands.secret(one), name);

  /** Waits until the audit log has an entry with all the texts. */
  async isAudited(...texts) {
    await this.go(["audit"]);
    await this.browser.until(`${texts.join(", ")} in the audit log`, (wanted) => {
      const rows = [...document.querySelectorAll("tbody tr")].map((row) => row.innerText);
      return rows.some((row) => wanted.every((one) => row.includes(one)));
    }, texts);
  }

  /**
   * Fails for exceptions, refused loads, requests to elsewhere, and refusals that no test has provoked.
   * @param {{origin?: string, allowed?: RegExp}} [options] `allowed`: problems that the test has provoked
   */
  check({ origin = new URL(consoleURL).origin, allowed = /^$/ } = {}) {
    const isProvoked = (problem) =>
      allowed.test(problem) || this.refusals.has(Number(/status of (\d+)/.exec(problem)?.[1]));
    assert.deepEqual(this.browser.problems.filter((problem) => !isProvoked(problem)), []);
    assert.deepEqual([...this.browser.origins], [origin]);
  }

  close = () => this.browser.close();
}
