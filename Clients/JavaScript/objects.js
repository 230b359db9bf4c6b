// SPDX-License-Identifier: Apache-2.0
import { invalid } from "./errors.js";
import { checkPath, checkValue, stepsOf, valueAt } from "./metadata.js";
import { randomUUID, statusNames, userId } from "./wire.js";

/**
 * The objects that an app works with. Each is a snapshot: a later change makes another object, and an unchanged object
 * stays the same one. The methods act on the present state.
 *
 * @typedef {import("./client.js").Core} Core
 * @typedef {import("./changes.js").Change} Change
 * @typedef {import("./changes.js").ShownConversation} ShownConversation
 * @typedef {import("./changes.js").ShownMessage} ShownMessage
 * @typedef {import("./wire.js").IdentityRecord} IdentityRecord
 * @typedef {import("./metadata.js").Metadata} Metadata
 * @typedef {import("./typing.js").TypingAction} TypingAction
 *
 * @typedef {object} NewPart A part of a new message. It has a body or a content.
 * @property {string} mimeType
 * @property {string} [body] - Text of at most 2048 UTF-16 code units or, with `encoding`, 2048 encoded bytes.
 * @property {"base64"} [encoding]
 * @property {{id: string, size?: number}} [content] - Uploaded content, see content.js.
 * @typedef {string | NewPart | NewPart[]} NewContent Text, or parts.
 * @typedef {"my_devices" | "all_participants"} DeletionMode
 */

/** A user, as far as this user knows them. */
export class Identity {
  #core;
  #record;

  /** @param {IdentityRecord} record @param {{isFollowed: boolean, isBlocked: boolean}} state @param {Core} core */
  constructor(record, state, core) {
    this.#record = record;
    this.#core = core;
    /** @type {string} */
    this.userId = record.userId;
    /** @type {string | null} */
    this.displayName = record.displayName;
    /** @type {string | null} */
    this.avatarUrl = record.avatarUrl;
    /** @type {boolean} True if the signed-in user follows this user. */
    this.isFollowed = state.isFollowed;
    /** @type {boolean} True if the signed-in user has blocked this user. */
    this.isBlocked = state.isBlocked;
    /** @type {"available" | "busy" | "away" | "offline" | "invisible"} */
    this.presence = record.presence?.status ?? "offline";
    /** @type {Date | null} The time when the user was last seen; null if unknown. */
    this.lastSeenAt = record.presence?.lastSeenAt ? new Date(record.presence.lastSeenAt) : null;
    Object.freeze(this);
  }

  /**
   * The name to show: the display name or, without one, the user id.
   * @returns {string}
   */
  get name() {
    return this.displayName ?? this.userId;
  }

  /**
   * The details that only full identities have.
   * @returns {Readonly<Record<string, any>>}
   */
  get details() {
    const { firstName, lastName, phoneNumber, emailAddress, publicKey, type, metadata } = this.#record;
    return { firstName, lastName, phoneNumber, emailAddress, publicKey, type, metadata };
  }

  /**
   * Follows the user.
   * @returns {Promise<void>}
   */
  follow() {
    return this.#change("follow");
  }

  /**
   * Ends following. It has no effect while the two users share a conversation.
   * @returns {Promise<void>}
   */
  unfollow() {
    return this.#change("unfollow");
  }

  /**
   * Blocks the user.
   * @returns {Promise<void>}
   */
  block() {
    return this.#change("block");
  }

  /**
   * Ends the block.
   * @returns {Promise<void>}
   */
  unblock() {
    return this.#change("unblock");
  }

  /** @param {string} kind @returns {Promise<void>} */
  #change(kind) {
    return this.#core.change({ kind, user: this.userId });
  }
}

/** A message of a conversation. */
export class Message {
  #core;
  #record;

