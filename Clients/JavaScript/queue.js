// SPDX-License-Identifier: Apache-2.0
import { isReceipt, kinds } from "./changes.js";
import { backoff } from "./clock.js";
import { StrataError } from "./errors.js";
import { mergeSteps } from "./metadata.js";
import { randomUUID } from "./wire.js";

/**
 * @typedef {import("./changes.js").Change} Change
 * @typedef {import("./rest.js").Answer} Answer
 * @typedef {import("./store.js").Store} Store
 *
 * @typedef {object} Operation A change, and the state of its request.
 * @property {string} name - The idempotency key, a UUID.
 * @property {number} sequence - The order of the calls.
 * @property {string} user - The user id of the user who made the change.
 * @property {Change} change
 * @property {"waiting" | "sending" | "answered"} state
 * @property {boolean} wasTried - True if the server may know the change, so that its request must stay the same.
 * @property {number} tries - The number of failed tries.
 * @property {Answer} [answer]
 *
 * @typedef {object} Storage A place that outlives the page.
 * @property {(user: string) => Promise<Operation[]>} load - Returns the stored operations of a user.
 * @property {(operation: Operation) => Promise<void>} put - Stores or replaces an operation, by its name.
 * @property {(name: string) => Promise<void>} delete - Removes an operation.
 *
 * @typedef {object} QueueHost
 * @property {(operation: Operation) => Promise<Answer>} send
 * @property {(operation: Operation, answer: Answer) => void} answered - Handles a success, before waiting calls do.
 * @property {(error: StrataError, change: Change) => void} failed - Handles a change that was dropped.
 * @property {(change: Change) => void} changed - Handles a change that was added, or removed.
 */

/** The number of failed tries after which a change is dropped. */
const maximumTries = 20;
/** The maximum number of concurrent requests. */
const parallelRequests = 6;
/** The maximum number of messages in one request for receipts. */
export const receiptsPerRequest = 1000;

/**
 * The user's changes that are not yet part of the server's state.
 *
 * - The changes of a conversation are sent one after the other, in the order of the calls. So are those of people.
 * - Conversations do not wait for each other, and receipts wait only for earlier receipts of their conversation.
 * - A change keeps its name until it is answered, so the server makes it once.
 * - Temporary failures are retried with a growing delay. A refused change is dropped and reported.
 */
export class Queue {
  #host;
  #clock;
  #storage;
  /** @type {Operation[]} */
  #operations = [];
  /** @type {Map<string, {resolve: () => void, reject: (error: StrataError) => void}[]>} Waiting calls, by name. */
  #waiting = new Map();
  /** @type {Map<string, any>} Lanes that wait for a retry. */
  #retries = new Map();
  #isConnected = false;
  /** True if the stored operations of the user were taken over. */
  #isRestored = false;
  #sequence = 0;
  /** The order of writes to the storage. */
  #writes = Promise.resolve();
  /** @type {Operation[]} The answered operations at the beginning of a replay or a load. */
  #beforeSync = [];

  /**
   * @param {object} options
   * @param {QueueHost} options.host
   * @param {import("./clock.js").Clock} options.clock
   * @param {Storage | null} [options.storage]
   */
  constructor({ host, clock, storage = null }) {
    this.#host = host;
    this.#clock = clock;
    this.#storage = storage;
  }

  /**
   * The operations in order.
   * @returns {readonly Operation[]}
   */
  get operations() {
    return this.#operations;
  }

  /** The number of changes without an answer. */
  get size() {
    return this.#operations.filter(({ state, change }) => state !== "answered" && change.kind !== "deliver").length;
  }

  /**
   * Returns the operations of a conversation, in order.
   * @param {string} conversation
   */
  in(conversation) {
    return this.#operations.filter(({ change }) => change.conversation === conversation);
  }

