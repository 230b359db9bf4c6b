// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// Attacks that stay within the rate limits and the protocol, by four sessions of the victim's app or by another app.
enum HostilePattern: String, CaseIterable, ExpressibleByArgument {
    case largeTrees, sparseReceipts, sparseBatches, slowReaders, crossedIDs, manyConversations, identityLookups,
        typingStorms, hugeLists
    case webhookSnapshots, fullOutbox, webhookReceipts, slowReceivers, stalledReceivers, crowdedFrames, fragments

    /// True for the patterns of another app.
    var isOfOtherApp: Bool {
        switch self {
        case .largeTrees, .sparseReceipts, .sparseBatches, .slowReaders, .crossedIDs, .manyConversations,
            .identityLookups, .typingStorms, .hugeLists:
            false
        case .webhookSnapshots, .fullOutbox, .webhookReceipts, .slowReceivers, .stalledReceivers, .crowdedFrames,
            .fragments:
            true
        }
    }

    /// The additional settings of the services that the pattern needs.
    var settings: [String: String] {
        // The limits are small enough to be reached within seconds.
        self == .fullOutbox
            ? ["STRATA_WEBHOOKS_HOOK_BYTES": "\(1 << 20)", "STRATA_WEBHOOKS_APP_BYTES": "\(8 << 20)"] : [:]
    }

    /// The description for the table in SECURITY.md.
    var title: String {
        switch self {
        case .largeTrees:
            "add the victim to conversations with metadata as large as the server accepts, and remove them, again and again"
        case .sparseReceipts: "read every other message of a conversation that the victim is in, one by one"
        case .sparseBatches: "the same, 50 at the same moment"
        case .slowReaders: "ask for all they may see, on sockets and over REST, and read nothing"
        case .crossedIDs: "send messages with the same ids to two conversations, in opposite orders"
        case .manyConversations: "create conversations with the victim in them"
        case .identityLookups: "look up and follow users that do not exist"
        case .typingStorms: "type in a conversation that the victim is in"
        case .hugeLists: "load the longest lists they may see, and read them"
        case .webhookSnapshots:
            "sets a key of metadata of 240 KB and 1 MB again and again, with 20 webhooks that accept each change"
        case .fullOutbox:
            "does the same with 20 webhooks that never answer, whose events may take 1 MB each and 8 MB together"
        case .webhookReceipts:
            "reads messages of up to 240 KB, 1,000 at a time and one by one, with 20 webhooks of version 1.0"
        case .slowReceivers: "sends messages to 64 conversations, with 20 webhooks that answer after 2.4 s"
        case .stalledReceivers: "sends messages to 64 conversations, with 20 webhooks that never answer"
        case .crowdedFrames:
            "sends frames of 1 MB with 140,000 objects of one member from one address, three at a time on each of 64 sockets"
        case .fragments:
            "holds 1,100 sockets of one address with fragments of messages that never end, half of them 15 KB and half up to 1 MB"
        }
    }
}