  /** @param {ShownMessage} record @param {Core} core */
  constructor(record, core) {
    this.#core = core;
    this.#record = record;
    /** @type {string} */
    this.id = record.id;
    /** @type {string} */
    this.conversationId = record.conversation;
    /** @type {number | null} The place in the conversation; null while the message is not sent. */
    this.position = record.position;
    /** @type {readonly Readonly<import("./wire.js").PartRecord>[]} */
    this.parts = Object.freeze(record.parts.map((part) => Object.freeze(part)));
    /** @type {string | null} The sender's user id; null if the app's own server sent the message. */
    this.senderId = record.sender;
    /** @type {Date} */
    this.sentAt = new Date(record.sentAt);
    /** @type {Date | null} The time of the last change of a part; null if there was none. */
    this.updatedAt = record.updatedAt ? new Date(record.updatedAt) : null;
    /** @type {boolean} */
    this.isUnread = record.isUnread;
    /** @type {boolean} True until the server has the message. */
    this.isPending = record.isPending === true;
    /** @type {ReadonlyMap<string, string>} Statuses by user id: `sent`, `delivered` or `read`. */
    this.statuses = new Map([...record.statuses].map(([user, status]) => [user, statusNames[status]]));
    Object.freeze(this);
  }

  /**
   * The sender; null if the app's own server sent the message.
   * @returns {Identity | null}
   */
  get sender() {
    return this.senderId === null ? null : this.#core.identity(this.senderId);
  }

  /**
   * The name of the sender.
   * @returns {string}
   */
  get senderName() {
    return this.sender?.name ?? this.#record.senderName ?? "";
  }

  /**
   * The text of the message's parts of type `text/plain`, in lines.
   * @returns {string}
   */
  get text() {
    const texts = this.parts.filter((part) => part.mimeType.startsWith("text/plain") && part.encoding === null);
    return texts.map((part) => part.body ?? "").join("\n");
  }

  /**
   * Marks the message as read.
   * @returns {Promise<void>}
   */
  markRead() {
    return this.isUnread ? this.#change("read") : Promise.resolve();
  }

  /**
   * Replaces the parts. Only the sender may.
   * @param {NewContent} content
   * @returns {Promise<void>}
   */
  edit(content) {
    return this.#change("edit", { data: { parts: partsOf(content, this.id) } });
  }

  /**
   * Deletes the message.
   * @param {DeletionMode} [mode]
   * @returns {Promise<void>}
   */
  delete(mode = "my_devices") {
    return this.#change("deleteMessage", { mode });
  }

  /** @param {string} kind @param {Partial<Change>} [more] @returns {Promise<void>} */
  #change(kind, more) {
    return this.#core.change({ kind, conversation: this.conversationId, ids: [this.id], ...more });
  }
}

/** A conversation, as the signed-in user sees it. */
export class Conversation {
  #core;

  /**
   * @param {ShownConversation} record
   * @param {Identity[]} participants
   * @param {Message | null} lastMessage
   * @param {Core} core
   */
  constructor(record, participants, lastMessage, core) {
    this.#core = core;
    /** @type {string} */
    this.id = record.id;
    /** @type {Date} */
    this.createdAt = new Date(record.createdAt);
    /** @type {readonly Identity[]} The participants, the user included; empty after the user has left. */
    this.participants = Object.freeze(participants);
    /** @type {boolean} True if it is the one conversation of exactly these participants. */
    this.distinct = record.distinct;
    /** @type {boolean} */
    this.deliveryReceipts = record.deliveryReceipts;
    /** @type {boolean} */
    this.readReceipts = record.readReceipts;
    /** @type {Metadata} A frozen tree of strings, without a prototype. */
    this.metadata = record.metadata;
    /** @type {Message | null} */
    this.lastMessage = lastMessage;
    /** @type {number} */
    this.unreadCount = record.unread;
    /** @type {number} */
    this.totalCount = record.total;
    /** @type {boolean} True until the server has the conversation. */
    this.isPending = record.isPending === true;
    Object.freeze(this);
  }

  /**
   * The conversation on the server; rejects if the creation was refused.
   * @returns {Promise<Conversation>}
   */
  get created() {
    return this.#core.created(this.id);
  }

  /**
   * The users who type, with their actions `started` or `paused`.
   * @returns {Map<string, TypingAction>}
   */
  get typists() {
    return this.#core.typists(this.id);
  }

  /**
   * Returns the live list of the messages, oldest first.
   * @param {{limit?: number}} [options] - `limit`: the number of messages that one page loads, 1 to 100, default 20.
   * @returns {import("./lists.js").MessageList}
   */
  messages(options = {}) {
    return this.#core.messages(this.id, options.limit ?? 20);
  }

