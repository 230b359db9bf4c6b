// SPDX-License-Identifier: Apache-2.0
import { kinds } from "./changes.js";
import { Conversation, Identity, Message } from "./objects.js";
import { Store } from "./store.js";

/**
 * @typedef {import("./changes.js").Change} Change
 */

/** The snapshots that the app sees: the server's state with the user's pending changes on top. */
export class View {
  #queue;
  #core;
  #store = new Store("");
  /** @type {Map<string, Conversation | null>} */
  #conversations = new Map();
  /** @type {Map<string, readonly Message[]>} Sorted messages by conversation. */
  #lists = new Map();
  /** @type {Map<string, Message>} */
  #messages = new Map();
  /** @type {Map<string, Identity>} */
  #identities = new Map();

  /** @param {import("./queue.js").Queue} queue @param {import("./client.js").Core} core */
  constructor(queue, core) {
    this.#queue = queue;
    this.#core = core;
  }

  /**
   * Shows another state.
   * @param {Store} store
   */
  show(store) {
    this.#store = store;
    for (const cache of [this.#conversations, this.#lists, this.#messages, this.#identities]) cache.clear();
  }

  // Changes

  /**
   * Discards the snapshots of touched objects.
   * @param {ReturnType<Store["takeTouched"]>} touched
   */
  touch({ conversations, messages, identities }) {
    for (const id of conversations) {
      this.#conversations.delete(id);
      this.#lists.delete(id);
    }
    for (const id of messages.keys()) this.#messages.delete(id);
    for (const id of new Set(messages.values())) {
      this.#lists.delete(id);
      // Pending changes depend on the messages.
      if (this.#queue.in(id).length > 0) this.#conversations.delete(id);
    }
    for (const id of identities) this.#identities.delete(id);
    if (identities.size === 0) return;
    for (const [id, record] of this.#store.conversations) {
      if (record.participants.some((user) => identities.has(user))) this.#conversations.delete(id);
    }
  }

  /**
   * Discards the snapshots of the objects that a pending change affects.
   * @param {Change} change
   */
  touchChange({ kind, conversation, ids, user }) {
    if (kind === "deliver") return;
    this.#conversations.delete(conversation);
    this.#identities.delete(user);
    if (!kinds[kind].message) return;
    for (const id of ids ?? this.#messages.keys()) this.#messages.delete(id);
    this.#lists.delete(conversation);
  }

  // Conversations

  /** @returns {Conversation[]} */
  conversations() {
    const ids = new Set(this.#store.conversations.keys());
    for (const { change } of this.#queue.operations) {
      if (change.kind === "createConversation") ids.add(String(change.conversation));
    }
    return [...ids].flatMap((id) => this.conversation(id) ?? []);
  }

  /** @param {string} id @returns {Conversation | null} */
  conversation(id) {
    let shown = this.#conversations.get(id);
    if (shown === undefined) {
      shown = this.#makeConversation(id);
      if (shown || this.#store.conversations.has(id)) this.#conversations.set(id, shown);
    }
    return shown;
  }

  /** @param {string} id */
  #makeConversation(id) {
    const context = { me: this.#core.me(), messages: this.#store.messagesIn(id), deleted: new Set(), read: new Set() };
    /** @type {any} */
    let record = this.#store.conversations.get(id) ?? null;
    for (const { change } of this.#queue.in(id)) {
      const apply = kinds[change.kind].conversation;
      if (apply && (record || change.kind === "createConversation")) record = apply(record, change, context);
    }
    if (!record || record.isHidden) return null;
    const last = record.lastMessage === null ? null : this.message(id, record.lastMessage);
    return new Conversation(record, record.participants.map(this.identity, this), last, this.#core);
  }

  // Messages

  /**
   * Returns the loaded messages of a conversation without gaps, oldest first.
   * @param {string} id
   */
  messages(id) {
    let list = this.#lists.get(id);
    if (!list) {
      const oldest = this.#store.conversations.get(id)?.oldest ?? 0;
      const known = [...this.#store.messagesIn(id).values()].filter(({ position }) => position >= oldest);
      const ids = new Set(known.sort((one, other) => one.position - other.position).map((message) => message.id));
      for (const { change } of this.#queue.in(id)) if (change.kind === "send") ids.add(change.ids[0]);
      list = Object.freeze([...ids].flatMap((message) => this.message(id, message) ?? []));
      this.#lists.set(id, list);
    }
    return list;
  }

  /** @param {string} conversation @param {string} id @returns {Message | null} */
  message(conversation, id) {
    const known = this.#messages.get(id);
    if (known) return known;
    /** @type {any} */
    let record = this.#store.messagesIn(conversation).get(id) ?? null;
    for (const { change } of this.#queue.in(conversation)) {
      const apply = kinds[change.kind].message;
      if (!apply || (!record && change.kind !== "send")) continue;
      if (change.ids?.includes(id) ?? true) record = apply(record, change, this.#core.me());
    }
    if (!record) return null;
    const shown = new Message(record, this.#core);
    this.#messages.set(id, shown);
    return shown;
  }

  // Identities

  /** @returns {Identity[]} */
  identities() {
    return [...this.#store.identities.keys()].map((user) => this.identity(user));
  }

  /**
   * Returns a user; one without details if nothing is known.
   * @param {string} user
   * @returns {Identity}
   */
  identity(user) {
    let shown = this.#identities.get(user);
    if (!shown) {
      const record = this.#store.identities.get(user) ?? { userId: user, displayName: null, avatarUrl: null };
      const state = {
        isFollowed: this.#store.followed.has(user),
        isBlocked: this.#store.blocked.has(user),
      };
      for (const { change } of this.#queue.operations) {
        if (change.user !== user) continue;
        if (change.kind.endsWith("follow")) state.isFollowed = change.kind === "follow";
        else state.isBlocked = change.kind === "block";
      }
      shown = new Identity(record, state, this.#core);
      this.#identities.set(user, shown);
    }
    return shown;
  }
}
