// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import StrataModel

/// A change that the app had made, and that the server refused later. What it did on this device has been taken back, except that a refused message stays,
/// marked with ``Message/failure``.
public struct OperationFailure: Sendable, Hashable {
    /// The name of the change, for example `sendMessage` or `setMetadata`.
    public let operation: String
    /// Of the change.
    public let id: UUID
    /// The conversation it was about, if any.
    public let conversation: ConversationID?
    /// The messages it was about.
    public let messages: [MessageID]
    /// Why.
    public let error: StrataError
}