  /**
   * Sends a message. It is shown at once.
   * @param {NewContent} content
   * @param {{notification?: Record<string, any>}} [options]
   * @returns {Promise<Message>} The message, once the server has it.
   */
  send(content, options = {}) {
    const id = `layer:///messages/${randomUUID()}`;
    return this.#core.send(this.id, id, { parts: partsOf(content, id), ...options });
  }

  /**
   * Reports that the user types. Call it for every keystroke; only necessary signals are sent.
   * @param {TypingAction} [action]
   */
  typing(action = "started") {
    this.#core.typing(this.id, action);
  }

  /**
   * Marks all messages as read.
   * @returns {Promise<void>}
   */
  markAllRead() {
    const position = this.#core.newest(this.id);
    return position > 0 ? this.#change("readAll", { position }) : Promise.resolve();
  }

  /**
   * Returns the value at a key path such as `trip.city`; undefined if there is none.
   * @param {string} path
   */
  valueAt(path) {
    return valueAt(this.metadata, path);
  }

  /**
   * Sets the value at a key path. An object replaces everything below the path.
   * @param {string} path - Keys with dots between them.
   * @param {string | Metadata} value - A string of at most 2048 bytes, or an object.
   * @returns {Promise<void>}
   */
  setMetadata(path, value) {
    return this.#setMetadata([{ path: checkPath(path), value: checkValue(value, path) }]);
  }

  /**
   * Sets every string of a tree by its own path; other keys stay.
   * @param {Metadata} values
   * @returns {Promise<void>}
   */
  mergeMetadata(values) {
    return this.#setMetadata(stepsOf(/** @type {Metadata} */ (checkValue(values))));
  }

  /**
   * Deletes key paths, and everything below them.
   * @param {...string} paths
   * @returns {Promise<void>}
   */
  deleteMetadata(...paths) {
    return this.#setMetadata(paths.map((path) => ({ path: checkPath(path), value: null })));
  }

  /** @param {import("./metadata.js").MetadataStep[]} steps @returns {Promise<void>} */
  #setMetadata(steps) {
    return steps.length > 0 ? this.#change("setMetadata", { steps }) : Promise.resolve();
  }

  /** @param {string} kind @param {Partial<Change>} more @returns {Promise<void>} */
  #change(kind, more) {
    return this.#core.change({ kind, conversation: this.id, ...more });
  }

  /**
   * Adds users.
   * @param {...string} users - User ids.
   * @returns {Promise<void>}
   */
  add(...users) {
    return this.#setParticipants("add", users);
  }

  /**
   * Removes users.
   * @param {...string} users - User ids.
   * @returns {Promise<void>}
   */
  remove(...users) {
    return this.#setParticipants("remove", users);
  }

  /**
   * Leaves the conversation. It stays on the list, without participants.
   * @returns {Promise<void>}
   */
  leave() {
    return this.#setParticipants("remove", [this.#core.me()]);
  }

  /** @param {"add" | "remove"} operation @param {string[]} users @returns {Promise<void>} */
  #setParticipants(operation, users) {
    const participants = users.map((user) => ({ operation, user: userId(user) }));
    return this.#change("setParticipants", { participants });
  }

  /**
   * Deletes the conversation.
   * @param {DeletionMode} [mode] - `my_devices`: a later message brings it back.
   * @param {{leave?: boolean}} [options] - `leave`: leave it, too; with `my_devices`.
   * @returns {Promise<void>}
   */
  delete(mode = "my_devices", options = {}) {
    const position = this.#core.position(this.id);
    return this.#change("deleteConversation", { mode, leave: options.leave === true, position });
  }
}

/**
 * Returns the parts of a message's body for the server.
 * @param {NewContent} content
 * @param {string} id
 */
export function partsOf(content, id) {
  const parts = Array.isArray(content) ? content : [content];
  if (parts.length === 0) throw invalid("parts", "A message has a part.");
  return parts.map((part) => {
    if (typeof part === "string") part = { mimeType: "text/plain", body: part };
    const { mimeType, body, encoding, content: uploaded } = part;
    const reference = uploaded && { id: uploaded.id, size: uploaded.size };
    return { id: `${id}/parts/${randomUUID()}`, mime_type: mimeType, body, encoding, content: reference };
  });
}
