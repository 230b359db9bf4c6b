// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import StrataModel

/// A change of the app that the server refused later. Its effects on this device were reverted, except that a refused message stays, marked with
/// ``Message/failure``.
public struct OperationFailure: Sendable, Hashable {
    /// The name of the change, for example `sendMessage` or `setMetadata`.
    public let operation: String
    /// The id of the change.
    public let id: UUID
    /// The conversation that it changed; nil: none.
    public let conversation: ConversationID?
    /// The messages that it sent or changed.
    public let messages: [MessageID]
    /// The reason.
    public let error: StrataError
}