  /**
   * Takes over the stored operations of a user.
   * @param {string} user
   */
  async restore(user) {
    const stored = (await this.#storage?.load(user).catch(() => [])) ?? [];
    const names = new Set(this.#operations.map((operation) => operation.name));
    const restored = stored.filter((operation) => operation.change?.kind in kinds && !names.has(operation.name));
    restored.sort((one, other) => one.sequence - other.sequence);
    // Restored changes come first: the others were made later.
    this.#operations = [...restored, ...this.#operations];
    for (const [index, operation] of this.#operations.entries()) operation.sequence = index;
    this.#sequence = this.#operations.length;
    for (const operation of this.#operations) {
      if (restored.includes(operation)) operation.state = "waiting";
      this.#store(operation);
      this.#host.changed(operation.change);
    }
    this.#isRestored = true;
    this.#pump();
  }

  /**
   * Adds a change. An unsent change of the same metadata takes it over.
   * @param {Change} change
   * @param {string} user
   * @returns {Promise<void>} Resolves when the server has made the change; rejects when it is dropped.
   */
  add(change, user) {
    const operation = this.#merge(change) ?? this.#append(change, user);
    const result = new Promise((resolve, reject) => {
      const calls = this.#waiting.get(operation.name) ?? [];
      calls.push({ resolve: () => resolve(undefined), reject });
      this.#waiting.set(operation.name, calls);
    });
    // A caller that does not wait receives the failure as an event.
    result.catch(() => {});
    this.#store(operation);
    this.#host.changed(change);
    this.#pump();
    return /** @type {Promise<void>} */ (result);
  }

  /** @param {Change} change @param {string} user @returns {Operation} */
  #append(change, user) {
    /** @type {Operation} */
    const operation = {
      name: randomUUID(), sequence: this.#sequence++, user, change, state: "waiting", wasTried: false, tries: 0,
    };
    this.#operations.push(operation);
    return operation;
  }

  /**
   * Merges a change into the last one of its lane, if that was never sent.
   * @param {Change} change
   */
  #merge(change) {
    const lane = laneOf(change);
    const last = this.#operations.filter((operation) => laneOf(operation.change) === lane).at(-1);
    if (!last || last.wasTried || last.state !== "waiting" || last.change.kind !== change.kind) return null;
    if (change.kind === "setMetadata") {
      last.change = { ...last.change, steps: mergeSteps(last.change.steps ?? [], change.steps ?? []) };
      return last;
    }
    const ids = [...(last.change.ids ?? []), ...(change.ids ?? [])];
    if (!["read", "deliver"].includes(change.kind) || ids.length > receiptsPerRequest) return null;
    last.change = { ...last.change, ids: [...new Set(ids)] };
    return last;
  }

  // Sending

  /** @param {boolean} isConnected - True if requests can be sent. */
  setConnected(isConnected) {
    this.#isConnected = isConnected;
    for (const timer of this.#retries.values()) this.#clock.clear(timer);
    this.#retries.clear();
    this.#pump();
  }

  #pump() {
    if (!this.#isConnected || !this.#isRestored) return;
    const busy = new Set(this.#retries.keys());
    let requests = 0;
    for (const { state, change } of this.#operations) {
      if (state !== "sending") continue;
      busy.add(laneOf(change));
      requests += 1;
    }
    for (const operation of this.#operations) {
      const lane = laneOf(operation.change);
      if (operation.state !== "waiting" || busy.has(lane)) continue;
      busy.add(lane);
      if (requests >= parallelRequests) return;
      requests += 1;
      void this.#send(operation);
    }
  }

  /** @param {Operation} operation */
  async #send(operation) {
    operation.state = "sending";
    operation.wasTried = true;
    // The stored operation must say that its request may have been sent.
    await this.#store(operation);
    if (!this.#operations.includes(operation)) return;
    try {
      const answer = await this.#host.send(operation);
      this.#succeed(operation, answer);
    } catch (error) {
      this.#fail(operation, error);
    }
    this.#pump();
  }

  /** @param {Operation} operation @param {Answer} answer */
  #succeed(operation, answer) {
    if (!this.#operations.includes(operation)) return;
    operation.state = "answered";
    operation.answer = answer;
    this.#unstore(operation);
    this.#host.answered(operation, answer);
    for (const { resolve } of this.#waiting.get(operation.name) ?? []) resolve();
    this.#waiting.delete(operation.name);
  }

  /** @param {Operation} operation @param {unknown} reason */
  #fail(operation, reason) {
    if (!this.#operations.includes(operation)) return;
    const error = reason instanceof StrataError ? reason : new StrataError("network", "No answer.", { cause: reason });
    operation.state = "waiting";
    const isLocal = error.code === "sign_in_failed" || error.code === "closed";
    if (isLocal || error.isTemporary) {
      if (!this.#isConnected) return;
      operation.tries += isLocal ? 0 : 1;
      if (operation.tries < maximumTries) return this.#retryLater(operation, error.retryAfter);
    }
    const given = error.isTemporary ? new StrataError("gave_up", "Too many tries failed.", { cause: error }) : error;
    this.#drop(operation, given);
    if (operation.change.kind !== "createConversation") return;
    // No other change can succeed in a conversation that does not exist.
    for (const other of this.in(operation.change.conversation ?? "")) this.#drop(other, given);
  }

  /** @param {Operation} operation @param {number} [requested] - The minimum delay, in milliseconds. */
  #retryLater(operation, requested) {
    const lane = laneOf(operation.change);
    const delay = backoff(Math.max(1, operation.tries), this.#clock.random(), requested);
    this.#retries.set(lane, this.#clock.set(() => {
      this.#retries.delete(lane);
      this.#pump();
    }, delay));
  }

  /** @param {Operation} operation @param {StrataError} error */
  #drop(operation, error) {
    this.#remove(operation);
    for (const { reject } of this.#waiting.get(operation.name) ?? []) reject(error);
    this.#waiting.delete(operation.name);
    if (operation.change.kind !== "deliver") this.#host.failed(error, operation.change);
  }

  /** @param {StrataError} error */
  clear(error) {
    for (const operation of [...this.#operations]) this.#drop(operation, error);
    this.#isRestored = false;
  }

  // The end of operations

  /** @param {Operation} operation */
  #remove(operation) {
    this.#operations = this.#operations.filter((other) => other !== operation);
    this.#unstore(operation);
    this.#host.changed(operation.change);
  }

  /**
   * Moves the operations of a conversation to another one.
   * @param {string} old
   * @param {string} id
   */
  move(old, id) {
    for (const operation of this.in(old)) {
      operation.change = { ...operation.change, conversation: id };
      if (operation.state !== "answered") this.#store(operation);
    }
  }

  /**
   * Ends the answered operations that are part of a state.
   * @param {Store} store
   * @param {boolean} isLoaded - True if the state is complete.
   * @param {{id: string, position: number} | null} open - The change of the last packet; more packets may follow.
   */
  settle(store, isLoaded, open) {
    const creations = this.#operations.filter(({ change }) => change.kind === "createConversation");
    const created = new Set(creations.map(({ change }) => change.conversation));
    for (const operation of [...this.#operations]) {
      const { change, answer } = operation;
      // Nothing is told about a conversation that is hidden, but the packets of a created one may follow its answer.
      const isHidden = isLoaded && !created.has(change.conversation);
      if (answer && isContained(change, answer, store, isHidden, open)) this.#remove(operation);
    }
  }

  /** Remembers the answered operations, which a replay or a load that begins now contains. */
  syncBegan() {
    this.#beforeSync = this.#operations.filter((operation) => operation.state === "answered");
  }

  /** Ends the remembered operations. */
  syncEnded() {
    for (const operation of this.#beforeSync) if (this.#operations.includes(operation)) this.#remove(operation);
    this.#beforeSync = [];
  }

  // Storage

  /** @param {Operation} operation @returns {Promise<void>} */
  #store(operation) {
    if (!this.#storage || operation.change.kind === "deliver") return Promise.resolve();
    const copy = { ...operation, change: { ...operation.change } };
    return this.#write((storage) => storage.put(copy));
  }

  /** @param {Operation} operation */
  #unstore(operation) {
    void this.#write((storage) => storage.delete(operation.name));
  }

  /** @param {(storage: Storage) => Promise<void>} write @returns {Promise<void>} */
  #write(write) {
    const storage = this.#storage;
    // Without its storage the queue continues in memory.
    if (storage) this.#writes = this.#writes.then(() => write(storage)).catch(() => {});
    return this.#writes;
  }
}

/**
 * Returns the name of the changes among which a change has its order.
 * @param {Change} change
 */
const laneOf = (change) => (isReceipt(change) ? "receipts " : "") + (change.conversation ?? "people");

/**
 * @param {Change} change
 * @param {Answer} answer
 * @param {Store} store
 * @param {boolean} isHidden - True if the conversation is hidden, unless the store has it.
 * @param {{id: string, position: number} | null} open
 */
function isContained(change, { position, userPosition }, store, isHidden, open) {
  if (change.kind === "deliver") return true;
  const record = store.conversations.get(change.conversation ?? "");
  if (userPosition !== null && userPosition > store.userPosition) return isHidden && !!change.conversation && !record;
  if (!change.conversation) return true;
  if (!record) return isHidden;
  // A created conversation is shown as it is now, and the packets of its messages follow.
  if (change.kind === "send" && !store.messagesIn(record.id).has(change.ids?.[0] ?? "")) {
    return position === null || (position < record.position && !store.incomplete.has(record.id));
  }
  const isOpen = open !== null && open.id === record.id && open.position === position;
  return position === null || (position <= record.position && !isOpen);
}
