// SPDX-License-Identifier: Apache-2.0
import { applyStep, patchOperation, readTree } from "./metadata.js";
import { identityId, positionStep, statusRead, uuidOf } from "./wire.js";

/**
 * The kinds of changes. Each has a request, and an effect on what the app sees until the server's packets contain it.
 *
 * @typedef {import("./wire.js").ConversationRecord & {isPending?: boolean, isHidden?: boolean}} ShownConversation
 * @typedef {Omit<import("./wire.js").MessageRecord, "position"> & {position: number | null, isPending?: boolean}}
 *   ShownMessage
 * @typedef {import("./metadata.js").MetadataStep} MetadataStep
 *
 * @typedef {object} Change A change has only the members of its kind.
 * @property {string} kind
 * @property {string} conversation - The conversation's id.
 * @property {string[]} ids - The messages' ids.
 * @property {string} user - A user id.
 * @property {string[]} users - User ids.
 * @property {MetadataStep[]} steps
 * @property {{operation: "add" | "remove", user: string}[]} participants
 * @property {import("./wire.js").JSONObject} data - The body of the request, except ids.
 * @property {string} mode
 * @property {boolean} leave
 * @property {number} position
 * @property {string} at - The time of the call, in ISO 8601.
 * @property {{position: number, sentAt: string}} [stored] - The place of what was created, from the answer.
 * @typedef {Partial<Change> & {kind: string}} NewChange
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
 * @property {(shown: ShownConversation, change: Change, context: Context) => ShownConversation} [conversation] -
 *   Applies the change to a conversation. Only a creation is applied to none.
 * @property {(shown: ShownMessage, change: Change, me: string) => ShownMessage | null} [message] - Applies the change
 *   to a message that it names; without names, to every message. Only a sent message is applied to none.
 */

/** @param {Change} change */
const conversationPath = ({ conversation }) => `/conversations/${uuidOf(conversation)}`;

/** @param {Change} change */
const messagePath = ({ ids }) => `/messages/${uuidOf(ids[0])}`;

/** @param {string} method @param {string} list @returns {Kind} */
const userKind = (method, list) => ({
  request: ({ user }) => ({ method, path: `/${list}/users/${encodeURIComponent(user)}` }),
});

/**
 * Returns a request that posts to a resource of the change's conversation.
 * @param {Change} change
 * @param {string} resource
 * @param {unknown} body
 * @returns {ChangeRequest}
 */
const post = (change, resource, body) => ({ method: "POST", path: `${conversationPath(change)}/${resource}`, body });

/** @param {Change} change @param {unknown[]} body @returns {ChangeRequest} */
const patch = (change, body) => ({ method: "PATCH", path: conversationPath(change), body, isPatch: true });

/** @type {Record<string, Kind>} */
export const kinds = {
  createConversation: {
    request: ({ conversation: id, data }) => ({ method: "POST", path: "/conversations", body: { id, ...data } }),
    conversation: (shown, change, { me }) => shown ?? newConversation(change, me),
  },
  setMetadata: {
    request: (change) => patch(change, change.steps.map(patchOperation)),
    conversation: (shown, { steps }) => ({ ...shown, metadata: steps.reduce(applyStep, shown.metadata) }),
  },
  setParticipants: {
    request: (change) =>
      patch(change, change.participants.map(({ operation, user }) => ({
        operation, property: "participants", id: identityId(user),
      }))),
    conversation: changeParticipants,
  },
  deleteConversation: {
    request: (change) => ({ method: "DELETE", path: conversationPath(change) + deletionQuery(change) }),
    conversation: (shown, change, { messages }) => {
      const isNewer = [...messages.values()].some((message) => !isDeleted(message, change));
      return isNewer && !change.leave ? shown : { ...shown, isHidden: true };
    },
    message: (shown, change) => (isDeleted(shown, change) ? null : shown),
  },
  send: {
    request: (change) => post(change, "messages", { id: change.ids[0], ...change.data }),
    conversation: (shown, { ids: [id] }, { messages }) =>
      messages.has(id) ? shown : { ...shown, total: shown.total + 1, lastMessage: id },
    message: (shown, change, me) => shown ?? newMessage(change, me),
  },
  edit: {
    request: (change) => ({ method: "PUT", path: `${messagePath(change)}/parts`, body: change.data.parts }),
    message: (shown, { data }) => ({ ...shown, parts: data.parts.map(newPart) }),
  },
  deleteMessage: {
    request: (change) => ({ method: "DELETE", path: `${messagePath(change)}?mode=${change.mode}` }),
    conversation: hideMessage,
    message: () => null,
  },
  read: {
    request: (change) => post(change, "receipts", { type: "read", ids: change.ids }),
    conversation: (shown, { ids }, context) => countRead(shown, context, ({ id }) => ids.includes(id)),
    message: (shown, _, me) => readMessageBy(shown, me),
  },
  readAll: {
    request: (change) => post(change, "mark_all_read", { position: change.position }),
    conversation: (shown, { position }, context) => ({
      ...countRead(shown, context, (message) => message.position <= position),
      unread: [...context.messages.values()].filter((one) => one.isUnread && one.position > position).length,
    }),
    message: (shown, { position }, me) =>
      (shown.position ?? Infinity) <= position ? readMessageBy(shown, me) : shown,
  },
  deliver: { request: (change) => post(change, "receipts", { type: "delivery", ids: change.ids }) },
  follow: userKind("PUT", "following"),
  unfollow: userKind("DELETE", "following"),
  block: userKind("PUT", "blocks"),
  unblock: userKind("DELETE", "blocks"),
};

