// SPDX-License-Identifier: Apache-2.0
import { check, invalid } from "./errors.js";
import { readTree } from "./metadata.js";

/**
 * Readers of the server's JSON. Each returns a record with known members only, or throws an error of any kind.
 *
 * @typedef {Record<string, any>} JSONObject
 * @typedef {{userId: string, displayName: string | null, avatarUrl: string | null, isBasic?: boolean} & JSONObject}
 *   IdentityRecord
 * @typedef {{id: string, downloadUrl: string | null, expiration: string | null, size: number}} ContentRecord
 * @typedef {{id: string, mimeType: string, body: string | null, encoding: string | null, size: number,
 *   content: ContentRecord | null, updatedAt: string | null}} PartRecord
 * @typedef {{id: string, conversation: string, position: number, parts: PartRecord[], sentAt: string,
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
  const hex = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  return hex.join("").replace(/(.{8})(.{4}).(.{3}).(.{3})(.{12})/, "$1-$2-4$3-a$4-$5");
}

/** The statuses of a message for one recipient, in their order. */
export const statusNames = ["sent", "delivered", "read"];
export const statusRead = 2;

const identityPrefix = "layer:///identities/";
const conversationId = /^layer:\/\/\/conversations\/[0-9a-f-]{36}$/i;
const messageId = /^layer:\/\/\/messages\/[0-9a-f-]{36}$/i;

/** @param {any} value @returns {string} */
export function readText(value) {
  check(typeof value === "string");
  return value;
}

/**
 * Reads a count or a position.
 * @param {any} value
 * @returns {number}
 */
export function readCount(value) {
  check(Number.isSafeInteger(value) && value >= 0);
  return value;
}

/** @param {RegExp} pattern @returns {(value: unknown) => string} */
const idReader = (pattern) => (value) => {
  check(pattern.test(readText(value)));
  return /** @type {string} */ (value);
};
export const readConversationId = idReader(conversationId);
export const readMessageId = idReader(messageId);

/** @param {unknown} value @returns {string | null} */
const readOptionalText = (value) => (value === null || value === undefined ? null : readText(value));

/**
 * Returns the user id in an identity id.
 * @param {unknown} value
 * @returns {string}
 */
export function readUserId(value) {
  const id = readText(value);
  check(id.startsWith(identityPrefix) && id !== identityPrefix);
  return decodeURIComponent(id.slice(identityPrefix.length));
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
    throw invalid("user_id", `${user} is no user's id.`);
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

/** @param {any} value @returns {number} */
export function readStatus(value) {
  return readCount(statusNames.indexOf(value));
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
 * @param {any} json
 * @returns {IdentityRecord}
 */
export function readIdentity(json) {
  /** @type {IdentityRecord} */
  const record = { userId: readUserId(json.id), displayName: null, avatarUrl: null, isBasic: !("metadata" in json) };
  for (const [property, value] of Object.entries(json)) applyIdentityOperation(record, { property, value });
  if (json.presence) {
    for (const [property, value] of Object.entries(json.presence)) {
      applyIdentityOperation(record, { property: `presence.${property}`, value });
    }
  }
  return record;
}

/**
 * Applies one operation of an Identity `update`.
 * @param {IdentityRecord} record
 * @param {JSONObject} operation
 */
export function applyIdentityOperation(record, { property, value }) {
  if (property === "metadata") record.metadata = readTree(value);
  else if (property === "presence.status") {
    record.presence = { ...record.presence, status: readText(value ?? "offline") };
  } else if (property === "presence.last_seen_at") {
    record.presence = { status: "offline", ...record.presence, lastSeenAt: readOptionalText(value) };
  } else if (Object.hasOwn(identityMembers, property)) {
    record[identityMembers[/** @type {keyof typeof identityMembers} */ (property)]] = readOptionalText(value);
  }
}

/** @param {any} json @returns {PartRecord} */
export const readPart = (json) => ({
  id: readText(json.id),
  mimeType: readText(json.mime_type),
  body: readOptionalText(json.body),
  encoding: readOptionalText(json.encoding),
  content: json.content ? readContent(json.content) : null,
  size: readCount(json.size ?? 0),
  updatedAt: readOptionalText(json.updated_at),
});

/** @param {any} json @returns {ContentRecord} */
export const readContent = (json) => ({
  id: readText(json.id),
  downloadUrl: readOptionalText(json.download_url),
  expiration: readOptionalText(json.expiration),
  size: readCount(json.size ?? 0),
});

/** @param {any} json @returns {MessageRecord} */
export const readMessage = (json) => ({
  id: readMessageId(json.id),
  conversation: readConversationId(json.conversation.id),
  position: readCount(json.position),
  parts: json.parts.map(readPart),
  sentAt: readText(json.sent_at),
  updatedAt: readOptionalText(json.updated_at),
  sender: json.sender.id === null ? null : readUserId(json.sender.id),
  senderName: readOptionalText(json.sender.display_name),
  isUnread: json.is_unread === true,
  statuses: new Map(Object.entries(json.recipient_status).map(([id, status]) => [readUserId(id), readStatus(status)])),
});

/**
 * Reads a conversation. Its participants and its last message are records of their own.
 * @param {any} json
 * @returns {{record: ConversationRecord, identities: IdentityRecord[], last: MessageRecord | null}}
 */
export function readConversation(json) {
  const identities = json.participants.map(readIdentity);
  const last = json.last_message === null ? null : readMessage(json.last_message);
  const record = {
    id: readConversationId(json.id),
    createdAt: readText(json.created_at),
    participants: [...new Set(identities.map((/** @type {IdentityRecord} */ identity) => identity.userId))],
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
  check(!last || last.conversation === record.id);
  return { record, identities, last };
}
