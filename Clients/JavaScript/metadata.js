// SPDX-License-Identifier: Apache-2.0
import { Malformed, StrataError } from "./errors.js";

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

/**
 * Copies a tree of the server. Throws {@link Malformed}.
 * @param {unknown} value
 * @param {number} [depth]
 */
export function readTree(value, depth = 0) {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth > maximumDepth) {
    throw new Malformed("metadata is expected");
  }
  /** @type {Metadata} */
  const tree = Object.create(null);
  for (const [key, child] of Object.entries(value)) {
    const copy = typeof child === "string" ? child : readTree(child, depth + 1);
    if (typeof copy === "string" || Object.keys(copy).length > 0) tree[key] = copy;
  }
  return Object.freeze(tree);
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
  if (keys.length > maximumDepth) throw new Malformed("a path is too long");
  return replaceValue(tree, keys, value === null || typeof value === "string" ? value : readTree(value));
}

/** @param {Metadata} tree @param {string[]} keys @param {string | Metadata | null} value @returns {Metadata} */
function replaceValue(tree, [key, ...rest], value) {
  if (key === undefined) return typeof value === "object" && value !== null ? value : emptyTree();
  const child = Object.hasOwn(tree, key) ? tree[key] : emptyTree();
  if (rest.length > 0) {
    if (typeof child === "string" && value === null) return tree;
    value = replaceValue(typeof child === "string" ? emptyTree() : child, rest, value);
  }
  const copy = Object.assign(Object.create(null), tree);
  delete copy[key];
  if (typeof value === "string" || (value !== null && Object.keys(value).length > 0)) copy[key] = value;
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

/** @param {string} property @param {string} message @returns {StrataError} */
const invalid = (property, message) => new StrataError("invalid_property", message, { property });

/**
 * Checks a path that the app gave. Throws `invalid_property`.
 * @param {string} path
 * @returns {string}
 */
export function checkPath(path) {
  const keys = String(path).split(".");
  const property = `metadata.${path}`;
  if (keys.length > 32) throw invalid(property, "A path has at most 32 keys.");
  for (const key of keys) {
    if (!keyPattern.test(key) || forbiddenKeys.includes(key)) {
      throw invalid(property, "A key has letters, digits, - and _ only.");
    }
  }
  return path;
}

/**
 * Checks and copies a value that the app gave. Throws `invalid_property`.
 * @param {unknown} value
 * @param {string} [path]
 * @returns {string | Metadata}
 */
export function checkValue(value, path = "") {
  const property = path === "" ? "metadata" : `metadata.${path}`;
  if (typeof value === "string") {
    if (new TextEncoder().encode(value).length <= 2048) return value;
    throw invalid(property, "A value has at most 2048 bytes.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(property, "A value is a string or an object.");
  }
  /** @type {Metadata} */
  const tree = Object.create(null);
  for (const [key, child] of Object.entries(value)) {
    const below = checkPath(path === "" ? key : `${path}.${key}`);
    tree[key] = checkValue(child, below);
  }
  return tree;
}
