// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf

/// The stored form of a message's parts.
enum MessageParts {
    static func encode(_ parts: [MessagePart]) throws -> [UInt8] {
        try ProtoMessageParts.with { $0.parts = parts.map { ProtoMessagePart($0) } }.serializedBytes()
    }

    /// Returns the failure for a message whose `content` cannot be sent.
    static func unsendable(_ content: ContentID, in parts: [MessagePart]) -> Failure {
        let index = parts.firstIndex { $0.contentID == content } ?? 0
        return .invalid("parts.\(index).content", reason: "is not uploaded content that you may send")
    }

    /// Returns the failure for a message of an app's own server that states a wrong content size.
    static func otherSize(at index: Int) -> Failure {
        .invalid("parts.\(index).content", reason: "does not have the size of the uploaded content")
    }
}

extension ServiceContext {
    /// Sets the size of every part with rich content to its uploaded size, and ignores sizes that users state. If an
    /// app's own server states a size, it must be correct.
    /// - Throws: `invalid_property` naming the first part whose content is missing or whose stated size is wrong.
    func measure(
        _ parts: inout [MessagePart], by user: UserID, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) {
        let contents = Set(parts.compactMap(\.contentID))
        let rows = try await database.run(
            ReadContentSizes(app: app, contents: Array(contents), user: user), deadline: deadline)
        let sizes = Dictionary(rows.map { ($0.id, $0.size) }) { first, _ in first }
        for index in parts.indices {
            guard let content = parts[index].contentID else { continue }
            guard let size = sizes[content] else { throw MessageParts.unsendable(content, in: parts) }
            let stated = parts[index].statedSize
            guard !user.isAppServer || stated == nil || stated == size else { throw MessageParts.otherSize(at: index) }
            parts[index].size = size
            parts[index].statedSize = nil
        }
    }
}

/// Reads the sizes of uploaded contents that the user can see.
///
/// A later check decides if the user may send them. The answer must not reveal the existence of contents that the user
/// cannot see. The app's own server sees all contents of the app.
struct ReadContentSizes: PostgresQuery {
    let app: AppID
    let contents: [ContentID]
    let user: UserID

    static let statement = Statement(
        "content.sizes",
        sql: """
            SELECT x.id, x.size FROM conversations.content x
            WHERE x.id = ANY ($2::uuid[]) AND x.app_id = $1 AND x.uploaded_at IS NOT NULL AND NOT x.is_doomed
                AND ($3::text IS NULL OR x.owner = $3 OR conversations.sees_content($3, x.id))
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuidArray(contents.map(\.rawValue)), .actor(user)] }

    struct Row: Decodable {
        let id: ContentID
        let size: Int
    }
}
