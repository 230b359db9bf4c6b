// SPDX-License-Identifier: Apache-2.0
import { Malformed, StrataError } from "./errors.js";
import { readTree } from "./metadata.js";

/**
 * Readers of the server's JSON. Each returns a record with known members only, or throws {@link Malformed}.
 *
 * @typedef {Record<string, any>} JSONObject
 * @typedef {{userId: string, displayName: string | null, avatarUrl: string | null, isBasic?: boolean} & JSONObject}
 *   IdentityRecord
 * @typedef {{id: string, downloadUrl: string | null, expiration: string | null, size: number}} ContentRecord
 * @typedef {{id: string, mimeType: string, body: string | null, encoding: string | null, size: number,
 *   content: ContentRecord | null, updatedAt: string | null}} PartRecord
 * @typedef {{id: string, conversation: string, position: number | null, parts: PartRecord[], sentAt: string,
 *   updatedAt: string | null, sender: string | null, senderName: string | null, isUnread: boolean,
 *   statuses: Map<string, number>}} MessageRecord
 * @typedef {{id: string, createdAt: string, participants: string[], distinct: boolean, deliveryReceipts: boolean,
 *   readReceipts: boolean, metadata: import("./metadata.js").Metadata, lastMessage: string | null, unread: number,
 *   total: number, position: number, oldest: number | null, epoch: string | null}} ConversationRecord
 */

/** The number of message positions per change of a conversation. */
export const positionStep = 8192;

/** Returns a random UUID (RFC 9562, version 4). Pages without HTTPS have no `crypto.randomUUID`. */
export function randomUUID() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The statuses of a message for one recipient, in their order. */
export const statusNames = ["sent", "delivered", "read"];
export const statusRead = 2;

const identityPrefix = "layer:///identities/";
const conversationId = /^layer:\/\/\/conversations\/[0-9a-f-]{36}$/i;
const messageId = /^layer:\/\/\/messages\/[0-9a-f-]{36}$/i;

/** @param {unknown} value @returns {value is JSONObject} */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Returns a reader of values that pass a check.
 * @param {(value: any) => boolean} isValid
 * @param {string} what - The name of valid values.
 * @returns {(value: unknown) => any}
 */
const reader = (isValid, what) => (value) => {
  if (!isValid(value)) throw new Malformed(`${what} is expected`);
  return value;
};

/** @param {RegExp} pattern @returns {(value: unknown) => boolean} */
const isId = (pattern) => (value) => typeof value === "string" && pattern.test(value);

/** @type {(value: unknown) => JSONObject} */
export const readObject = reader(isObject, "an object");
/** @type {(value: unknown) => any[]} */
export const readArray = reader(Array.isArray, "an array");
/** @type {(value: unknown) => string} */
export const readText = reader((value) => typeof value === "string", "a string");
/** @type {(value: unknown) => number} Reads a count or a position. */
export const readCount = reader((value) => Number.isSafeInteger(value) && value >= 0, "a count");
/** @type {(value: unknown) => string} */
export const readConversationId = reader(isId(conversationId), "a conversation's id");
/** @type {(value: unknown) => string} */
export const readMessageId = reader(isId(messageId), "a message's id");

/** @param {unknown} value @returns {string | null} */
const readOptionalText = (value) => (value === null || value === undefined ? null : readText(value));

/**
 * Returns the user id in an identity id.
 * @param {unknown} value
 * @returns {string}
 */
export function readUserId(value) {
  const id = readText(value);
  if (!id.startsWith(identityPrefix) || id.length === identityPrefix.length) {
    throw new Malformed("an identity's id is expected");
  }
  try {
    return decodeURIComponent(id.slice(identityPrefix.length));
  } catch {
    throw new Malformed("an identity's id is expected");
  }
}

/**
 * Returns the user id of a user id or an identity id that the app gave. Throws `invalid_property`.
 * @param {string} user
 * @returns {string}
 */
export function userId(user) {
  try {
    return String(user).startsWith(identityPrefix) ? readUserId(user) : String(user);
  } catch {
    throw new StrataError("invalid_property", `${user} is no user's id.`, { property: "user_id" });
  }
}

/**
 * Returns the identity id of a user.
 * @param {string} user
 * @returns {string}
 */
export const identityId = (user) => identityPrefix + encodeURIComponent(user);

/**
 * Returns the last segment of a `layer:///` id.
 * @param {string} id
 * @returns {string}
 */
export const uuidOf = (id) => id.slice(id.lastIndexOf("/") + 1);

/** @param {unknown} value @returns {number} */
export function readStatus(value) {
  const status = statusNames.indexOf(readText(value));
  if (status < 0) throw new Malformed("a recipient status is expected");
  return status;
}

