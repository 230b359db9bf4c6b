// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Leaves, objectPaths, pathComplaint, treeRows, valueComplaint } from "../Web/model/leaves.js";

const leaf = (path, value = "v", position = 1) => ({ path, value, position, actor: "ana",
  at: "2018-05-04T09:31:10.480Z" });
const change = (position, ...operations) =>
  ({ position, actor: "ben", at: "2018-05-04T09:32:00.000Z",
    operations: operations.map(([path, value]) => ({ path, value })) });
const values = (leaves) => leaves.all.map(({ path, value }) => `${path}=${value}`);
const tree = (...items) => new Leaves().add({ items, next: null });

test("pages make a tree in the order of paths", () => {
  const leaves = new Leaves();
  assert.equal(leaves.isComplete, false);
  leaves.add({ items: [leaf("a.b"), leaf("a.c")], next: "a.c" });
  assert.equal(leaves.isComplete, false);
  leaves.add({ items: [leaf("b")], next: null });
  assert.equal(leaves.isComplete, true);
  assert.deepEqual(values(leaves), ["a.b=v", "a.c=v", "b=v"]);
});

test("a change sets a value with its author and takes the place of what is above and below", () => {
  const leaves = tree(leaf("trip.city", "Porto"), leaf("trip.hotel.name", "Sol"), leaf("title", "T"));
  leaves.apply(change(5, ["trip.hotel", "none"], ["title.long", "L"]));
  assert.deepEqual(values(leaves), ["title.long=L", "trip.city=Porto", "trip.hotel=none"]);
  assert.deepEqual(leaves.at("trip.hotel"), { path: "trip.hotel", value: "none", position: 5, actor: "ben",
    at: "2018-05-04T09:32:00.000Z" });
});

test("a deletion takes everything below its path, and nothing that only begins with its name", () => {
  const leaves = tree(leaf("trip.city"), leaf("trip.hotel.name"), leaf("trip-2"));
  leaves.apply(change(2, ["trip", null]));
  assert.deepEqual(values(leaves), ["trip-2=v"]);
});

test("a change that comes again, or late, changes nothing that is newer", () => {
  const leaves = tree(leaf("a", "old", 1));
  leaves.apply(change(3, ["a", "three"])).apply(change(2, ["a", "two"])).apply(change(2, ["a", null]));
  assert.deepEqual(values(leaves), ["a=three"]);
  leaves.add({ items: [leaf("a", "old", 1)], next: null });
  assert.deepEqual(values(leaves), ["a=three"]);
});

test("a page that was read before a deletion does not bring the value back", () => {
  const leaves = new Leaves().add({ items: [leaf("a")], next: "a" });
  leaves.apply(change(9, ["b.c", null]));
  leaves.add({ items: [leaf("b.c", "stale", 4), leaf("c")], next: null });
  assert.deepEqual(values(leaves), ["a=v", "c=v"]);
});

test("a value beyond the pages that were read comes with its page", () => {
  const leaves = new Leaves().add({ items: [leaf("a"), leaf("m")], next: "m" });
  leaves.apply(change(5, ["z", "later"], ["b", "now"]));
  assert.deepEqual(values(leaves), ["a=v", "b=now", "m=v"]);
  leaves.add({ items: [leaf("z", "older", 2)], next: null });
  assert.deepEqual(values(leaves), ["a=v", "b=now", "m=v", "z=later"]);
});

test("the rows of 5,000 keys have an object before its members, once", () => {
  const many = Array.from({ length: 5000 }, (_, n) =>
    leaf(`${"abcdefghij"[n % 10]}.item-${String(n).padStart(4, "0")}.state`));
  const rows = treeRows(tree(...many).all, new Set());
  assert.equal(rows.length, 10 + 5000 + 5000);
  assert.equal(new Set(rows.map((row) => row.path)).size, rows.length);
  assert.deepEqual(rows.slice(0, 3).map(({ key, depth, count }) => [key, depth, count]),
    [["a", 0, 500], ["item-0000", 1, 1], ["state", 2, undefined]]);
});

test("a collapsed object hides its members, and a filter shows what it finds all the same", () => {
  const all = tree(leaf("a.b.c", "Porto"), leaf("a.d"), leaf("e")).all;
  const paths = (...more) => treeRows(all, new Set(["a"]), ...more).map((row) => row.path);
  assert.deepEqual(paths(), ["a", "e"]);
  assert.deepEqual(paths("PORTO"), ["a", "a.b", "a.b.c"]);
  assert.deepEqual(paths("d"), ["a", "a.d"]);
  assert.equal(treeRows(all, new Set(["a"]))[0].count, 2);
});

test("the objects of a tree", () => {
  assert.deepEqual([...objectPaths(tree(leaf("a.b.c"), leaf("a.d"), leaf("e")).all)].sort(), ["a", "a.b"]);
});

test("paths and values that the server refuses are named", () => {
  assert.equal(pathComplaint("trip.city_2-x"), null);
  for (const path of ["", ".a", "a..b", "a b", "ä", "__proto__", "a.constructor", Array(33).fill("a").join("."),
    "a".repeat(1025)]) {
    assert.ok(pathComplaint(path), path);
  }
  assert.equal(valueComplaint("ä".repeat(1024)), null);
  assert.ok(valueComplaint("ä".repeat(1025)));
});
