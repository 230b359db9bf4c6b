// SPDX-License-Identifier: Apache-2.0
import { Malformed } from "./errors.js";
import { applyStep } from "./metadata.js";
import {
  applyIdentityOperation, isObject, positionStep, readArray, readConversation, readConversationId, readCount,
  readIdentity, readMessage, readMessageId, readObject, readPart, statusRead, readStatus, readText, readUserId,
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
    try {
      const body = readObject(packet.body);
      if (packet.type === "change") this.#applyChange(body, isRepeated);
      else if (packet.type === "operation") this.#applyAllRead(body);
      this.#advance(packet, body);
      if (body.user_position !== undefined) {
        this.userPosition = Math.max(this.userPosition, readCount(body.user_position));
      }
      return true;
    } catch (error) {
      if (error instanceof Malformed) return false;
      throw error;
    }
  }

  /** @param {JSONObject} body @param {boolean} isRepeated */
  #applyChange(body, isRepeated) {
    const object = readObject(body.object);
    switch (`${object.type} ${body.operation}`) {
      case "Conversation create": return this.#createConversation(body);
      case "Conversation update": return this.#updateConversation(readConversationId(object.id), body);
      case "Conversation delete": return this.#deleteConversation(readConversationId(object.id), body);
      case "Message create": return this.#createMessage(body);
      case "Message update": return this.#updateMessage(readMessageId(object.id), body);
      case "Message delete": return this.#deleteMessage(readMessageId(object.id), body);
      case "MessagePart update": return this.#updatePart(readText(object.id), body);
      case "Identity create":
      case "Identity update":
      case "Identity delete": return this.#updateIdentity(readUserId(object.id), body, isRepeated);
    }
  }

  // Conversations

  /** @param {JSONObject} body */
  #createConversation(body) {
    const shown = readConversation(body.data);
    const position = body.position === undefined ? shown.record.position : readCount(body.position);
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
    const operations = readArray(body.data).map(readObject);
    const record = this.conversations.get(id);
    if (!record) return void this.unknown.add(id);
    const position = body.position === undefined ? null : readCount(body.position);
    const isNew = position === null || position >= record.position;
    this.#touched.conversations.add(id);
    for (const operation of operations) {
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
      if (operation === "delete") record.metadata = applyStep(record.metadata, { path, value: null });
      else if (operation === "set" && (typeof value === "string" ? path !== "" : isObject(value))) {
        record.metadata = applyStep(record.metadata, { path, value });
      } else throw new Malformed("a change of metadata is expected");
    }
  }

  /** @param {ConversationRecord} record @param {unknown} value */
  #setLastMessage(record, value) {
    const message = value === null ? null : readMessage(value);
    if (message && message.conversation !== record.id) throw new Malformed("a message of another conversation");
    if (message) this.#mergeMessage(message);
    record.lastMessage = message?.id ?? null;
  }

  /**
   * @param {ConversationRecord} record
   * @param {JSONObject} change
   * @param {number | null} position
   * @param {boolean} isNew
   */
  #updateParticipants(record, { operation, id, value }, position, isNew) {
    const user = readUserId(id);
    if (operation === "add") {
      if (value !== undefined) this.#putParticipant(readIdentity(value));
      if (position !== null) this.#readAll(record.id, user, position * positionStep - 1, true);
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
    const from = readObject(body.data).from_position ?? null;
    if (from === null) return this.forgetConversation(id);
    const position = readCount(from);
    for (const message of this.messagesIn(id).values()) {
      if ((message.position ?? 0) > position) continue;
      this.messages.get(id)?.delete(message.id);
      this.#touchMessage(message);
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
    this.#touched.messages.add(id);
  }

  /**
   * Records the position of an applied packet.
   * @param {JSONObject} packet
   * @param {JSONObject} body
   */
  #advance(packet, body) {
    const record = this.conversations.get(conversationOf(packet) ?? "");
    if (record && body.position !== undefined) record.position = Math.max(record.position, readCount(body.position));
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
  #touchMessage(message) {
    this.#touched.messages.add(message.conversation);
    this.#touched.changedMessages.add(message.id);
    if (this.conversations.get(message.conversation)?.lastMessage === message.id) {
      this.#touched.conversations.add(message.conversation);
    }
  }

  /**
   * Returns the stored message that a packet is about.
   * @param {string} id
   * @param {JSONObject} body
   */
  #find(id, body) {
    return this.messagesIn(readConversationId(readObject(body.conversation).id)).get(id);
  }

  /** @param {string} id @param {JSONObject} body */
  #updateMessage(id, body) {
    const message = this.#find(id, body);
    const operations = readArray(body.data).map(readObject);
    if (message) {
      const stamp = operations.filter(({ property }) => property === "updated_at").at(-1)?.value;
      const updatedAt = stamp === undefined ? null : readText(stamp);
      const areNew = updatedAt === null || updatedAt >= (message.updatedAt ?? "");
      for (const operation of operations) {
        if (operation.property !== "parts") this.#updateStatus(message, operation);
        else if (areNew) message.parts = changedParts(message.parts, operation);
      }
      if (areNew && updatedAt !== null) message.updatedAt = updatedAt;
      this.#touchMessage(message);
    }
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
    const owner = readMessageId(id.slice(0, id.indexOf("/parts/")));
    const message = this.#find(owner, body);
    const members = readArray(body.data).map(readObject).map(({ property, value }) => [property, value]);
    const place = message?.parts.findIndex((part) => part.id === id) ?? -1;
    if (message && place >= 0) {
      const known = message.parts[place];
      const part = readPart({ mime_type: known.mimeType, ...Object.fromEntries(members), id });
      if ((part.updatedAt ?? "\uffff") >= (known.updatedAt ?? "")) {
        message.parts = message.parts.map((other, index) => (index === place ? part : other));
      }
      this.#touchMessage(message);
    }
  }

  /** @param {string} id @param {JSONObject} body */
  #deleteMessage(id, body) {
    const message = this.#find(id, body);
    if (!message) return;
    this.#touchMessage(message);
    this.messages.get(message.conversation)?.delete(id);
  }

  /** @param {JSONObject} body */
  #applyAllRead(body) {
    if (body.method !== "Conversation.mark_all_read") return;
    const id = readConversationId(readObject(body.object).id);
    const data = readObject(body.data);
    this.#readAll(id, readUserId(readObject(data.identity).id), readCount(data.position), false);
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
      if ((message.position ?? 0) <= position && !isOwn) this.#advanceStatus(message, user, statusRead);
    }
  }

  // Identities

  /** @param {string} user @param {JSONObject} body @param {boolean} isRepeated */
  #updateIdentity(user, body, isRepeated) {
    const isOutdated = body.user_position !== undefined && readCount(body.user_position) < this.userPosition;
    if (isOutdated && !isRepeated) return;
    if (body.operation === "create") {
      this.#putIdentity(readIdentity(body.data));
      this.followed.add(user);
    } else if (body.operation === "delete") this.followed.delete(user);
    else this.#changeIdentity(user, readArray(body.data).map(readObject));
    this.#touched.identities.add(user);
  }

  /** @param {string} user @param {JSONObject[]} operations */
  #changeIdentity(user, operations) {
    for (const operation of operations) {
      if (operation.property === "blocked") this.setBlocked(user, operation.value === true);
      else {
        const known = this.identities.get(user);
        if (known) applyIdentityOperation(known, operation);
      }
    }
  }

  /** @param {string} user @param {boolean} isBlocked */
  setBlocked(user, isBlocked) {
    if (isBlocked) this.blocked.add(user);
    else this.blocked.delete(user);
    this.#touched.identities.add(user);
    if (!isBlocked || this.identities.has(user)) return;
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
   * @param {unknown} page
   * @param {number} count - The number of messages that were asked for.
   * @returns {Set<string>} The ids of the conversations on the page.
   */
  putConversationPage(page, count) {
    const ids = new Set();
    for (const json of readArray(page)) {
      skipMalformed(() => {
        const shown = readConversation(json);
        this.putConversation(shown, null);
        ids.add(shown.record.id);
        if (!Array.isArray(json.messages)) return;
        this.putMessages(shown.record.id, json.messages, null, json.messages_next || json.messages.length >= count);
      });
    }
    return ids;
  }

  /**
   * Replaces a range of messages by a page of the server, newest first and without gaps.
   * @param {string} id
   * @param {unknown} page
   * @param {number | null} below - The range ends below this position; null: it has no end.
   * @param {boolean} hasMore - False if the page reaches the first message.
   * @returns {boolean} False if the page leaves the range as it was.
   */
  putMessages(id, page, below, hasMore) {
    const conversation = this.conversations.get(id);
    const known = this.messages.get(id);
    /** @type {Map<string, MessageRecord>} */
    const shown = new Map();
    for (const json of readArray(page)) {
      skipMalformed(() => {
        const message = readMessage(json);
        if (message.conversation === id) shown.set(message.id, message);
      });
    }
    const positions = [...shown.values()].map((message) => message.position ?? 0);
    if (!conversation || !known || (hasMore && positions.length === 0)) return false;
    const first = hasMore ? Math.min(...positions) : 0;
    for (const message of known.values()) {
      const position = message.position ?? 0;
      if (position < first || position >= (below ?? Infinity)) continue;
      known.delete(message.id);
      this.#touchMessage(message);
    }
    for (const message of shown.values()) {
      known.set(message.id, message);
      this.#touchMessage(message);
    }
    conversation.oldest = Math.min(conversation.oldest ?? first, first);
    this.#touched.messages.add(id);
    this.#touched.conversations.add(id);
    return true;
  }

  /**
   * Stores a page of identities.
   * @param {unknown} page
   * @param {string} list - `identities`: followed users. `blocks`: blocked users.
   */
  putUsers(page, list) {
    for (const json of readArray(page)) {
      skipMalformed(() => {
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
export function conversationOf({ body }) {
  if (!isObject(body)) return undefined;
  const data = isObject(body.data) ? body.data : {};
  const object = isObject(body.object) ? body.object : {};
  return object.type === "Conversation" ? object.id : (body.conversation?.id ?? data.conversation?.id);
}

const noneTouched = () => ({
  /** @type {Set<string>} */ conversations: new Set(),
  /** Conversations with changed messages. @type {Set<string>} */ messages: new Set(),
  /** @type {Set<string>} */ changedMessages: new Set(),
  /** @type {Set<string>} */ identities: new Set(),
});

/**
 * Runs a function, and ignores a malformed object.
 * @param {() => void} read
 */
function skipMalformed(read) {
  try {
    read();
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
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
 */
function changedParts(parts, change) {
  const { operation, id, value } = change;
  if (operation === "set") return readArray(value).map(readPart);
  if (operation === "remove") return parts.filter((part) => part.id !== readText(id));
  if (operation !== "add") return parts;
  const added = readPart(value);
  const place = parts.findIndex((part) => part.id === added.id);
  return place < 0 ? [...parts, added] : parts.map((part, index) => (index === place ? added : part));
}
