// SPDX-License-Identifier: Apache-2.0

import Model

/// A validated patch, ready to be committed.
struct MetadataPatch: Sendable {
    var app: AppID
    var conversation: ConversationID
    var actor: UserID
    /// Executed in order, all or nothing.
    var operations: [MetadataOperation]
    var origin: Change.Origin?

    /// Whether it touches so much that others should not have to wait in one transaction with it.
    var isLarge: Bool {
        var items = 0
        for operation in operations {
            if operation.path == .root { return true }
            if case .set(_, let leaves) = operation { items += leaves.count }
            items += 1
        }
        return items > 64
    }
}
