// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser } from "./support/browser.js";

/**
 * The tests run the commands and files of docs/javascript.md as printed: an app, a server, and pages in Chromium. They
 * need `strata` in `PATH`. The environment names a running system:
 *
 * - `STRATA_URL`: the gateway, such as `http://127.0.0.1:8080`.
 * - `STRATA_HOME` or `STRATA_DATABASE_URL`: where `strata` finds its database.
 * - `RECIPES`: the pages, with spaces between them. Default: all.
 */
const url = process.env.STRATA_URL;
const guide = readFileSync(new URL("../../../docs/javascript.md", import.meta.url), "utf8");
const blocks = [...guide.matchAll(/`([\w-]+\.\w+)`[^`]*:\n\n```(?:html|js)\n([^]*?)```\n/g)];
const files = new Map(blocks.map(([, name, text]) => [name, text]));
const start = guide.split("\n## Start\n")[1].split("\n## ")[0];
const commands = [...start.matchAll(/```bash\n([^]*?)```/g)].map(([, text]) => text);

/** The folder of React and Vue, which scripts/venv.sh writes. */
const venv = process.env.STRATA_VENV ?? fileURLToPath(new URL("../../../.build/venv", import.meta.url));
const frameworks = {
  "react.html": ["react.production.min.js", "react-dom.production.min.js"],
  "vue.html": ["vue.esm-browser.prod.js"],
};
const frameworkOf = (page) => (frameworks[page] ?? []).map((name) => [name, join(venv, "frameworks", name)]);

const hasPrograms = ["chromium", "strata"].every((name) => spawnSync(name, ["--version"]).status === 0);

/** Returns why a page is not tried; false if it is. */
function skip(page) {
  if (!url || !hasPrograms) return "STRATA_URL, chromium or strata is missing";
  if (!(process.env.RECIPES ?? page).split(" ").includes(page)) return "RECIPES does not name it";
  return !frameworkOf(page).every(([, path]) => existsSync(path)) && "scripts/venv.sh has not installed React and Vue";
}

const ends = [];
after(async () => {
  for (const end of ends.reverse()) await end();
});

/** Runs the guide's commands in a new folder, with its files and those of a framework. Returns the site's address. */
async function startSite(page) {
  const root = mkdtempSync(join(tmpdir(), "strata-recipe-"));
  ends.push(() => rmSync(root, { recursive: true, force: true }));
  const env = { ...process.env, API: url, PORT: "0" };
  const [create, serve] = commands;
  execFileSync("bash", ["-euo", "pipefail", "-c", create], { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
  const folder = join(root, "chat");
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
  for (const [name, path] of frameworkOf(page)) copyFileSync(path, join(folder, name));
  const server = spawn("bash", ["-c", `exec ${serve}`], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  ends.push(() => server.kill());
  const [line] = await server.stdout.take(1).toArray();
  assert.ok(line, "server.mjs ended");
  return String(line).trim();
}

/** A browser with one page. */
async function show(address) {
  const browser = new Browser();
  ends.push(() => browser.close());
  await browser.open(address);
  return browser;
}

/** Types text into a field, as keys of a person do. */
async function type(browser, name, text) {
  await browser.until(`there is a field ${name}`, (field) => {
    const input = document.querySelector(`input[name=${field}]`);
    if (!input?.offsetParent) return false;
    input.focus();
    input.select();
    return true;
  }, name);
  await browser.call("Input.insertText", { text });
}

const submit = (browser, name) =>
  browser.run((field) => document.querySelector(`input[name=${field}]`).form.requestSubmit(), name);

async function fill(browser, values) {
  for (const [name, text] of Object.entries(values)) await type(browser, name, text);
  await submit(browser, Object.keys(values)[0]);
}

const shows = (browser, text) =>
  browser.until(`the page shows ${text}`, (part) => document.body.innerText.includes(part), text);
const showsNot = (browser, text) =>
  browser.until(`the page shows no ${text}`, (part) => !document.body.innerText.includes(part), text);
const press = (browser, text) => browser.run((part) => {
  [...document.querySelectorAll("button")].find((one) => one.innerText.trim() === part).click();
}, text);

/** Returns the problems of a page, except a refused password and the icon that Chromium asks for. */
const problemsOf = ({ problems }) => problems.filter((text) => !/\/(login|favicon\.ico)$/.test(text));

test("the guide has the files and commands of the recipes", () => {
  const names = ["server.mjs", "chat.js", "hello.html", "index.html", "react.html", "vue.html"];
  assert.deepEqual([...files.keys()], names);
  assert.equal(commands.length, 2);
});

test("the first page of the guide sends a message and shows it", { skip: skip("hello.html") }, async () => {
  const browser = await show(`${await startSite("hello.html")}hello.html`);
  await browser.until("the message is shown", () =>
    document.querySelector("#log").textContent === "Train leaves at 8");
  assert.deepEqual(problemsOf(browser), []);
});

for (const page of ["index.html", "react.html", "vue.html"]) {
  test(`two users chat on ${page} as printed`, { skip: skip(page) }, async () => {
    const site = await startSite(page);
    const [alice, bob] = [await show(site + page), await show(site + page)];
    await fill(alice, { user: "alice", password: "wrong" });
    await shows(alice, "Wrong password");
    await fill(alice, { user: "alice", password: "secret-of-alice" });
    await fill(alice, { to: "bob" });
    await fill(alice, { text: "Train leaves at 8" });
    await shows(alice, "alice: Train leaves at 8");

    await fill(bob, { user: "bob", password: "secret-of-bob" });
    await shows(bob, "alice (1)");
    await press(bob, "alice (1)");
    await shows(bob, "alice: Train leaves at 8");
    await showsNot(bob, "(1)");

    await type(bob, "text", "On my way");
    await shows(alice, "bob …");
    await submit(bob, "text");
    await shows(alice, "bob: On my way");
    await showsNot(alice, "…");
    await showsNot(alice, "(1)");
    await fill(alice, { text: "See you" });
    await shows(bob, "alice: See you");
    await showsNot(bob, "…");
    assert.deepEqual([...problemsOf(alice), ...problemsOf(bob)], []);
  });
}