const identityMembers = /** @type {const} */ ({
  display_name: "displayName",
  avatar_url: "avatarUrl",
  first_name: "firstName",
  last_name: "lastName",
  phone_number: "phoneNumber",
  email_address: "emailAddress",
  public_key: "publicKey",
  identity_type: "type",
});

/**
 * Reads an identity; a basic one has a name and a picture only.
 * @param {unknown} value
 * @returns {IdentityRecord}
 */
export function readIdentity(value) {
  const json = readObject(value);
  /** @type {JSONObject} */
  const record = { userId: readUserId(json.id) };
  for (const [property, name] of Object.entries(identityMembers)) {
    if (Object.hasOwn(json, property)) record[name] = readOptionalText(json[property]);
  }
  record.isBasic = !Object.hasOwn(json, "metadata");
  if (!record.isBasic) record.metadata = readTree(json.metadata);
  if (isObject(json.presence)) record.presence = readPresence(json.presence);
  return /** @type {IdentityRecord} */ ({ displayName: null, avatarUrl: null, ...record });
}

/** @param {JSONObject} json */
const readPresence = (json) => ({
  status: readOptionalText(json.status) ?? "offline",
  lastSeenAt: readOptionalText(json.last_seen_at),
});

/**
 * Applies one operation of an Identity `update`.
 * @param {IdentityRecord} record
 * @param {JSONObject} operation
 */
export function applyIdentityOperation(record, operation) {
  const { property, value } = operation;
  if (property === "metadata") record.metadata = readTree(value);
  else if (property === "presence.status") record.presence = { ...record.presence, status: readText(value) };
  else if (property === "presence.last_seen_at") {
    record.presence = { status: "offline", ...record.presence, lastSeenAt: readOptionalText(value) };
  } else if (typeof property === "string" && Object.hasOwn(identityMembers, property)) {
    const name = identityMembers[/** @type {keyof typeof identityMembers} */ (property)];
    record[name] = readOptionalText(value);
  }
}

/** @param {unknown} value @returns {PartRecord} */
export function readPart(value) {
  const json = readObject(value);
  return {
    id: readText(json.id),
    mimeType: readText(json.mime_type),
    body: readOptionalText(json.body),
    encoding: readOptionalText(json.encoding),
    content: json.content === null || json.content === undefined ? null : readContent(json.content),
    size: json.size === null || json.size === undefined ? 0 : readCount(json.size),
    updatedAt: readOptionalText(json.updated_at),
  };
}

/** @param {unknown} value @returns {ContentRecord} */
export function readContent(value) {
  const json = readObject(value);
  return {
    id: readText(json.id),
    downloadUrl: readOptionalText(json.download_url),
    expiration: readOptionalText(json.expiration),
    size: json.size === null || json.size === undefined ? 0 : readCount(json.size),
  };
}

/** @param {unknown} value @returns {MessageRecord} */
export function readMessage(value) {
  const json = readObject(value);
  const sender = readObject(json.sender);
  const statuses = new Map();
  for (const [id, status] of Object.entries(readObject(json.recipient_status))) {
    statuses.set(readUserId(id), readStatus(status));
  }
  return {
    id: readMessageId(json.id),
    conversation: readConversationId(readObject(json.conversation).id),
    position: readCount(json.position),
    parts: readArray(json.parts).map(readPart),
    sentAt: readText(json.sent_at),
    updatedAt: readOptionalText(json.updated_at),
    sender: sender.id === null ? null : readUserId(sender.id),
    senderName: readOptionalText(sender.display_name),
    isUnread: json.is_unread === true,
    statuses,
  };
}

/**
 * Reads a conversation. Its participants and its last message are records of their own.
 * @param {unknown} value
 * @returns {{record: ConversationRecord, identities: IdentityRecord[], last: MessageRecord | null}}
 */
export function readConversation(value) {
  const json = readObject(value);
  const identities = readArray(json.participants).map(readIdentity);
  const last = json.last_message === null ? null : readMessage(json.last_message);
  const record = {
    id: readConversationId(json.id),
    createdAt: readText(json.created_at),
    participants: [...new Set(identities.map((identity) => identity.userId))],
    distinct: json.distinct === true,
    deliveryReceipts: json.delivery_receipts !== false,
    readReceipts: json.read_receipts !== false,
    metadata: readTree(json.metadata),
    lastMessage: last?.id ?? null,
    unread: readCount(json.unread_message_count),
    total: readCount(json.total_message_count),
    position: readCount(json.position ?? 0),
    oldest: null,
    epoch: readOptionalText(json.epoch),
  };
  if (last && last.conversation !== record.id) throw new Malformed("a message of another conversation");
  return { record, identities, last };
}
