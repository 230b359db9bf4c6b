// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// A validated patch, ready to be committed.
struct MetadataPatch: Sendable {
    var app: AppID
    var conversation: ConversationID
    /// The acting user, or ``StrataModel/UserID/appServer`` for the app's own server.
    var actor: UserID
    /// The operations, executed in order, all or none.
    var operations: [MetadataOperation]
    var origin: Change.Origin?
    /// The idempotency key of the patch, if its client gave one.
    var idempotencyKey: IdempotencyKey?
}
