// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The time within which a condition must hold, in milliseconds. The statuses of an earlier page last for 25 s, and
 * users stay online that long.
 */
const limit = 40_000;

/** A headless Chromium with one page, controlled through a pipe. `CHROMIUM` names another program than `chromium`. */
export class Browser {
  #process;
  #directory = mkdtempSync(join(tmpdir(), "strata-browser-"));
  #calls = new Map();
  #count = 0;
  #session = "";
  #rest = "";
  /** Uncaught errors, and messages of the console that report errors. */
  problems = [];
  /** The origins of all requests. */
  origins = new Set();

  constructor() {
    const options = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
      "--remote-debugging-pipe", `--user-data-dir=${this.#directory}`,
    ];
    this.#process = spawn(process.env.CHROMIUM ?? "chromium", options, {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.#process.stdio[4].setEncoding("utf8").on("data", (text) => this.#received(text));
  }

  #received(text) {
    const packets = (this.#rest + text).split("\0");
    this.#rest = packets.pop();
    for (const { id, method, params, result, error } of packets.map((packet) => JSON.parse(packet))) {
      if (id === undefined) {
        this.#note(method, params);
        continue;
      }
      const { resolve, reject } = this.#calls.get(id);
      this.#calls.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    }
  }

  #note(method, params) {
    if (method === "Runtime.exceptionThrown") this.problems.push(params.exceptionDetails.exception?.description);
    if (method === "Runtime.consoleAPICalled" && params.type === "error") {
      this.problems.push(params.args.map((one) => one.value ?? one.description).join(" "));
    }
    if (method === "Log.entryAdded" && params.entry.level === "error") {
      this.problems.push(`${params.entry.text} ${params.entry.url ?? ""}`.trim());
    }
    if (method === "Network.requestWillBeSent" && /^(http|ws)/.test(params.request.url)) {
      this.origins.add(new URL(params.request.url).origin);
    }
  }

  call(method, params = {}) {
    const id = ++this.#count;
    const sessionId = this.#session || undefined;
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
  }

  /**
   * Opens the page at an address.
   * @param {string} address
   * @param {string} [script] runs in every document before its own scripts
   */
  async open(address, script) {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    this.#session = sessionId;
    for (const domain of ["Runtime", "Log", "Page", "Network"]) await this.call(`${domain}.enable`);
    if (script) await this.call("Page.addScriptToEvaluateOnNewDocument", { source: script });
    await this.call("Page.navigate", { url: address });
  }

  /** Sets the size of the page, in CSS pixels. */
  resize(width, height, deviceScaleFactor = 1) {
    const size = { width, height, deviceScaleFactor, mobile: false };
    return this.call("Emulation.setDeviceMetricsOverride", size);
  }

  /** Sets the colours that the user prefers, and that the user prefers no motion. */
  colors(scheme) {
    const features = [["prefers-color-scheme", scheme], ["prefers-reduced-motion", "reduce"]];
    return this.call("Emulation.setEmulatedMedia", { features: features.map(([name, value]) => ({ name, value })) });
  }

  /** Runs a function in the page and returns its result. */
  async run(work, ...values) {
    const expression = `(${work})(...${JSON.stringify(values)})`;
    const options = { expression, returnByValue: true, awaitPromise: true, userGesture: true };
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", options);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until a function returns a true value in the page. */
  async until(what, condition, ...values) {
    const end = Date.now() + limit;
    for (;;) {
      const value = await this.run(condition, ...values);
      if (value) return value;
      assert.ok(Date.now() < end, `timeout: ${what}; the page shows: ${await this.run(() => document.body.innerText)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /**
   * Returns a picture of the page, from its top.
   * @param {{width: number, height: number, scale?: number, scheme?: "light" | "dark", quality?: number}} options
   *   `quality`: of WebP, 1 to 100
   */
  async picture({ width, height, scale = 1, scheme = "light", quality = 85 }) {
    await this.colors(scheme);
    await this.resize(width, height, scale);
    await this.run(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const { data } = await this.call("Page.captureScreenshot", { format: "webp", quality });
    return Buffer.from(data, "base64");
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#session = "";
    await this.call("Browser.close");
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
