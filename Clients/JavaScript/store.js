// SPDX-License-Identifier: Apache-2.0
import { check } from "./errors.js";
import { applyStep, isObject } from "./metadata.js";
import {
  applyIdentityOperation, positionStep, readConversation, readConversationId, readCount, readIdentity, readMessage,
  readMessageId, readPart, statusRead, readStatus, readText, readUserId,
} from "./wire.js";

/**
 * @typedef {import("./wire.js").ConversationRecord} ConversationRecord
 * @typedef {import("./wire.js").MessageRecord} MessageRecord
 * @typedef {import("./wire.js").IdentityRecord} IdentityRecord
 * @typedef {import("./wire.js").JSONObject} JSONObject
 */

/**
 * The server's state, as far as it is loaded. Packets are applied by the rules of "Applying packets" in
 * docs/protocol.md. Applying a packet again has no further effect.
 */
export class Store {
  /** @type {Map<string, ConversationRecord>} */
  conversations = new Map();
  /** @type {Map<string, Map<string, MessageRecord>>} Messages by conversation and id. */
  messages = new Map();
  /** @type {Map<string, IdentityRecord>} */
  identities = new Map();
  /** @type {Set<string>} User ids. */
  followed = new Set();
  /** @type {Set<string>} User ids. */
  blocked = new Set();
  /** The highest applied position of the user's own log. */
  userPosition = 0;
  /** @type {string | null} The epoch of the loaded conversations. */
  epoch = null;
  /** True if a conversation has another epoch than those before it. */
  hasOtherEpoch = false;
  /** @type {Set<string>} Conversations to load, because a packet about them arrived. */
  unknown = new Set();
  /** @type {Set<string>} Conversations whose newest messages are to be loaded. */
  incomplete = new Set();
  /** Ids of the objects that changed since the last {@link takeTouched}. */
  #touched = noneTouched();
  #me;

  /** @param {string} me - The user id of the signed-in user. */
  constructor(me) {
    this.#me = me;
  }

  get me() {
    return this.#me;
  }

  takeTouched() {
    const touched = this.#touched;
    this.#touched = noneTouched();
    return touched;
  }

  /** @param {string} id @returns {Map<string, MessageRecord>} */
  messagesIn(id) {
    return this.messages.get(id) ?? new Map();
  }

  /**
   * Applies one packet. Unknown types, operations and members are ignored.
   * @param {JSONObject} packet
   * @param {boolean} [isRepeated] - True to apply a packet again, after a load.
   * @returns {boolean} False if the packet is malformed; then a part of it may have been applied.
   */
  apply(packet, isRepeated = false) {
    return succeeds(() => {
      const { type, body } = packet;
      if (type === "change") this.#applyChange(body, isRepeated);
      else if (type === "operation" && body.method === "Conversation.mark_all_read") this.#applyAllRead(body);
      const { position = 0, user_position = 0 } = body;
      const record = this.conversations.get(conversationOf(packet) ?? "");
      if (record) record.position = Math.max(record.position, readCount(position));
      this.userPosition = Math.max(this.userPosition, readCount(user_position));
    });
  }

