// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { findApps } from "../Web/chooser.js";
import { operations, texts } from "../Web/screens/app-settings.js";

const settings = {
  session_ttl_in_seconds: null, badge_counts: "unread_messages", badge_counts_announcements: false,
  participants_added_by: "anyone", stranger_additions_per_hour: 60,
};

test("a form without a change has no operations", () => {
  assert.deepEqual(operations(settings, texts(settings)), []);
});

test("only the changed settings are set, numbers as numbers, an empty lifetime as null", () => {
  const form = { ...texts(settings), session_ttl_in_seconds: " ", stranger_additions_per_hour: "0" };
  assert.deepEqual(operations({ ...settings, session_ttl_in_seconds: 3600 }, form), [
    { operation: "set", property: "session_ttl_in_seconds", value: null },
    { operation: "set", property: "stranger_additions_per_hour", value: 0 },
  ]);
});

test("apps are found by a part of the name or of the id", () => {
  const apps = [{ id: "6a1f", name: "Harbour Ferries" }, { id: "77bb", name: "Clinic" }];
  const found = (text) => findApps(apps, text).map((app) => app.id);
  assert.deepEqual([found(""), found(" ferr "), found("77"), found("x")], [["6a1f", "77bb"], ["6a1f"], ["77bb"], []]);
});
