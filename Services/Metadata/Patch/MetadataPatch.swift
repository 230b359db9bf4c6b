// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// A validated patch, ready to be committed.
struct MetadataPatch: Sendable {
    var app: AppID
    var conversation: ConversationID
    /// ``StrataModel/UserID/appServer``: the app's own server, for no user.
    var actor: UserID
    /// Executed in order, all or nothing.
    var operations: [MetadataOperation]
    var origin: Change.Origin?
    /// The name that its client gave it.
    var mutation: Mutation?
}