  /** @param {JSONObject} body @param {boolean} isRepeated */
  #applyChange(body, isRepeated) {
    const { type, id } = body.object;
    switch (`${type} ${body.operation}`) {
      case "Conversation create": return this.#createConversation(body);
      case "Conversation update": return this.#updateConversation(readConversationId(id), body);
      case "Conversation delete": return this.#deleteConversation(readConversationId(id), body);
      case "Message create": return this.#createMessage(body);
      case "Message update": return this.#updateMessage(id, body);
      case "Message delete": return this.#deleteMessage(id, body);
      case "MessagePart update": return this.#updatePart(readText(id), body);
      case "Identity create":
      case "Identity update":
      case "Identity delete": return this.#updateIdentity(readUserId(id), body, isRepeated);
    }
  }

  // Conversations

  /** @param {JSONObject} body */
  #createConversation(body) {
    const shown = readConversation(body.data);
    const position = readCount(body.position ?? shown.record.position);
    const known = this.conversations.get(shown.record.id);
    // Changes were missed if the user was no participant in between.
    const isNew = !known || known.participants.length === 0 || position > known.position;
    this.putConversation(shown, isNew ? null : known.oldest);
    if (isNew && shown.record.oldest === null) this.incomplete.add(shown.record.id);
  }

  /**
   * Replaces a conversation.
   * @param {ReturnType<typeof readConversation>} shown
   * @param {number | null} oldest - The position from which all messages are loaded; null if unknown.
   */
  putConversation({ record, identities, last }, oldest) {
    record.oldest = record.total === 0 ? 0 : oldest;
    this.unknown.delete(record.id);
    this.conversations.set(record.id, record);
    for (const identity of identities) this.#putParticipant(identity);
    if (!this.messages.has(record.id)) this.messages.set(record.id, new Map());
    if (last) this.#mergeMessage(last);
    if (record.epoch !== null && this.epoch !== null && record.epoch !== this.epoch) this.hasOtherEpoch = true;
    this.epoch ??= record.epoch;
    this.#touched.conversations.add(record.id);
  }

  /** @param {IdentityRecord} identity */
  #putParticipant(identity) {
    this.#putIdentity(identity);
    if (identity.userId !== this.#me) this.followed.add(identity.userId);
  }

  /** @param {string} id @param {JSONObject} body */
  #updateConversation(id, body) {
    const record = this.conversations.get(id);
    if (!record) return void this.unknown.add(id);
    const { position } = body;
    const isNew = position === undefined || readCount(position) >= record.position;
    this.#touched.conversations.add(id);
    for (const operation of body.data) {
      if (operation.property === "participants") this.#updateParticipants(record, operation, position, isNew);
      else this.#updateMember(record, operation, isNew);
    }
  }

  /**
   * @param {ConversationRecord} record
   * @param {JSONObject} change
   * @param {boolean} isNew - True if the record may not contain the change yet.
   */
  #updateMember(record, change, isNew) {
    const { operation, property, value } = change;
    if (property === "unread_message_count") record.unread = readCount(value);
    else if (property === "total_message_count") record.total = readCount(value);
    else if (property === "last_message") this.#setLastMessage(record, value);
    else if (property === "distinct") record.distinct = isNew ? value === true : record.distinct;
    else if (isNew && (property === "metadata" || `${property}`.startsWith("metadata."))) {
      const path = property.slice("metadata.".length);
      check(operation === "delete" || isObject(value) || (typeof value === "string" && path !== ""));
      record.metadata = applyStep(record.metadata, { path, value: operation === "delete" ? null : value });
    }
  }

  /** @param {ConversationRecord} record @param {unknown} value */
  #setLastMessage(record, value) {
    const message = value === null ? null : readMessage(value);
    check(!message || message.conversation === record.id);
    if (message) this.#mergeMessage(message);
    record.lastMessage = message?.id ?? null;
  }

  /**
   * @param {ConversationRecord} record
   * @param {JSONObject} change
   * @param {number | undefined} position
   * @param {boolean} isNew
   */
  #updateParticipants(record, { operation, id, value }, position, isNew) {
    const user = readUserId(id);
    if (operation === "add") {
      if (value !== undefined) this.#putParticipant(readIdentity(value));
      if (position !== undefined) this.#readAll(record.id, user, position * positionStep - 1, true);
      if (!isNew || record.participants.includes(user)) return;
      // A participant sees the others, and they are not in this packet.
      if (user === this.#me) this.unknown.add(record.id);
      record.participants = [...record.participants, user];
    } else if (operation === "remove" && isNew) {
      record.participants = user === this.#me ? [] : record.participants.filter((other) => other !== user);
    }
  }

  /** @param {string} id @param {JSONObject} body */
  #deleteConversation(id, body) {
    const position = body.data.from_position ?? null;
    if (position === null) return this.forgetConversation(id);
    readCount(position);
    for (const message of this.messagesIn(id).values()) {
      if (message.position <= position) this.#removeMessage(message);
    }
    this.#touched.conversations.add(id);
  }

  /**
   * Removes a conversation and its messages.
   * @param {string} id
   */
  forgetConversation(id) {
    for (const message of this.messagesIn(id).values()) this.#touchMessage(message);
    this.conversations.delete(id);
    this.messages.delete(id);
    this.unknown.delete(id);
    this.incomplete.delete(id);
    this.#touched.conversations.add(id);
  }

  // Messages

  /** @param {JSONObject} body */
  #createMessage(body) {
    const message = readMessage(body.data);
    if (!this.conversations.has(message.conversation)) return void this.unknown.add(message.conversation);
    this.#mergeMessage(message);
  }

  /**
   * Stores a message, or merges it into the stored one.
   * @param {MessageRecord} message
   */
  #mergeMessage(message) {
    const messages = this.messages.get(message.conversation);
    const known = messages?.get(message.id);
    if (known) {
      for (const [user, status] of known.statuses) {
        message.statuses.set(user, Math.max(status, message.statuses.get(user) ?? 0));
      }
      message.isUnread &&= known.isUnread && message.statuses.get(this.#me) !== statusRead;
      const [old, now] = [known.updatedAt ?? "", message.updatedAt ?? ""];
      if (old > now) [message.parts, message.updatedAt] = [known.parts, known.updatedAt];
      else if (old === now) message.parts = unionOf(message.parts, known.parts);
    }
    messages?.set(message.id, message);
    this.#touchMessage(message);
  }

  /** @param {MessageRecord} message */
  #touchMessage({ id, conversation }) {
    this.#touched.messages.set(id, conversation);
    if (this.conversations.get(conversation)?.lastMessage === id) this.#touched.conversations.add(conversation);
  }

  /** @param {MessageRecord} message */
  #removeMessage(message) {
    this.#touchMessage(message);
    this.messages.get(message.conversation)?.delete(message.id);
  }

  /**
   * Returns the stored message that a packet is about.
   * @param {string} id
   * @param {JSONObject} body
   */
  #find(id, body) {
    return this.messagesIn(readConversationId(body.conversation.id)).get(readMessageId(id));
  }

  /** @param {string} id @param {JSONObject} body */
  #updateMessage(id, body) {
    const message = this.#find(id, body);
    if (!message) return;
    const stamp = body.data.filter((/** @type {JSONObject} */ one) => one.property === "updated_at").at(-1)?.value;
    const updatedAt = stamp === undefined ? message.updatedAt : readText(stamp);
    const areNew = (updatedAt ?? "") >= (message.updatedAt ?? "");
    for (const operation of body.data) {
      if (operation.property !== "parts") this.#updateStatus(message, operation);
      else if (areNew) message.parts = changedParts(message.parts, operation);
    }
    if (areNew) message.updatedAt = updatedAt;
    this.#touchMessage(message);
  }

  /** @param {MessageRecord} message @param {JSONObject} operation */
  #updateStatus(message, { property, value }) {
    const prefix = "recipient_status.";
    if (typeof property !== "string" || !property.startsWith(prefix)) return;
    const user = readUserId(property.slice(prefix.length).replace(/\\(.)/g, "$1"));
    this.#advanceStatus(message, user, readStatus(value));
  }

  /** @param {MessageRecord} message @param {string} user @param {number} status */
  #advanceStatus(message, user, status) {
    message.statuses.set(user, Math.max(status, message.statuses.get(user) ?? 0));
    if (user === this.#me && status === statusRead) message.isUnread = false;
    this.#touchMessage(message);
  }

  /** @param {string} id @param {JSONObject} body */
  #updatePart(id, body) {
    const message = this.#find(id.split("/parts/")[0], body);
    const known = message?.parts.find((part) => part.id === id);
    if (!message || !known) return;
    const members = body.data.map((/** @type {JSONObject} */ { property, value }) => [property, value]);
    const part = readPart({ mime_type: known.mimeType, ...Object.fromEntries(members), id });
    if ((part.updatedAt ?? "\uffff") < (known.updatedAt ?? "")) return;
    message.parts = message.parts.map((other) => (other === known ? part : other));
    this.#touchMessage(message);
  }

  /** @param {string} id @param {JSONObject} body */
  #deleteMessage(id, body) {
    const message = this.#find(id, body);
    if (message) this.#removeMessage(message);
  }

  /** @param {JSONObject} body */
  #applyAllRead({ object, data }) {
    this.#readAll(readConversationId(object.id), readUserId(data.identity.id), readCount(data.position), false);
  }

  /**
   * Marks messages as read by a user.
   * @param {string} id
   * @param {string} user
   * @param {number} position - The position of the last message to mark.
   * @param {boolean} includesOwn - True to mark messages that the user sent, too.
   */
  #readAll(id, user, position, includesOwn) {
    for (const message of this.messagesIn(id).values()) {
      const isOwn = message.sender === user && !includesOwn;
      if (message.position <= position && !isOwn) this.#advanceStatus(message, user, statusRead);
    }
  }

  // Identities

  /** @param {string} user @param {JSONObject} body @param {boolean} isRepeated */
  #updateIdentity(user, { operation, data, user_position }, isRepeated) {
    if (!isRepeated && user_position < this.userPosition) return;
    this.#touched.identities.add(user);
    if (operation === "create") return this.#putParticipant(readIdentity(data));
    if (operation === "delete") return void this.followed.delete(user);
    // The server sends no identity of a user without conversations.
    if (user === this.#me && !this.identities.has(user)) this.#putUnnamed(user);
    const known = this.identities.get(user);
    for (const one of data) {
      if (one.property === "blocked") this.setBlocked(user, one.value === true);
      else if (known) applyIdentityOperation(known, one);
    }
  }

  /** @param {string} user @param {boolean} isBlocked */
  setBlocked(user, isBlocked) {
    if (isBlocked) this.blocked.add(user);
    else this.blocked.delete(user);
    this.#touched.identities.add(user);
    if (isBlocked && !this.identities.has(user)) this.#putUnnamed(user);
  }

  /** @param {string} user */
  #putUnnamed(user) {
    this.#putIdentity({ userId: user, displayName: null, avatarUrl: null });
  }

  /** @param {IdentityRecord} identity */
  #putIdentity(identity) {
    const known = this.identities.get(identity.userId);
    this.identities.set(identity.userId, identity.isBasic && known ? { ...known, ...identity, isBasic: known.isBasic } :
      { ...(known?.presence ? { presence: known.presence } : {}), ...identity });
    this.#touched.identities.add(identity.userId);
  }

  // Loads

  /**
   * Stores a page of conversations with their newest messages.
   * @param {any} page
   * @param {number} count - The number of messages that were asked for.
   * @returns {Set<string>} The ids of the conversations on the page.
   */
  putConversationPage(page, count) {
    const ids = new Set();
    for (const json of page) {
      succeeds(() => {
        const shown = readConversation(json);
        const { messages, messages_next } = json;
        this.putConversation(shown, null);
        ids.add(shown.record.id);
        if (messages) this.putMessages(shown.record.id, messages, null, messages_next || messages.length >= count);
      });
    }
    return ids;
  }

  /**
   * Replaces a range of messages by a page of the server, newest first and without gaps.
   * @param {string} id
   * @param {any} page
   * @param {number | null} below - The range ends below this position; null: it has no end.
   * @param {boolean} hasMore - False if the page reaches the first message.
   * @returns {boolean} False if the page leaves the range as it was.
   */
  putMessages(id, page, below, hasMore) {
    const conversation = this.conversations.get(id);
    const known = this.messages.get(id);
    /** @type {Map<string, MessageRecord>} */
    const shown = new Map();
    for (const json of page) {
      succeeds(() => {
        const message = readMessage(json);
        if (message.conversation === id) shown.set(message.id, message);
      });
    }
    if (!conversation || !known || (hasMore && shown.size === 0)) return false;
    const first = hasMore ? Math.min(...[...shown.values()].map((message) => message.position)) : 0;
    for (const message of known.values()) {
      const position = message.position;
      if (position >= first && position < (below ?? Infinity)) this.#removeMessage(message);
    }
    for (const message of shown.values()) {
      known.set(message.id, message);
      this.#touchMessage(message);
    }
    conversation.oldest = Math.min(conversation.oldest ?? first, first);
    this.#touched.conversations.add(id);
    return true;
  }

  /**
   * Stores a page of identities.
   * @param {any} page
   * @param {string} list - `identities`: followed users. `blocks`: blocked users.
   */
  putUsers(page, list) {
    for (const json of page) {
      succeeds(() => {
        const identity = readIdentity(json);
        if (list === "identities") this.#putParticipant(identity);
        else this.#putIdentity(identity);
        if (list === "blocks") this.setBlocked(identity.userId, true);
      });
    }
  }
}

