// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Console } from "./console.js";
import { newOperator, password, signInLink, skip, sql, strata } from "./system.js";

let page;
let link;

before(async () => {
  if (skip) return;
  // Earlier runs of this test count towards the limit of this machine's address.
  sql("DELETE FROM console.attempt");
  link = signInLink();
  page = await Console.open(link);
  page.refusals.add(401).add(429);
});

after(() => page?.close());

/** Signs in with the form. */
async function signIn(name, secret) {
  await page.fill("Name", name);
  await page.fill("Password", secret);
  await page.press("Sign in");
}

/** Waits until the form, which a refusal empties, waits for another password. */
const isRefused = () => page.browser.until("it is refused", () => hands.control("Password").value === "");

async function signOut() {
  await page.press("Sign out");
  await page.sees("Operators are made on the server");
}

test("a link signs its operator in, and leaves no token in the address", { skip }, async () => {
  await page.sees("Overview");
  await page.sees("developer");
  assert.equal(await page.browser.run(() => location.pathname), "/console/");
});

test("a preview of a link leaves it usable, and its second use says that it was used", { skip }, async () => {
  await signOut();
  const other = signInLink();
  assert.equal((await fetch(other)).status, 200);
  await page.visit(other);
  await page.sees("Overview");
  await signOut();
  await page.visit(other);
  await page.sees("This link has been used, or has expired.");
});

test("a password signs in, a wrong one and an unknown name do not, and the sixth has to wait", { skip }, async () => {
  const name = newOperator("viewer");
  for (const [who, secret] of [[name, "wrong horse battery"], ["nobody", password]]) {
    await signIn(who, secret);
    await isRefused();
    await page.sees("The name or the password is wrong.");
  }
  await signIn(name, password);
  await page.sees("Overview");
  await page.sees(`${name} viewer`);
  await signOut();
  for (let count = 0; count < 5; count += 1) {
    await signIn(name, `wrong ${count}`);
    await isRefused();
  }
  await signIn(name, password);
  await page.sees("There were too many attempts. Please try again in");
});

test("an operator who is disabled is shown the sign-in, at the screen where they were", { skip }, async () => {
  const name = newOperator("operator");
  await signIn(name, password);
  await page.sees("Overview");
  await page.go(["space"]);
  await page.sees("Retention");
  strata("operator", "disable", name);
  await page.press("Refresh");
  await page.sees("Your session has ended. Sign in to continue where you were.");
  strata("operator", "enable", name);
  await signIn(name, password);
  await page.sees("Retention");
});

test("the page reports no error, and asks nobody else", { skip }, () => page.check());
