// SPDX-License-Identifier: Apache-2.0

/**
 * A value of metadata: its path without `metadata.`, the position and the author of its last change.
 * `actor` is "" for the app's server and null once the log is gone.
 * @typedef {{path: string, value: string, position: number, actor: string | null, at: string | null}} Leaf
 */

/** The number of changes that are applied again to a page, which may have been read before them. */
const remembered = 200;

const isBelow = (path, ancestor) => path.startsWith(`${ancestor}.`);
const compare = (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

/**
 * The leaves of a metadata tree, which is read in pages and changes meanwhile. Values are replaced, never changed.
 * Paths are in byte order, as in the report: everything below an object is in one run.
 */
export class Leaves {
  /** @type {Map<string, Leaf>} */
  #byPath = new Map();
  #recent = [];
  /** The cursor of the next page; null: the tree is complete; undefined: nothing was read. */
  next = undefined;

  get count() {
    return this.#byPath.size;
  }

  get isComplete() {
    return this.next === null;
  }

  /** @returns {Leaf[]} all leaves that were read, by path */
  get all() {
    return [...this.#byPath.values()].sort(compare);
  }

  /** @returns {Leaf | undefined} */
  at(path) {
    return this.#byPath.get(path);
  }

  /** Returns the leaves below a path, without the one at the path. */
  below(path) {
    return this.all.filter((leaf) => isBelow(leaf.path, path));
  }

  /**
   * Adds a page of the report.
   * @param {{items: Leaf[], next?: string | null}} page
   */
  add({ items, next }) {
    for (const item of items) {
      const known = this.#byPath.get(item.path);
      if (!known || known.position <= item.position) this.#byPath.set(item.path, item);
    }
    this.next = next ?? null;
    for (const change of this.#recent) this.#write(change);
    return this;
  }

  /**
   * Applies a change of metadata. Repeating it, also after later ones, has no effect.
   * @param {{position: number, actor: string, at: string, operations: {path: string, value: string | null}[]}} change
   */
  apply(change) {
    this.#recent.push(change);
    if (this.#recent.length > remembered) this.#recent.shift();
    this.#write(change);
    return this;
  }

  #write({ position, actor, at, operations }) {
    for (const { path, value } of operations) {
      for (const leaf of this.#replaced(path)) {
        if (leaf.position < position) this.#byPath.delete(leaf.path);
      }
      const known = this.#byPath.get(path);
      if (value !== null && !(known?.position > position) && this.#isRead(path)) {
        this.#byPath.set(path, { path, value, position, actor, at });
      }
    }
  }

  /** Returns the leaves that a value at the path takes the place of: at it, below it, and above it. */
  #replaced(path) {
    return [...this.#byPath.values()].filter(
      (leaf) => leaf.path === path || isBelow(leaf.path, path) || isBelow(path, leaf.path));
  }

  /** A path beyond the cursor comes with its page. */
  #isRead(path) {
    return this.isComplete || (this.next !== undefined && path <= this.next);
  }
}

/**
 * The rows of a tree: an object before its members. A collapsed object hides them; a filter shows the leaves whose path
 * or value has the text, with the objects above them.
 * @param {Leaf[]} leaves in the order of their paths
 * @param {Set<string>} collapsed paths of objects
 * @returns {{path: string, key: string, depth: number, leaf?: Leaf, count?: number, isCollapsed?: boolean}[]}
 */
export function treeRows(leaves, collapsed, filter = "") {
  const wanted = filter.trim().toLowerCase();
  const shown = wanted
    ? leaves.filter((leaf) => leaf.path.toLowerCase().includes(wanted) || leaf.value.toLowerCase().includes(wanted))
    : leaves;
  const rows = [];
  const objects = new Map();
  for (const leaf of shown) {
    const keys = leaf.path.split(".");
    let isHidden = false;
    for (let depth = 0; depth < keys.length - 1; depth += 1) {
      const path = keys.slice(0, depth + 1).join(".");
      let object = objects.get(path);
      if (!object) {
        object = { path, key: keys[depth], depth, count: 0, isCollapsed: !wanted && collapsed.has(path) };
        objects.set(path, object);
        if (!isHidden) rows.push(object);
      }
      object.count += 1;
      isHidden ||= object.isCollapsed;
    }
    if (!isHidden) rows.push({ path: leaf.path, key: keys.at(-1), depth: keys.length - 1, leaf });
  }
  return rows;
}

/** Returns the paths of all objects. */
export function objectPaths(leaves) {
  const paths = new Set();
  for (const { path } of leaves) {
    for (let end = path.lastIndexOf("."); end > 0; end = path.lastIndexOf(".", end - 1)) paths.add(path.slice(0, end));
  }
  return paths;
}

/** Returns why a path of metadata is refused, or null. */
export function pathComplaint(path) {
  const keys = path.split(".");
  if (path === "") return "Enter a path, such as trip.city.";
  if (keys.some((key) => key === "")) return "A path has no empty keys: no dot at its ends, and no two dots in a row.";
  const wrong = keys.find((key) => !/^[A-Za-z0-9_-]+$/.test(key));
  if (wrong) return `The key “${wrong}” has other characters than letters, digits, - and _.`;
  if (keys.some((key) => ["__proto__", "constructor", "prototype"].includes(key))) return "This key is reserved.";
  if (keys.length > 32) return "A path has at most 32 keys.";
  if (path.length > 1024) return "A path has at most 1,024 bytes.";
  return null;
}

/** Returns why a value of metadata is refused, or null. */
export const valueComplaint = (value) =>
  new TextEncoder().encode(value).length > 2048 ? "A value has at most 2,048 bytes." : null;
