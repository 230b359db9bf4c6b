// SPDX-License-Identifier: Apache-2.0

/** Objects and packets as the server sends them. */
const uuid = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
export const conversationId = (number = 1) => `layer:///conversations/${uuid(number)}`;
export const messageId = (number) => `layer:///messages/${uuid(number)}`;
export const partId = (message, part) => `${messageId(message)}/parts/${uuid(part)}`;
export const identity = (user) => ({
  id: `layer:///identities/${user}`, url: `https://test/identities/${user}`, user_id: user,
    display_name: user.toUpperCase(),
  avatar_url: null,
});

export const part = (message, number, members = {}) => ({
  id: partId(message, number), mime_type: "text/plain", body: `part ${number}`, size: 6, ...members,
});

/** A message of bob; its change has the position `number`. */
export const message = (number, members = {}) => ({
  id: messageId(number), position: number * 8192, conversation: { id: conversationId() }, parts: [part(number, 1)],
  sent_at: `2026-01-01T00:00:${String(number % 60).padStart(2, "0")}.000Z`, updated_at: null, sender: identity("bob"),
  is_unread: true, recipient_status: { "layer:///identities/bob": "read", "layer:///identities/me": "sent" },
    ...members,
});

export const conversation = (members = {}) => ({
  id: conversationId(), created_at: "2026-01-01T00:00:00.000Z", participants: [identity("me"), identity("bob")],
  distinct: true, last_message: null, unread_message_count: 0, total_message_count: 0, metadata: {},
  delivery_receipts: true, read_receipts: true, position: 1, epoch: "e1", ...members,
});

export const change = (type, operation, id, data, members = {}) => ({
  type: "change",
  timestamp: "2026-01-01T00:00:00.000Z",
  body: {
    operation, object: { type, id, url: "" }, data,
    ...(type.startsWith("Message") && operation !== "create" ? { conversation: { id: conversationId() } } : {}),
    ...members,
  },
});

export const createConversation = (members, position = 1) =>
  change("Conversation", "create", conversationId(), conversation(members), { position });
export const updateConversation = (position, ...data) =>
  change("Conversation", "update", conversationId(), data, position === null ? {} : { position });
export const createMessage = (number, members) =>
  change("Message", "create", messageId(number), message(number, members), { position: number });
export const updateMessage = (number, position, ...data) =>
  change("Message", "update", messageId(number), data, { position });
export const set = (property, value, members = {}) => ({ operation: "set", property, value, ...members });
export const status = (user, value) => set(`recipient_status.layer:///identities/${user}`, value);
