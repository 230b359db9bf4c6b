// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { applyStep, checkPath, checkValue, mergeSteps, patchOperation, readTree, stepsOf,
  valueAt } from "../metadata.js";

const plain = (value) => JSON.parse(JSON.stringify(value));
const tree = readTree({ title: "T", trip: { city: "Porto", hotel: { name: "Sol" } } });
const invalid = (property) => ({ code: "invalid_property", property });

test("a value is found by its key path, among own keys only", () => {
  assert.equal(valueAt(tree, "trip.hotel.name"), "Sol");
  assert.deepEqual(plain(valueAt(tree, "trip.hotel")), { name: "Sol" });
  for (const path of ["trip.city.name", "none", "__proto__", "constructor", "title.length"]) {
    assert.equal(valueAt(tree, path), undefined, path);
  }
});

for (const [name, step, expected] of [
  ["a set makes missing objects", { path: "a.b.c", value: "1" }, { ...plain(tree), a: { b: { c: "1" } } }],
  ["a set of an object replaces the subtree", { path: "trip", value: { city: "Faro" } }, { title: "T",
    trip: { city: "Faro" } }],
  ["a set of an empty object deletes the subtree", { path: "trip", value: {} }, { title: "T" }],
  ["a set of the root replaces everything", { path: "", value: { a: "1" } }, { a: "1" }],
  ["a deletion of an absent key has no effect", { path: "none.below", value: null }, plain(tree)],
  ["a deletion below a string has no effect", { path: "title.below", value: null }, plain(tree)],
]) {
  test(name, () => {
    assert.deepEqual(plain(applyStep(tree, step)), expected);
    assert.deepEqual(plain(tree), { title: "T", trip: { city: "Porto", hotel: { name: "Sol" } } });
  });
}

test("a merge sets every string by its own path", () => {
  assert.deepEqual(stepsOf(readTree({ a: "1", b: { c: "2", d: { e: "3" } } })), [
    { path: "a", value: "1" }, { path: "b.c", value: "2" }, { path: "b.d.e", value: "3" },
  ]);
});

test("a later step replaces earlier steps at or below its path", () => {
  const steps = [{ path: "a.b", value: "1" }, { path: "a.c", value: "2" }, { path: "ab", value: "3" }];
  assert.deepEqual(mergeSteps(steps, [{ path: "a", value: null }]), [{ path: "ab", value: "3" }, { path: "a",
    value: null }]);
});

test("a step becomes an operation of a patch", () => {
  assert.deepEqual(patchOperation({ path: "a.b", value: "1" }), { operation: "set", property: "metadata.a.b",
    value: "1" });
  assert.deepEqual(patchOperation({ path: "a", value: null }), { operation: "delete", property: "metadata.a" });
  assert.deepEqual(patchOperation({ path: "", value: null }), { operation: "set", property: "metadata", value: {} });
});

test("invalid keys and values are refused with their property", () => {
  for (const path of ["", "a b", "a..b", "é", "__proto__", "a.constructor", Array(33).fill("a").join(".")]) {
    assert.throws(() => checkPath(path), invalid(`metadata.${path}`));
  }
  assert.throws(() => checkValue(5, "a"), invalid("metadata.a"));
  assert.throws(() => checkValue({ b: ["1"] }, "a"), invalid("metadata.a.b"));
  assert.throws(() => checkValue("é".repeat(1025), "a"), invalid("metadata.a"));
  assert.equal(checkValue("é".repeat(1024), "a").length, 1024);
});

test("a tree that is nested too deep is malformed", () => {
  let json = "x";
  for (let depth = 0; depth < 50_000; depth += 1) json = { a: json };
  assert.throws(() => readTree(json), { code: "malformed" });
});
