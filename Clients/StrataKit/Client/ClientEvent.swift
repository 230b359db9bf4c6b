// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// An event that concerns the client as a whole.
public enum ClientEvent: Sendable {
    /// The state of the connection changed.
    case connection(ConnectionEvent)
    /// The user signed in.
    case authenticated(UserID)
    /// The user signed out, and their data were removed from this device.
    case deauthenticated(UserID)
    /// The client started to fetch changes that it missed. The progress counts conversations. Its total is 0 until the
    /// server has reported which conversations changed.
    case synchronizationBegan(TransferProgress)
    /// The client has fetched all missed changes. This event is also sent if nothing changed.
    case synchronizationFinished
    /// A fetch of older messages of a conversation started. The progress counts messages; see
    /// ``Conversation/synchronizeMoreMessages(atLeast:)``.
    case conversationSyncBegan(ConversationID, TransferProgress)
    /// A fetch of older messages ended: it completed, was cancelled or became impossible.
    case conversationSyncFinished(ConversationID)
    /// A transfer of content started or entered the transfer queue.
    case contentTransferBegan(PartTransfer)
    /// A transfer of content ended. The error is nil on success, and ``StrataError/Code/transferCancelled`` if the
    /// transfer was cancelled.
    case contentTransferEnded(PartTransfer, StrataError?)
    /// The server refused a change by the app.
    case operationFailed(OperationFailure)
    /// A distinct conversation created on this device already existed on the server. It now has the server's id;
    /// lookups by the old id still find it.
    case conversationMerged(from: ConversationID, into: ConversationID)
    /// The local store could not be written, for example because the disk is full. The client continues as soon as
    /// writes succeed again.
    case storeFailed(StrataError)
}

/// A change of the connection.
public enum ConnectionEvent: Hashable, Sendable {
    /// The client will try to connect.
    /// - Parameters:
    ///   - number: the attempt, counted from 1 since the last stable connection.
    ///   - delay: the time until the attempt.
    ///   - maximum: the number of attempts after which the client gives up; nil: unlimited.
    case willAttempt(number: Int, delay: Duration, maximum: Int?)
    /// The connection is established.
    case connected
    /// The connection was lost. The client reconnects or requires a sign-in.
    case lost(StrataError)
    /// There is no connection, and the client does not try to reconnect. The error is nil if the app disconnected;
    /// otherwise it is the reason why the client gave up.
    case disconnected(StrataError?)
}
