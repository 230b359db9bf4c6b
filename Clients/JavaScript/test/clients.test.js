// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

test("the tests that docs/clients.md names exist", () => {
  const guide = new URL("../../../docs/clients.md", import.meta.url);
  const [, table] = /## Rules of both libraries\n([\s\S]*?)\n## /.exec(readFileSync(guide, "utf8"));
  const links = [...table.matchAll(/\[([^\]]*)\]\(([^)]*)\)/g)];
  assert.ok(links.length > 80, `${links.length} links`);
  for (const [, name, path] of links) {
    assert.ok(readFileSync(new URL(path, guide), "utf8").includes(`"${name}"`), `${path}: ${name}`);
  }
});