/**
 * Returns true if a change has no order relative to other changes.
 * @param {NewChange} change
 */
export const isReceipt = ({ kind }) => ["read", "readAll", "deliver"].includes(kind);

/** @param {Change} change */
function deletionQuery({ mode, leave, position }) {
  const query = mode === "my_devices" ? `?mode=${mode}&position=${position}` : `?mode=${mode}`;
  return leave ? `${query}&leave=true` : query;
}

/** @param {Change} change @param {string} me @returns {ShownConversation} */
const newConversation = ({ conversation, users, data, at, stored }, me) => ({
  id: conversation, createdAt: at, participants: [...new Set([me, ...users])], distinct: data.distinct,
  deliveryReceipts: data.delivery_receipts, readReceipts: data.read_receipts, metadata: readTree(data.metadata),
  lastMessage: null, unread: 0, total: 0, position: 0, oldest: 0, epoch: null, isPending: !stored,
});

/** @param {Change} change @param {string} me @returns {ShownMessage} */
const newMessage = ({ conversation, ids, data, at, stored }, me) => ({
  id: ids[0], conversation, position: stored?.position ?? null, parts: data.parts.map(newPart),
  sentAt: stored?.sentAt ?? at, updatedAt: null, sender: me, senderName: null, isUnread: false,
  statuses: new Map([[me, statusRead]]), isPending: !stored,
});

/** @param {import("./wire.js").JSONObject} part @returns {import("./wire.js").PartRecord} */
const newPart = ({ id, mime_type, body = null, encoding = null, content }) => ({
  id, mimeType: mime_type, body, encoding,
  content: content ? { downloadUrl: null, expiration: null, size: 0, ...content } : null,
  size: content?.size ?? 0, updatedAt: null,
});

/** @param {ShownConversation} shown @param {Change} change @param {Context} context */
function changeParticipants(shown, change, { me }) {
  const users = new Set(shown.participants);
  for (const { operation, user } of change.participants) operation === "add" ? users.add(user) : users.delete(user);
  const isSame = users.size === shown.participants.length && shown.participants.every((user) => users.has(user));
  return { ...shown, participants: users.has(me) ? [...users] : [], distinct: shown.distinct && isSame };
}

/**
 * @param {{position: number | null}} message
 * @param {Change} change - A deletion of the conversation.
 */
const isDeleted = (message, { mode, position }) =>
  mode !== "my_devices" || (message?.position ?? Infinity) < (position + 1) * positionStep;

/** @param {ShownConversation} shown @param {Change} change @param {Context} context */
function hideMessage(shown, { ids: [id] }, { messages, deleted, read }) {
  const message = messages.get(id);
  if (!message && shown.lastMessage !== id) return shown;
  deleted.add(id);
  const isCounted = message?.isUnread && !read.has(id);
  if (isCounted) read.add(id);
  const others = [...messages.values()].filter((other) => !deleted.has(other.id));
  const newest = others.sort((one, other) => other.position - one.position)[0];
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
 * @param {(message: import("./wire.js").MessageRecord) => boolean} isRead
 */
function countRead(shown, { messages, read }, isRead) {
  const ids = [...messages.values()].filter((one) => one.isUnread && !read.has(one.id) && isRead(one));
  for (const { id } of ids) read.add(id);
  return { ...shown, unread: Math.max(0, shown.unread - ids.length) };
}

/** @param {ShownMessage} message @param {string} user */
const readMessageBy = (message, user) => ({
  ...message, isUnread: false, statuses: new Map(message.statuses).set(user, statusRead),
});
