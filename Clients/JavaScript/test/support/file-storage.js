// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { microtasks } from "./clock.js";

/**
 * Writes a file so that a killed process leaves the former content or the new one.
 * @param {string} path
 * @param {string} text
 * @param {() => void} [boundary] - Called before and after each system call.
 */
export async function replaceFile(path, text, boundary = () => {}) {
  boundary();
  const file = await open(`${path}.new`, "w");
  try {
    boundary();
    await file.writeFile(text);
    boundary();
    await file.sync();
  } finally {
    await file.close();
  }
  boundary();
  await rename(`${path}.new`, path);
  boundary();
}

/**
 * A storage of unsent changes in a folder, one file each. Like IndexedDB it stores a change whole or not at all, in the
 * order of the calls, and keeps it when the process is killed.
 */
export class FileStorage {
  /** The number of writes that failed, because the disk is full. */
  failures = 0;
  #folder;
  #boundary;
  #writes = 0;
  #last = Promise.resolve();

  /** @param {string} folder @param {() => void} [boundary] - Called before and after each system call. */
  constructor(folder, boundary = () => {}) {
    this.#folder = folder;
    this.#boundary = boundary;
    mkdirSync(folder, { recursive: true });
  }

  /** The number of stored changes. */
  get size() {
    return this.#names().length;
  }

  async load(user) {
    this.#boundary();
    const all = this.#names().map((name) => JSON.parse(readFileSync(join(this.#folder, name), "utf8")));
    return all.filter((operation) => operation.user === user);
  }

  put(operation) {
    return this.#write(() => replaceFile(this.#path(operation.name), JSON.stringify(operation), this.#boundary));
  }

  delete(name) {
    return this.#write(async () => {
      this.#boundary();
      await unlink(this.#path(name)).catch((error) => {
        if (error.code !== "ENOENT") throw error;
      });
      this.#boundary();
    });
  }

  /** Waits until the writes that the queue has requested are done. It starts the next one in the microtasks after one. */
  async idle() {
    await microtasks();
    while (this.#writes > 0) {
      await this.#last.catch(() => {});
      await microtasks();
    }
  }

  async #write(write) {
    this.#writes += 1;
    try {
      this.#last = write();
      await this.#last;
    } catch (error) {
      this.failures += 1;
      throw error;
    } finally {
      this.#writes -= 1;
    }
  }

  #path(name) {
    return join(this.#folder, `${name}.json`);
  }

  #names() {
    return readdirSync(this.#folder).filter((name) => name.endsWith(".json"));
  }
}
