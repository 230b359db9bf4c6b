// SPDX-License-Identifier: Apache-2.0

/** The client library of Strata, a chat backend. See docs/javascript.md. */
export { StrataClient } from "./client.js";
export { StrataError } from "./errors.js";
export { LiveList, MessageList } from "./lists.js";
export { Conversation, Identity, Message } from "./objects.js";
