// SPDX-License-Identifier: Apache-2.0
import { applyStep, patchOperation } from "./metadata.js";
import { identityId, positionStep, statusRead, uuidOf } from "./wire.js";

/**
 * The kinds of changes. Each has a request, and an effect on what the app sees until the server's packets contain it.
 *
 * @typedef {import("./wire.js").ConversationRecord & {isPending?: boolean, isHidden?: boolean}} ShownConversation
 * @typedef {import("./wire.js").MessageRecord & {isPending?: boolean}} ShownMessage
 * @typedef {import("./metadata.js").MetadataStep} MetadataStep
 *
 * @typedef {object} Change
 * @property {string} kind
 * @property {string} [conversation] - The conversation's id.
 * @property {string[]} [ids] - The messages' ids.
 * @property {string} [user] - A user id.
 * @property {string[]} [users] - User ids.
 * @property {MetadataStep[]} [steps]
 * @property {{operation: "add" | "remove", user: string}[]} [participants]
 * @property {import("./wire.js").JSONObject} [data] - The body of the request, except ids.
 * @property {string} [mode]
 * @property {boolean} [leave]
 * @property {number} [position]
 * @property {string} [at] - The time of the call, in ISO 8601.
 * @property {{position: number, sentAt: string}} [stored] - The place of what was created, from the answer.
 *
 * @typedef {{method: string, path: string, body?: unknown, isPatch?: boolean}} ChangeRequest
 *
 * @typedef {object} Context
 * @property {string} me
 * @property {Map<string, import("./wire.js").MessageRecord>} messages - The server's messages of the conversation.
 * @property {Set<string>} deleted - The ids of messages that earlier changes delete.
 * @property {Set<string>} read - The ids of messages that earlier changes mark as read.
 *
 * @typedef {object} Kind
 * @property {(change: Change) => ChangeRequest} request
 * @property {(shown: ShownConversation | null, change: Change, context: Context) => ShownConversation | null}
 *   [conversation] - Applies the change to a conversation.
 * @property {(shown: ShownMessage | null, change: Change, me: string) => ShownMessage | null} [message] - Applies the
 *   change to a message that it names; without names, to every message.
 */

/** @param {Change} change */
const conversationPath = (change) => `/conversations/${uuidOf(change.conversation ?? "")}`;

/** @param {Change} change */
const messagePath = (change) => `/messages/${uuidOf(change.ids?.[0] ?? "")}`;

/** @param {string} method @param {string} list @returns {Kind} */
const userKind = (method, list) => ({
  request: ({ user = "" }) => ({ method, path: `/${list}/users/${encodeURIComponent(user)}` }),
});

/** @param {"read" | "delivery"} type @param {Change} change */
const receiptRequest = (type, change) => ({
  method: "POST",
  path: `${conversationPath(change)}/receipts`,
  body: { type, ids: change.ids },
});

/** @type {Record<string, Kind>} */
export const kinds = {
  createConversation: {
    request: ({ conversation: id, data }) => ({ method: "POST", path: "/conversations", body: { id, ...data } }),
    conversation: (shown, change, { me }) => shown ?? newConversation(change, me),
  },
  setMetadata: {
    request: (change) => patch(change, (change.steps ?? []).map(patchOperation)),
    conversation: (shown, { steps = [] }) => shown && { ...shown, metadata: steps.reduce(applyStep, shown.metadata) },
  },
  setParticipants: {
    request: (change) =>
      patch(change, (change.participants ?? []).map(({ operation, user }) => ({
        operation, property: "participants", id: identityId(user),
      }))),
    conversation: (shown, { participants = [] }, { me }) => shown && changeParticipants(shown, participants, me),
  },
  deleteConversation: {
    request: (change) => ({ method: "DELETE", path: conversationPath(change) + deletionQuery(change) }),
    conversation: (shown, change, { messages }) => shown && hideConversation(shown, change, messages),
    message: (shown, { mode, position = 0 }) => (isDeleted(shown, mode, position) ? null : shown),
  },
  send: {
    request: (change) => ({
      method: "POST",
      path: `${conversationPath(change)}/messages`,
      body: { id: change.ids?.[0], ...change.data },
    }),
    conversation: (shown, { ids = [] }, { messages }) =>
      !shown || messages.has(ids[0]) ? shown : { ...shown, total: shown.total + 1, lastMessage: ids[0] },
    message: (shown, change, me) => shown ?? newMessage(change, me),
  },
  edit: {
    request: (change) => ({ method: "PUT", path: `${messagePath(change)}/parts`, body: change.data?.parts }),
    message: (shown, { data }) => shown && { ...shown, parts: data?.parts.map(newPart) },
  },
  deleteMessage: {
    request: (change) => ({ method: "DELETE", path: `${messagePath(change)}?mode=${change.mode}` }),
    conversation: (shown, { ids = [] }, context) => shown && hideMessage(shown, ids[0], context),
    message: () => null,
  },
  read: {
    request: (change) => receiptRequest("read", change),
    conversation: (shown, { ids = [] }, context) => shown && countRead(shown, context, (id) => ids.includes(id)),
    message: (shown, _, me) => shown && readMessageBy(shown, me),
  },
  readAll: {
    request: (change) => ({
      method: "POST",
      path: `${conversationPath(change)}/mark_all_read`,
      body: { position: change.position },
    }),
    conversation: (shown, { position = 0 }, context) =>
      shown && { ...countRead(shown, context, (_, message) => (message.position ?? 0) <= position),
        unread: [...context.messages.values()].filter((one) => one.isUnread && (one.position ?? 0) > position).length },
    message: (shown, { position = 0 }, me) =>
      shown && (shown.position ?? Infinity) <= position ? readMessageBy(shown, me) : shown,
  },
  deliver: { request: (change) => receiptRequest("delivery", change) },
  follow: userKind("PUT", "following"),
  unfollow: userKind("DELETE", "following"),
  block: userKind("PUT", "blocks"),
  unblock: userKind("DELETE", "blocks"),
};

