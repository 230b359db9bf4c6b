// SPDX-License-Identifier: Apache-2.0
import { isReceipt, kinds } from "./changes.js";
import { backoff } from "./clock.js";
import { StrataError, asError } from "./errors.js";
import { mergeSteps } from "./metadata.js";
import { randomUUID } from "./wire.js";

/**
 * @typedef {import("./changes.js").Change} Change
 * @typedef {import("./changes.js").NewChange} NewChange
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
  /** @type {Map<string, {resolve: () => void, reject: (error: any) => void}[]>} Waiting calls, by name. */
  #waiting = new Map();
  /** @type {Map<string, any>} Lanes that wait for a retry. */
  #retries = new Map();
  #isConnected = false;
  /** True if the stored operations of the user were taken over. */
  #isRestored = false;
  /** @type {object | null} Identifies the present restoration. */
  #restoration = null;
  /** The number of the next operation. It begins with the time, after the stored operations of earlier pages. */
  #sequence;
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
    this.#sequence = clock.now();
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
    const restoration = {};
    this.#restoration = restoration;
    /** @type {Operation[]} */
    let stored = [];
    try {
      stored = (await this.#storage?.load(user)) ?? [];
    } catch {
      // Without its storage the queue continues in memory.
    }
    // The user may have signed out in between.
    if (this.#restoration !== restoration) return;
    const names = new Set(this.#operations.map((operation) => operation.name));
    const restored = stored.filter(({ change, name }) => Object.hasOwn(kinds, change.kind) && !names.has(name));
    restored.sort((one, other) => one.sequence - other.sequence);
    for (const operation of restored) operation.state = "waiting";
    // Restored changes come first: the others were made later.
    this.#operations = [...restored, ...this.#operations];
    this.#sequence = 0;
    for (const operation of this.#operations) {
      operation.sequence = this.#sequence++;
      this.#store(operation);
      this.#host.changed(operation.change);
    }
    this.#isRestored = true;
    this.#pump();
  }

  /**
   * Adds a change. An unsent change of the same metadata takes it over.
   * @param {NewChange} change
   * @param {string} user
   * @returns {Promise<void>} Resolves when the server has made the change; rejects when it is dropped.
   */
  add(change, user) {
    const operation = this.#merge(change) ?? this.#append(change, user);
    /** @type {Promise<void>} */
    const result = new Promise((resolve, reject) => {
      const calls = this.#waiting.get(operation.name) ?? [];
      this.#waiting.set(operation.name, [...calls, { resolve, reject }]);
    });
    // A caller that does not wait receives the failure as an event.
    result.catch(() => {});
    this.#store(operation);
    this.#host.changed(operation.change);
    this.#pump();
    return result;
  }

  /** @param {any} change @param {string} user @returns {Operation} */
  #append(change, user) {
    /** @type {Operation} */
    const operation = {
      name: randomUUID(), sequence: this.#sequence++, user, change, state: "waiting", wasTried: false, tries: 0,
    };
    this.#operations = [...this.#operations, operation];
    return operation;
  }

  /**
   * Merges a change into the last one of its lane, if that was never sent.
   * @param {NewChange} change
   */
  #merge({ kind, conversation, ids, steps }) {
    const lane = laneOf({ kind, conversation });
    const last = this.#operations.filter((operation) => laneOf(operation.change) === lane).at(-1);
    if (!last || last.wasTried || last.change.kind !== kind) return null;
    const known = last.change;
    if (steps) last.change = { ...known, steps: mergeSteps(known.steps, steps) };
    else if (ids && ["read", "deliver"].includes(kind)) {
      const all = [...new Set([...known.ids, ...ids])];
      if (all.length > receiptsPerRequest) return null;
      last.change = { ...known, ids: all };
    } else return null;
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
    const sending = this.#operations.filter(({ state }) => state === "sending");
    const busy = new Set([...this.#retries.keys(), ...sending.map(({ change }) => laneOf(change))]);
    let requests = sending.length;
    for (const operation of this.#operations) {
      const lane = laneOf(operation.change);
      if (operation.state !== "waiting" || busy.has(lane)) continue;
      if (++requests > parallelRequests) return;
      busy.add(lane);
      void this.#send(operation);
    }
  }

  /** @param {Operation} operation */
  async #send(operation) {
    operation.state = "sending";
    operation.wasTried = true;
    // The stored operation must say that its request may have been sent.
    await this.#store(operation);
    try {
      if (this.#operations.includes(operation)) this.#succeed(operation, await this.#host.send(operation));
    } catch (error) {
      this.#fail(operation, asError(error));
    }
    this.#pump();
  }

  /** @param {Operation} operation @param {Answer} answer */
  #succeed(operation, answer) {
    if (!this.#operations.includes(operation)) return;
    operation.state = "answered";
    operation.answer = answer;
    // Changes that depend on the answer are stored first, because the page can end between two writes.
    this.#host.answered(operation, answer);
    this.#unstore(operation);
    this.#end(operation, "resolve");
  }

  /** @param {Operation} operation @param {StrataError} error */
  #fail(operation, error) {
    if (!this.#operations.includes(operation)) return;
    operation.state = "waiting";
    // A refused sign-in refuses no change.
    const isLocal = error.isSignIn || error.code === "closed";
    if (isLocal || error.isTemporary) {
      if (!this.#isConnected) return;
      operation.tries += isLocal ? 0 : 1;
      if (operation.tries < maximumTries) return this.#retryLater(operation, error.retryAfter);
      error = new StrataError("gave_up", undefined, { cause: error });
    }
    this.#drop(operation, error);
    if (operation.change.kind !== "createConversation") return;
    // No other change can succeed in a conversation that does not exist.
    for (const other of this.in(operation.change.conversation)) this.#drop(other, error);
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
    if (!this.#operations.includes(operation)) return;
    this.#remove(operation);
    this.#end(operation, "reject", error);
    if (operation.change.kind !== "deliver") this.#host.failed(error, operation.change);
  }

  /**
   * Ends the waiting calls of an operation.
   * @param {Operation} operation
   * @param {"resolve" | "reject"} outcome
   * @param {any} [error]
   */
  #end({ name }, outcome, error) {
    for (const call of this.#waiting.get(name) ?? []) call[outcome](error);
    this.#waiting.delete(name);
  }

  /** @param {StrataError} error */
  clear(error) {
    for (const operation of this.#operations) this.#drop(operation, error);
    this.#isRestored = false;
    this.#restoration = null;
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
    const created = new Set();
    for (const operation of this.#operations) {
      const { change, answer } = operation;
      if (change.kind === "createConversation") created.add(change.conversation);
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
    for (const operation of this.#beforeSync) this.#remove(operation);
    this.#beforeSync = [];
  }

  // Storage

  /** @param {Operation} operation @returns {Promise<void>} */
  #store(operation) {
    if (operation.change.kind === "deliver") return Promise.resolve();
    const copy = { ...operation };
    return this.#write((storage) => storage.put(copy));
  }

  /** @param {Operation} operation */
  #unstore({ name }) {
    void this.#write((storage) => storage.delete(name));
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
 * @param {NewChange} change
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
  const record = store.conversations.get(change.conversation);
  if (userPosition !== null && userPosition > store.userPosition) return isHidden && !!change.conversation && !record;
  if (!change.conversation) return true;
  if (!record) return isHidden;
  // A created conversation is shown as it is now, and the packets of its messages follow.
  if (change.kind === "send" && !store.messagesIn(record.id).has(change.ids[0])) {
    return position === null || (position < record.position && !store.incomplete.has(record.id));
  }
  const isOpen = open !== null && open.id === record.id && open.position === position;
  return position === null || (position <= record.position && !isOpen);
}
