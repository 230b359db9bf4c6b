// SPDX-License-Identifier: Apache-2.0

/**
 * A list that stays up to date. `items` is a frozen array, and another one after each change.
 *
 * The methods are bound, so that `useSyncExternalStore(list.subscribe, () => list.items)` works.
 * @template T
 */
export class LiveList {
  #read;
  #watch;
  /** @type {readonly T[]} */
  #items = Object.freeze([]);

  /**
   * @param {() => readonly T[]} read - Returns the present objects.
   * @param {(listener: () => void) => () => void} watch - Calls a listener after changes.
   */
  constructor(read, watch) {
    this.#read = read;
    this.#watch = watch;
  }

  /**
   * The present objects. Without changes, the same array.
   * @returns {readonly T[]}
   */
  get items() {
    const items = this.#read();
    const isSame = items.length === this.#items.length && items.every((item, index) => item === this.#items[index]);
    if (!isSame) this.#items = Object.isFrozen(items) ? items : Object.freeze([...items]);
    return this.#items;
  }

  /**
   * Calls a listener after each change of the list.
   * @param {(items: readonly T[]) => void} listener
   * @returns {() => void} A function that ends the subscription.
   */
  subscribe = (listener) => {
    let last = this.items;
    return this.#watch(() => {
      const items = this.items;
      if (items === last) return;
      last = items;
      listener(items);
    });
  };

  /** Yields the items now and after changes. A slow reader receives the latest only. */
  async *[Symbol.asyncIterator]() {
    let wake = () => {};
    let isChanged = true;
    const stop = this.subscribe(() => {
      isChanged = true;
      wake();
    });
    try {
      for (;;) {
        if (!isChanged) await new Promise((resolve) => (wake = () => resolve(undefined)));
        isChanged = false;
        yield this.items;
      }
    } finally {
      stop();
    }
  }
}

/**
 * The messages of a conversation, oldest first. Messages that are not sent yet are last.
 * @extends {LiveList<import("./objects.js").Message>}
 */
export class MessageList extends LiveList {
  #source;

  /**
   * @param {object} source
   * @param {() => readonly import("./objects.js").Message[]} source.read
   * @param {(listener: () => void) => () => void} source.watch
   * @param {() => boolean} source.hasMore
   * @param {() => Promise<void>} source.more
   */
  constructor(source) {
    super(source.read, source.watch);
    this.#source = source;
  }

  /**
   * True if the server may have older messages.
   * @returns {boolean}
   */
  get hasMore() {
    return this.#source.hasMore();
  }

  /**
   * Loads a page of older messages. Rejects with `network` without a connection.
   * @returns {Promise<void>}
   */
  more = () => this.#source.more();
}
