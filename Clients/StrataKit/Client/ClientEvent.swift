// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Something that has happened to the client as a whole.
public enum ClientEvent: Sendable {
    /// News of the connection.
    case connection(ConnectionEvent)
    /// The user has signed in.
    case authenticated(UserID)
    /// The user has signed out, and their data are gone from this device.
    case deauthenticated(UserID)
    /// The client is about to fetch what it missed. The progress counts conversations; while the server tells what has changed, its total is 0.
    case synchronizationBegan(TransferProgress)
    /// It has fetched everything, also if nothing had changed.
    case synchronizationFinished
    /// Older messages of a conversation are being fetched. The progress counts messages; see ``Conversation/synchronizeMoreMessages(atLeast:)``.
    case conversationSyncBegan(ConversationID, TransferProgress)
    /// They have been fetched, or the fetch was cancelled or is not possible any more.
    case conversationSyncFinished(ConversationID)
    /// Content is being uploaded or downloaded, or waits for its turn.
    case contentTransferBegan(PartTransfer)
    /// A transfer of content is over. Without success there is an error: ``StrataError/Code/transferCancelled`` if it was cancelled.
    case contentTransferEnded(PartTransfer, StrataError?)
    /// The server has refused a change that the app had made.
    case operationFailed(OperationFailure)
    /// A distinct conversation that was made here existed already: it has this id now, and the id that the app knows still finds it.
    case conversationMerged(from: ConversationID, into: ConversationID)
    /// The local store could not be written, for example because the disk is full. The client goes on when it can be.
    case storeFailed(StrataError)
}
