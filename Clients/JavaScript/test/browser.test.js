// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { appId, disconnectAll, identityToken, liveClient, newUser, skip, until, url } from "./support/system.js";

const isInstalled = spawnSync("chromium", ["--version"]).status === 0;
const skipPage = skip || (isInstalled ? false : "there is no chromium");
const folder = new URL("../", import.meta.url);
const profile = mkdtempSync(join(tmpdir(), "strata-js-"));
after(() => rmSync(profile, { recursive: true, force: true }));

/** A server of pages beside the client's modules, and of identity tokens. Pages post their results to it. */
async function servePages(user) {
  const [pages, results] = [{}, []];
  const report = `<script>for (const type of ["error", "unhandledrejection"]) addEventListener(type, (event) =>
    fetch("/result", { method: "POST", body: "failed: " + (event.message ?? event.reason) }));</script>`;
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const body = Buffer.concat(chunks).toString();
    const path = request.url.split("?")[0];
    const answer = (type, text) => response.writeHead(200, { "Content-Type": type }).end(text);
    if (path === "/result") return answer("text/plain", String(results.push(body)));
    if (path === "/token") {
      const token = { identity_token: identityToken(user, JSON.parse(body).nonce) };
      return answer("application/json", JSON.stringify(token));
    }
    if (path in pages) return answer("text/html", `<!doctype html><meta charset="utf-8">${report}${pages[path]}`);
    if (!/^\/client\/[a-z.]+\.js$/.test(path)) return response.writeHead(404).end();
    answer("text/javascript", readFileSync(new URL(path.slice("/client/".length), folder)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { pages, results, origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Runs a function while a browser shows a page. */
async function browse(address, run) {
  const options = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`, address];
  const browser = spawn("chromium", options, { stdio: "ignore", detached: true });
  const ended = new Promise((resolve) => browser.once("exit", resolve));
  try {
    return await run();
  } finally {
    process.kill(-browser.pid, "SIGTERM");
    await ended;
  }
}

const setUp = (other) => `
  import { StrataClient } from "/client/strata.js";
  import { IndexedDBStorage } from "/client/indexeddb.js";
  const identityToken = async (nonce) =>
    (await (await fetch("/token", { method: "POST", body: JSON.stringify({ nonce }) })).json()).identity_token;
  const post = (body) => fetch("/result", { method: "POST", body });
  const options = { url: "${url}", appId: "${appId}", identityToken, storage: new IndexedDBStorage() };
  const other = "${other}";`;

test("changes stored in IndexedDB are sent by the next page, once and in order", { skip: skipPage }, async () => {
  const bob = newUser("bob");
  const site = await servePages(newUser("alice"));
  site.pages["/first.html"] = `<script type="module">${setUp(bob)}
    const offline = (url, init) => init.method === "POST" && /conversations|messages$/.test(url)
      ? Promise.reject(new TypeError("offline")) : fetch(url, init);
    const client = new StrataClient({ ...options, fetch: offline });
    await client.connect();
    const chat = client.createConversation({ participants: [other] });
    for (const text of ["one", "two", "three"]) chat.send(text);
    setTimeout(() => post("stored " + client.pendingChanges), 1000);
  </script>`;
  site.pages["/second.html"] = `<script type="module">${setUp(bob)}
    const client = new StrataClient(options);
    await client.connect();
    const timer = setInterval(() => {
      if (client.pendingChanges > 0 || client.conversations().items[0]?.totalCount !== 3) return;
      clearInterval(timer);
      post(client.conversations().items[0].messages().items.map(({ text }) => text).join());
    }, 50);
  </script>`;
  for (const page of ["first", "second"]) {
    const count = site.results.length;
    await browse(`${site.origin}/${page}.html`, () => until(() => site.results.length > count, page, 40_000));
  }
  assert.deepEqual(site.results, ["stored 4", "one,two,three"]);
  const client = await liveClient(bob);
  assert.deepEqual(client.conversations().items[0].messages().items.map(({ text }) => text), ["one", "two", "three"]);
  site.close();
  disconnectAll();
});
