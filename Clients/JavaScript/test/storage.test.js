// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { FileStorage } from "./support/file-storage.js";

const folder = mkdtempSync(join(tmpdir(), "strata-js-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const operation = (name, text) => ({ name, user: "me", change: { kind: "send", text } });

/** A storage that fails at the n-th of its system calls, as if the process was killed there. */
function failingStorage(place, last) {
  let left = last;
  return new FileStorage(join(folder, place), () => {
    left -= 1;
    if (left < 0) throw new Error("killed");
  });
}

test("the storage of the fault tests holds a change whole or not at all, wherever a write ends", async () => {
  const seen = new Set();
  for (let last = 0; last < 10; last += 1) {
    const place = `put ${last}`;
    await new FileStorage(join(folder, place)).put(operation("a", "old"));
    await failingStorage(place, last).put(operation("a", "new")).catch(() => {});
    const [stored, ...others] = await new FileStorage(join(folder, place)).load("me");
    assert.deepEqual(others, []);
    assert.ok(["old", "new"].includes(stored.change.text));
    seen.add(stored.change.text);
  }
  assert.equal(seen.size, 2);
});

test("the storage of the fault tests is idle when all writes are done, and counts those that failed", async () => {
  const storage = failingStorage("idle", 7);
  const writes = [operation("a"), operation("b"), operation("c")].reduce(
    (before, one) => before.then(() => storage.put(one)).catch(() => {}), Promise.resolve());
  await storage.idle();
  assert.deepEqual([storage.size, storage.failures], [1, 2]);
  await writes;
  assert.deepEqual((await new FileStorage(join(folder, "idle")).load("you")), []);
});
