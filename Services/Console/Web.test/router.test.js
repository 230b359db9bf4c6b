// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { link, match } from "../Web/router.js";

test("every screen has an address", () => {
  const screens = {
    "": "overview", "#": "overview", "#/": "overview", "#/overview": "overview", "#/apps": "apps", "#/apps/": "apps",
    "#/apps/a": "app", "#/apps/a/conversations": "conversations", "#/apps/a/conversations/c": "conversation",
    "#/apps/a/users": "users", "#/apps/a/users/u": "user", "#/apps/a/users/u/trace": "trace",
    "#/apps/a/webhooks": "webhooks", "#/try": "try", "#/space": "space", "#/audit": "audit",
  };
  for (const [address, screen] of Object.entries(screens)) assert.equal(match(address).screen, screen, address);
});

test("other addresses have none", () => {
  for (const address of ["#/app", "#/apps/a/b", "#/apps/a/users/u/trace/x", "#/try/x"]) {
    assert.equal(match(address).screen, "missing", address);
  }
});

test("parameters are what the link was made of", () => {
  for (const user of ["ana", "team/ana", "ana@example.org?x=1#y", "100%", "Ünïcode 🙂", ".."]) {
    const { screen, params } = match(link("apps", "a", "users", user));
    assert.equal(screen, "user", user);
    assert.deepEqual(params, { app: "a", user });
  }
});

test("the query is no part of the path", () => {
  const route = match(link("apps", "a", "users", { prefix: "a&b?", none: "", missing: undefined }));
  assert.deepEqual(route.query, { prefix: "a&b?" });
  assert.equal(route.path, "apps/a/users");
});

test("a malformed escape stays as it is", () => {
  assert.deepEqual(match("#/apps/a/users/100%").params, { app: "a", user: "100%" });
});
