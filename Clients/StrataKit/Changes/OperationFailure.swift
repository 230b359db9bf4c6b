// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import StrataModel

/// A change by the app that the server refused after the call had returned. The client reverts its effects on this
/// device. Exception: a refused message stays, marked with ``Message/failure``.
public struct OperationFailure: Sendable, Hashable {
    /// The operation's name, for example `sendMessage` or `setMetadata`.
    public let operation: String
    /// The id of the operation.
    public let id: UUID
    /// The conversation that the operation changed; nil if there is none.
    public let conversation: ConversationID?
    /// The messages that the operation sent or changed.
    public let messages: [MessageID]
    /// The reason for the refusal.
    public let error: StrataError
}
