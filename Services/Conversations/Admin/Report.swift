// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

/// The reports for operators. The raw value is the name; the database function `conversations.report_<name>` describes
/// the document.
enum Report: String {
    case databases, apps, app, conversations, users, conversation, leaves, changes, user, space

    /// The number of items if the request names none.
    static let defaultLimit: UInt32 = 50

    /// The maximum number of items.
    var maximumLimit: UInt32 { self == .leaves ? 500 : 200 }

    var needsApp: Bool {
        switch self {
        case .databases, .apps, .space: false
        case .app, .conversations, .users, .conversation, .leaves, .changes, .user: true
        }
    }

    var needsConversation: Bool {
        switch self {
        case .conversation, .leaves, .changes: true
        case .databases, .apps, .app, .conversations, .users, .user, .space: false
        }
    }

    /// Returns true if a page of the report can end with this cursor.
    func isCursor(_ text: String) -> Bool {
        switch self {
        case .apps: UUID(uuidString: text) != nil
        case .conversations: Self.isConversationCursor(text)
        case .users: UserID(text) != nil
        case .leaves: (try? MetadataPath(validating: text)) != nil
        case .changes: (Int64(text) ?? 0) > 0
        case .databases, .app, .conversation, .user, .space: false
        }
    }

    /// Returns true for `before <microseconds>` and `after <id>`.
    private static func isConversationCursor(_ text: String) -> Bool {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2 else { return false }
        // The database's times end with the year 294276.
        return words[0] == "before" && (0...9_000_000_000_000_000).contains(Int64(words[1]) ?? -1)
            || words[0] == "after" && UUID(uuidString: String(words[1])) != nil
    }
}

/// The members of the report `space` that the service knows: the times after which it deletes rows.
struct Retention: Encodable {
    struct Sweep: Encodable {
        /// The rows, for people.
        let what: String
        /// The time after which they are deleted, in seconds.
        let after: Int64
    }

    let retentionSeconds: Int64
    let sweeps: [Sweep]

    private enum CodingKeys: String, CodingKey {
        case retentionSeconds = "retention_seconds"
        case sweeps
    }

    /// - Parameters:
    ///   - retention: The retention time of the change log.
    ///   - sessionLifetime: The lifetime of an unused session, unless the app has its own.
    init(_ retention: Duration, sessionLifetime: Duration) {
        let (seconds, day): (Int64, Int64) = (retention.components.seconds, 86_400)
        retentionSeconds = seconds
        sweeps = [
            Sweep(what: "Changes of conversations and users", after: seconds),
            Sweep(what: "Remains of conversations that were deleted for all", after: seconds),
            Sweep(what: "Idempotency keys", after: seconds),
            Sweep(
                what: "Unused sessions, unless the app has its own lifetime", after: sessionLifetime.components.seconds),
            Sweep(what: "Users without a profile to whom nothing refers", after: 2 * day),
        ]
    }
}
