// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { areaPath, linear, linePath, nearest, timeTicks, valueTicks } from "../Web/scale.js";

test("ticks of values are round, from zero to at least the maximum", () => {
  assert.deepEqual(valueTicks(0), [0, 1]);
  assert.deepEqual(valueTicks(1), [0, 0.5, 1]);
  assert.deepEqual(valueTicks(4), [0, 1, 2, 3, 4]);
  assert.deepEqual(valueTicks(0.07), [0, 0.02, 0.04, 0.06, 0.08]);
  assert.deepEqual(valueTicks(13_021), [0, 5000, 10_000, 15_000]);
  for (let maximum = 1e-4; maximum < 1e9; maximum *= 1.37) {
    const ticks = valueTicks(maximum);
    assert.ok(ticks.at(-1) >= maximum * (1 - 1e-9), `of ${maximum}: ${ticks}`);
    assert.ok(ticks.length >= 3 && ticks.length <= 5, `of ${maximum}: ${ticks}`);
  }
});

test("ticks of time are round and within the range", () => {
  const from = Date.parse("2026-03-01T12:00:07Z");
  const minutes = timeTicks(from, from + 900_000).map((at) => new Date(at).toISOString().slice(11, 19));
  assert.deepEqual(minutes, ["12:05:00", "12:10:00", "12:15:00"]);
  assert.deepEqual(timeTicks(from, from + 2000), []);
  assert.ok(timeTicks(from, from + 40 * 86_400_000).length > 5, "beyond the largest step");
});

test("a range maps linearly, an empty one to the start", () => {
  assert.equal(linear([0, 10], [100, 0])(5), 50);
  assert.equal(linear([3, 3], [20, 80])(3), 20);
});

test("a line has gaps, and points alone are dots", () => {
  assert.equal(linePath([[0, 1], [1, 2.26], [2, null], [3, 4], [4, null], [5, 6], [6, 7]]), "M0 1L1 2.3M3 4h0M5 6L6 7");
  assert.equal(linePath([[0, null]]), "");
});

test("an area has no part in a gap", () => {
  const points = [[0, 1], [1, 2], [2, null], [3, 4], [4, null], [5, 6], [6, 7]];
  assert.equal(areaPath(points, 9), "M0 1L1 2L1 9L0 9ZM5 6L6 7L6 9L5 9Z");
});

test("the nearest point is found", () => {
  const sorted = [0, 10, 20, 21];
  for (const [value, index] of [[-5, 0], [4, 0], [5, 0], [6, 1], [20.4, 2], [20.6, 3], [99, 3]]) {
    assert.equal(nearest(sorted, value), index, `of ${value}`);
  }
  assert.equal(nearest([7], 3), 0);
});
