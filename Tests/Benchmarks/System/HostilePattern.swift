// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// What four sessions can do to a user without going beyond the rate limits or the protocol.
enum HostilePattern: String, CaseIterable, ExpressibleByArgument {
    case largeTrees, sparseReceipts, sparseBatches, slowReaders, crossedIDs, manyConversations, identityLookups, typingStorms, hugeLists

    /// For the table in SECURITY.md.
    var title: String {
        switch self {
        case .largeTrees: "add the victim to conversations with metadata as large as the server accepts, and remove them, again and again"
        case .sparseReceipts: "read every other message of a conversation that the victim is in, one by one"
        case .sparseBatches: "the same, 50 at the same moment"
        case .slowReaders: "ask for all they may see, on sockets and over REST, and read nothing"
        case .crossedIDs: "send messages with the same ids to two conversations, in opposite orders"
        case .manyConversations: "create conversations with the victim in them"
        case .identityLookups: "look up, and follow, users that there are not"
        case .typingStorms: "type in a conversation that the victim is in"
        case .hugeLists: "load the longest lists they may see, and read them"
        }
    }
}
