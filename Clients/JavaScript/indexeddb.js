// SPDX-License-Identifier: Apache-2.0

/** @typedef {import("./queue.js").Operation} Operation */

/**
 * A storage of unsent changes in IndexedDB, for the option `storage`. Changes that were not sent before the page was
 * closed are sent by the next page.
 *
 * Only one page at a time takes over stored changes, if the browser has Web Locks. Without them, two pages may send the
 * same change; the server makes it once.
 */
export class IndexedDBStorage {
  #name;
  /** @type {Promise<IDBDatabase> | null} */
  #database = null;

  /** @param {string} [name] - The name of the database. Default: `strata`. */
  constructor(name = "strata") {
    this.#name = name;
  }

  /**
   * Returns the stored changes of a user; none while another page uses them.
   * @param {string} user
   * @returns {Promise<Operation[]>}
   */
  async load(user) {
    if (!(await takeLock(`${this.#name} ${user}`))) return [];
    /** @type {Operation[]} */
    const all = await this.#run("readonly", (store) => store.getAll());
    return all.filter((operation) => operation.user === user);
  }

  /**
   * Stores or replaces a change.
   * @param {Operation} operation
   * @returns {Promise<void>}
   */
  async put(operation) {
    await this.#run("readwrite", (store) => store.put(toPlain(operation)));
  }

  /**
   * Removes a change.
   * @param {string} name
   * @returns {Promise<void>}
   */
  async delete(name) {
    await this.#run("readwrite", (store) => store.delete(name));
  }

  /** @returns {Promise<IDBDatabase>} */
  #open() {
    this.#database ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(this.#name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("changes", { keyPath: "name" });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    return this.#database;
  }

  /**
   * Runs one request in a transaction of its own.
   * @param {IDBTransactionMode} mode
   * @param {(store: IDBObjectStore) => IDBRequest} request
   * @returns {Promise<any>}
   */
  async #run(mode, request) {
    const database = await this.#open();
    return new Promise((resolve, reject) => {
      const transaction = database.transaction("changes", mode);
      const result = request(transaction.objectStore("changes"));
      transaction.oncomplete = () => resolve(result.result);
      transaction.onabort = () => reject(transaction.error);
    });
  }
}

/**
 * Copies a change. Trees without a prototype become ordinary objects.
 * @param {Operation} operation
 */
const toPlain = (operation) => JSON.parse(JSON.stringify(operation));

/** @type {Set<string>} Locks held by this page. */
const held = new Set();

/**
 * Takes a lock until the page is closed.
 * @param {string} name
 * @returns {Promise<boolean>} False if another page has it.
 */
async function takeLock(name) {
  const locks = globalThis.navigator?.locks;
  if (!locks || held.has(name)) return true;
  return new Promise((resolve) => {
    void locks.request(name, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      if (!lock) return undefined;
      held.add(name);
      return new Promise(() => {});
    });
  });
}
