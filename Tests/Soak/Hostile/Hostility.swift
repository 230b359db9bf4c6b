// SPDX-License-Identifier: Apache-2.0

/// What a user does who keeps within the rate limits and the protocol, and means harm.
enum Hostility: String, CaseIterable, Sendable {
    /// Adds others to conversations whose metadata is as large as the server accepts, again and again.
    case largeTrees
    /// Reads every other message of a long conversation, one by one and many at once.
    case sparseReaders
    /// Asks for all it may see, on sockets and over REST, and reads nothing.
    case slowReaders
    /// Uses the same ids for messages of two conversations at the same moment, in opposite orders.
    case crossedIDs
}
