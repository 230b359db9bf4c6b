// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skip as skipAPI } from "../../../../Clients/JavaScript/test/support/system.js";

/**
 * The system that the tests use: `strata dev` with its console. Besides those of the JavaScript client's tests, the
 * environment has:
 *
 * - `STRATA_HOME`: the home of `strata dev`.
 * - `STRATA_PROGRAM`: the command, default `strata`.
 * - `PSQL`: the terminal of PostgreSQL, default `psql`.
 */
const home = process.env.STRATA_HOME;

export const skip = skipAPI || (home ? false : "STRATA_HOME names no system");

/** What `strata dev` writes about itself. */
export const state = () => JSON.parse(readFileSync(join(home, "state.json"), "utf8"));

/** The address of the console. `STRATA_CONSOLE_URL` names a proxy before it. */
export const consoleURL = skip ? "" : process.env.STRATA_CONSOLE_URL ?? state().consoleURL;

const app = skip ? {} : JSON.parse(readFileSync(process.env.STRATA_APP, "utf8"));

/** The UUID and the name of the app. */
export const appUUID = app.app?.split("/").at(-1);
export const appName = app.name;

/** Runs the command `strata` and returns its output. */
export const strata = (...words) =>
  execFileSync(process.env.STRATA_PROGRAM ?? "strata", words, { encoding: "utf8", env: process.env }).trim();

/** Returns a link that signs an operator in once. */
export const signInLink = (name = "developer") =>
  new URL(new URL(strata("operator", "link", name)).pathname, consoleURL).href;

/** A password of operators that the tests make. */
export const password = "correct horse battery staple";

/** Makes an operator with ``password`` and returns the name, which no other test has. */
export function newOperator(role) {
  const name = `${role}-${randomUUID().slice(0, 8)}`;
  const file = join(home, `${name}.password`);
  writeFileSync(file, password);
  strata("operator", "create", name, "--role", role, "--password-file", file);
  return name;
}

/** Runs a script in the database, as its owner. Returns its output without headings. */
export const sql = (script) =>
  execFileSync(process.env.PSQL ?? "psql", [state().databaseURL, "-qAtX", "-v", "ON_ERROR_STOP=1"],
    { encoding: "utf8", input: script }).trim();

/** Calls the Server API with the app's token. */
export async function server(method, path, body, type = "application/json") {
  const response = await fetch(`${process.env.STRATA_URL}/apps/${appUUID}${path}`, {
    method, body: body === undefined ? undefined : JSON.stringify(body),
    headers: {
      Accept: "application/vnd.layer+json; version=3.0", Authorization: `Bearer ${app.serverToken}`,
      ...(body !== undefined && { "Content-Type": type }),
    },
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** Changes metadata or participants by operations of a patch. */
export const patch = (path, operations) => server("PATCH", path, operations, "application/vnd.layer-patch+json");

export const text = (body) => ({ body, mime_type: "text/plain" });

/** Returns an empty directory. */
export const temporaryDirectory = () => mkdtempSync(join(home, "test-"));
