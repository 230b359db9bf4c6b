// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import * as format from "../Web/format.js";

const now = Date.parse("2026-03-01T12:00:00Z");
const at = (seconds) => new Date(now + seconds * 1000).toISOString();

/** Checks a function by values and texts. */
const texts = (work, pairs) => {
  for (const [value, text] of pairs) assert.equal(work(value), text, `of ${value}`);
};

test("values that are not known have one text", () => {
  const works = ["number", "quantity", "bytes", "latency", "duration", "relativeTime", "fullTime", "shortID"];
  for (const work of works) {
    assert.equal(format[work](null), "–", work);
    assert.equal(format[work](undefined), "–", work);
  }
  assert.equal(format.relativeTime("yesterday"), "–");
  assert.equal(format.fullTime("yesterday"), "–");
});

test("numbers are grouped", () => {
  texts(format.number, [[0, "0"], [999, "999"], [1234567, "1,234,567"], [0.4, "0"]]);
  assert.equal(format.number(1234.567, 1), "1,234.6");
});

test("quantities have three significant digits", () => {
  const pairs = [[0, "0"], [0.456, "0.46"], [9.876, "9.88"], [12.34, "12.3"], [123.4, "123"], [1234.5, "1,235"]];
  texts(format.quantity, pairs);
});

test("bytes have the unit that leaves less than a thousand", () => {
  texts(format.bytes, [
    [0, "0 B"], [999, "999 B"], [1000, "1 kB"], [1540, "1.5 kB"], [999_940, "1,000 kB"], [999_990, "1 MB"],
    [20_000_000, "20 MB"], [345_600_000, "346 MB"], [5e9, "5 GB"], [7.25e15, "7.3 PB"], [-1500, "−1.5 kB"],
  ]);
});

test("latencies of a second and more are in seconds", () => {
  texts(format.latency, [[0.84, "0.84 ms"], [340, "340 ms"], [999, "999 ms"], [2500, "2.5 s"]]);
});

test("durations have two units, the smaller one only if it is not zero", () => {
  texts(format.duration, [
    [0, "0 s"], [59, "59 s"], [60, "1 min"], [61, "1 min 1 s"], [3600, "1 h"], [3661, "1 h 1 min"], [86_400, "1 d"],
    [90_000, "1 d 1 h"], [86_460, "1 d"], [31_536_000, "365 d"], [-5, "0 s"],
  ]);
});

test("times are relative to now", () => {
  texts((seconds) => format.relativeTime(at(seconds), now), [
    [0, "just now"], [-9, "just now"], [9, "just now"], [-30, "30 s ago"], [-90, "1 min ago"], [-7200, "2 h ago"],
    [-86_400, "yesterday"], [-86_400 * 3, "3 days ago"], [-86_400 * 40, "1 month ago"], [-86_400 * 70, "2 months ago"],
    [-86_400 * 800, "2 years ago"], [300, "in 5 min"], [100_000, "tomorrow"],
  ]);
});

test("counts have their noun", () => {
  assert.equal(format.counted(1, "user"), "1 user");
  assert.equal(format.counted(1200, "user"), "1,200 users");
  assert.equal(format.counted(2, "entry", "entries"), "2 entries");
});

test("ids are shortened, made and taken apart", () => {
  const id = "6a1f0e0c-6f1b-4d3b-9a53-8b8d8c6c2d11";
  assert.equal(format.shortID(id), "6a1f0e0c");
  assert.equal(format.shortID(`layer:///conversations/${id}`), "6a1f0e0c");
  assert.equal(format.layerID("app", id), `layer:///apps/production/${id}`);
  assert.equal(format.layerID("user", "team/ana"), "layer:///identities/team%2Fana");
  assert.equal(format.layerID("user", "a!'()~*-_.z"), "layer:///identities/a%21%27%28%29%7E*-_.z");
  assert.equal(format.lastPart("layer:///identities/team%2Fana"), "team/ana");
  assert.equal(format.lastPart("layer:///identities/100%"), "100%");
});