/**
 * Returns the id of the conversation that a packet is about.
 * @param {JSONObject} packet
 * @returns {string | undefined}
 */
export const conversationOf = ({ body }) =>
  body?.object?.type === "Conversation" ? body.object.id : (body?.conversation?.id ?? body?.data?.conversation?.id);

const noneTouched = () => ({
  /** @type {Set<string>} */ conversations: new Set(),
  /** Conversations by the ids of changed messages. @type {Map<string, string>} */ messages: new Map(),
  /** @type {Set<string>} */ identities: new Set(),
});

/**
 * Runs a reader. Any error means that the JSON is malformed.
 * @param {() => void} read
 * @returns {boolean} False if the reader threw.
 */
function succeeds(read) {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

/** @typedef {import("./wire.js").PartRecord} PartRecord */

/** @param {PartRecord[]} parts @param {PartRecord[]} others */
const unionOf = (parts, others) =>
  [...parts, ...others.filter((other) => !parts.some((part) => part.id === other.id))];

/**
 * Applies an operation on the parts of a message.
 * @param {PartRecord[]} parts
 * @param {JSONObject} change
 * @returns {PartRecord[]}
 */
function changedParts(parts, { operation, id, value }) {
  if (operation === "set") return value.map(readPart);
  if (operation === "remove") return parts.filter((part) => part.id !== id);
  if (operation !== "add") return parts;
  const added = readPart(value);
  return unionOf(parts.map((part) => (part.id === added.id ? added : part)), [added]);
}