/**
 * Returns true if a change has no order relative to other changes.
 * @param {Change} change
 */
export const isReceipt = ({ kind }) => kind === "read" || kind === "readAll" || kind === "deliver";

/** @param {Change} change @param {unknown[]} body @returns {ChangeRequest} */
const patch = (change, body) => ({ method: "PATCH", path: conversationPath(change), body, isPatch: true });

/** @param {Change} change */
function deletionQuery({ mode, leave, position }) {
  const query = new URLSearchParams({ mode: String(mode) });
  if (mode === "my_devices") query.set("position", String(position));
  if (leave) query.set("leave", "true");
  return `?${query}`;
}

/** @param {Change} change @param {string} me @returns {ShownConversation} */
function newConversation({ conversation = "", users = [], data = {}, at = "", stored }, me) {
  return {
    id: conversation, createdAt: at, participants: [...new Set([me, ...users])], distinct: data.distinct !== false,
    deliveryReceipts: data.delivery_receipts !== false, readReceipts: data.read_receipts !== false,
    metadata: applyStep({}, { path: "", value: data.metadata ?? {} }), lastMessage: null, unread: 0, total: 0,
    position: 0, oldest: 0, epoch: null, isPending: !stored,
  };
}

/** @param {Change} change @param {string} me @returns {ShownMessage} */
function newMessage({ conversation = "", ids = [], data = {}, at = "", stored }, me) {
  return {
    id: ids[0], conversation, position: stored?.position ?? null, parts: data.parts.map(newPart),
    sentAt: stored?.sentAt ?? at, updatedAt: null, sender: me, senderName: null, isUnread: false,
    statuses: new Map([[me, statusRead]]), isPending: !stored,
  };
}

/** @param {import("./wire.js").JSONObject} part @returns {import("./wire.js").PartRecord} */
const newPart = (part) => ({
  id: part.id, mimeType: part.mime_type, body: part.body ?? null, encoding: part.encoding ?? null,
  content: part.content ? { downloadUrl: null, expiration: null, size: 0, ...part.content } : null,
  size: part.content?.size ?? 0, updatedAt: null,
});

/** @param {ShownConversation} shown @param {NonNullable<Change["participants"]>} steps @param {string} me */
function changeParticipants(shown, steps, me) {
  const users = new Set(shown.participants);
  for (const { operation, user } of steps) operation === "add" ? users.add(user) : users.delete(user);
  const participants = users.has(me) ? [...users] : [];
  const isSame = participants.length === shown.participants.length && participants.every((user) => users.has(user));
  return { ...shown, participants, distinct: shown.distinct && isSame };
}

/** @param {ShownConversation} shown @param {Change} change @param {Context["messages"]} messages */
function hideConversation(shown, { mode, leave, position = 0 }, messages) {
  const isNewer = [...messages.values()].some((message) => !isDeleted(message, mode, position));
  const isBack = mode === "my_devices" && !leave && isNewer;
  return isBack ? shown : { ...shown, isHidden: true };
}

/** @param {ShownMessage | null} message @param {string | undefined} mode @param {number} position */
const isDeleted = (message, mode, position) =>
  mode !== "my_devices" || (message?.position ?? Infinity) < (position + 1) * positionStep;

/** @param {ShownConversation} shown @param {string} id @param {Context} context */
function hideMessage(shown, id, { messages, deleted, read }) {
  const message = messages.get(id);
  if (!message && shown.lastMessage !== id) return shown;
  deleted.add(id);
  const isCounted = message?.isUnread && !read.has(id);
  if (isCounted) read.add(id);
  const others = [...messages.values()].filter((other) => !deleted.has(other.id));
  const newest = others.sort((one, other) => (other.position ?? 0) - (one.position ?? 0))[0];
  return {
    ...shown,
    total: Math.max(0, shown.total - 1),
    unread: Math.max(0, shown.unread - (isCounted ? 1 : 0)),
    lastMessage: shown.lastMessage === id ? (newest?.id ?? null) : shown.lastMessage,
  };
}

/**
 * @param {ShownConversation} shown
 * @param {Context} context
 * @param {(id: string, message: ShownMessage) => boolean} isRead
 */
function countRead(shown, { messages, read }, isRead) {
  const ids = [...messages.values()].filter((one) => one.isUnread && !read.has(one.id) && isRead(one.id, one));
  for (const { id } of ids) read.add(id);
  return { ...shown, unread: Math.max(0, shown.unread - ids.length) };
}

/** @param {ShownMessage} message @param {string} user */
const readMessageBy = (message, user) => ({
  ...message, isUnread: false, statuses: new Map(message.statuses).set(user, statusRead),
});
