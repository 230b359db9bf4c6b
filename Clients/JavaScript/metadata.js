// SPDX-License-Identifier: Apache-2.0
import { check, invalid } from "./errors.js";

/**
 * Trees of strings, and changes of single key paths. A tree has no prototype, so that keys are own properties only, and
 * is never modified: a change returns another tree.
 *
 * @typedef {{[key: string]: string | Metadata}} Metadata
 * @typedef {{path: string, value: string | Metadata | null}} MetadataStep A change of the value at a path; null
 *   deletes it. The empty path is the whole tree.
 */

/** The maximum number of keys in one path that this client accepts from a server. */
const maximumDepth = 64;
const keyPattern = /^[A-Za-z0-9_-]+$/;
const forbiddenKeys = ["__proto__", "constructor", "prototype"];

/** @returns {Metadata} */
export const emptyTree = () => Object.freeze(Object.create(null));

/** @param {unknown} value @returns {value is Record<string, any>} */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Copies a tree of the server. Throws if it is malformed.
 * @param {unknown} value
 * @param {number} [depth]
 */
export function readTree(value, depth = 0) {
  check(isObject(value) && depth <= maximumDepth);
  /** @type {Metadata} */
  const tree = Object.create(null);
  for (const [key, child] of Object.entries(/** @type {object} */ (value))) {
    setValue(tree, key, typeof child === "string" ? child : readTree(child, depth + 1));
  }
  return Object.freeze(tree);
}

/**
 * Sets a value of a tree that is being made. Null and empty objects delete it.
 * @param {Metadata} tree
 * @param {string} key
 * @param {string | Metadata | null} value
 */
function setValue(tree, key, value) {
  if (typeof value === "string" || Object.keys(value ?? {}).length > 0) tree[key] = /** @type {any} */ (value);
  else delete tree[key];
}

/**
 * Returns the value at a path; undefined if there is none.
 * @param {Metadata} tree
 * @param {string} path
 */
export function valueAt(tree, path) {
  /** @type {string | Metadata | undefined} */
  let value = tree;
  for (const key of keysOf(path)) {
    if (typeof value !== "object" || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** @param {string} path @returns {string[]} */
const keysOf = (path) => (path === "" ? [] : path.split("."));

/**
 * Returns a tree with one change. Objects that become empty are removed.
 * @param {Metadata} tree
 * @param {MetadataStep} step
 * @returns {Metadata}
 */
export function applyStep(tree, { path, value }) {
  const keys = keysOf(path);
  check(keys.length <= maximumDepth);
  return replaceValue(tree, keys, value === null || typeof value === "string" ? value : readTree(value));
}

/** @param {Metadata} tree @param {string[]} keys @param {string | Metadata | null} value @returns {Metadata} */
function replaceValue(tree, [key, ...rest], value) {
  if (key === undefined) return /** @type {Metadata} */ (value ?? emptyTree());
  if (rest.length > 0) {
    const child = tree[key];
    if (typeof child === "string" && value === null) return tree;
    value = replaceValue(typeof child === "object" ? child : emptyTree(), rest, value);
  }
  const copy = Object.assign(Object.create(null), tree);
  setValue(copy, key, value);
  return Object.freeze(copy);
}

/**
 * Returns the steps that set every string of a tree by its own path, so that other keys stay.
 * @param {Metadata} tree
 * @param {string} [prefix]
 * @returns {MetadataStep[]}
 */
export function stepsOf(tree, prefix = "") {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === "string" ? [{ path: prefix + key, value }] : stepsOf(value, `${prefix}${key}.`),
  );
}

/**
 * Returns true if one path is the other one, or is below it.
 * @param {string} path
 * @param {string} above
 */
const isWithin = (path, above) => above === "" || path === above || path.startsWith(`${above}.`);

/**
 * Appends steps, and removes earlier ones that they replace.
 * @param {MetadataStep[]} steps
 * @param {MetadataStep[]} more
 */
export function mergeSteps(steps, more) {
  for (const step of more) steps = [...steps.filter((earlier) => !isWithin(earlier.path, step.path)), step];
  return steps;
}

/**
 * Returns the operation of a patch for a step.
 * @param {MetadataStep} step
 */
export function patchOperation({ path, value }) {
  const property = path === "" ? "metadata" : `metadata.${path}`;
  if (value === null && path !== "") return { operation: "delete", property };
  return { operation: "set", property, value: value ?? {} };
}

/** @param {string[]} keys */
const propertyOf = (keys) => ["metadata", ...keys].join(".");

/** @param {string[]} keys */
function checkKeys(keys) {
  if (keys.length > 32) throw invalid(propertyOf(keys), "A path has at most 32 keys.");
  if (keys.every((key) => keyPattern.test(key) && !forbiddenKeys.includes(key))) return;
  throw invalid(propertyOf(keys), "A key has letters, digits, - and _ only.");
}

/**
 * Checks a path that the app gave. Throws `invalid_property`.
 * @param {string} path
 * @returns {string}
 */
export function checkPath(path) {
  checkKeys(String(path).split("."));
  return path;
}

/**
 * Checks and copies a value that the app gave. Throws `invalid_property`.
 * @param {unknown} value
 * @param {string} [path]
 * @returns {string | Metadata}
 */
export function checkValue(value, path = "") {
  return copyValue(value, keysOf(path));
}

/** @param {unknown} value @param {string[]} keys @returns {string | Metadata} */
function copyValue(value, keys) {
  if (typeof value === "string" && keys.length > 0) {
    if (new TextEncoder().encode(value).length <= 2048) return value;
  } else if (isObject(value)) {
    const tree = Object.create(null);
    for (const [key, child] of Object.entries(value)) {
      const below = [...keys, key];
      checkKeys(below);
      tree[key] = copyValue(child, below);
    }
    return tree;
  }
  throw invalid(propertyOf(keys), "A value is an object, or a string of at most 2048 bytes.");
}
