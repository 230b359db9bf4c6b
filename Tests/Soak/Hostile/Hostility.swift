// SPDX-License-Identifier: Apache-2.0

/// A hostile behaviour that keeps within the rate limits and the protocol.
enum Hostility: String, CaseIterable, Sendable {
    /// Repeatedly adds other users to conversations whose metadata has the maximum size.
    case largeTrees
    /// Reads every other message of a long conversation, one by one and many at once.
    case sparseReaders
    /// Requests all visible objects, on sockets and over REST, and reads no answer.
    case slowReaders
    /// Uses the same ids for messages of two conversations at the same moment, in opposite orders.
    case crossedIDs
}
