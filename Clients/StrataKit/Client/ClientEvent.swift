// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// An event that concerns the client as a whole.
public enum ClientEvent: Sendable {
    /// The connection has changed.
    case connection(ConnectionEvent)
    /// The user has signed in.
    case authenticated(UserID)
    /// The user has signed out, and their data were removed from this device.
    case deauthenticated(UserID)
    /// The client begins to fetch what it missed. The progress counts conversations. Its total is 0 while the server reports what has changed.
    case synchronizationBegan(TransferProgress)
    /// The client has fetched everything. This comes also if nothing had changed.
    case synchronizationFinished
    /// Older messages of a conversation are being fetched. The progress counts messages; see ``Conversation/synchronizeMoreMessages(atLeast:)``.
    case conversationSyncBegan(ConversationID, TransferProgress)
    /// The messages were fetched, or the fetch was cancelled or is no longer possible.
    case conversationSyncFinished(ConversationID)
    /// Content is being uploaded or downloaded, or waits for its turn.
    case contentTransferBegan(PartTransfer)
    /// A transfer of content is over. Without success there is an error: ``StrataError/Code/transferCancelled`` if it was cancelled.
    case contentTransferEnded(PartTransfer, StrataError?)
    /// The server has refused a change of the app.
    case operationFailed(OperationFailure)
    /// A distinct conversation that was created here existed already. It has the new id now; the id that the app knows still finds it.
    case conversationMerged(from: ConversationID, into: ConversationID)
    /// The local store could not be written, for example because the disk is full. The client continues when it can be written again.
    case storeFailed(StrataError)
}
