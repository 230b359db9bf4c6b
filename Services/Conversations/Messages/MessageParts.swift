// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf

/// The parts of a message as the database stores them.
enum MessageParts {
    static func encode(_ parts: [MessagePart]) throws -> [UInt8] {
        try ProtoMessageParts.with { $0.parts = parts.map { ProtoMessagePart($0) } }.serializedBytes()
    }

    /// Why a message was refused that refers to `content`.
    static func unsendable(_ content: ContentID, in parts: [MessagePart]) -> Failure {
        let index = parts.firstIndex { $0.contentID == content } ?? 0
        return .invalid("parts.\(index).content", reason: "is not content that was uploaded, and that you may send")
    }

    /// Why a message of an app's own server was refused that states another size of content than was uploaded.
    static func otherSize(at index: Int) -> Failure { .invalid("parts.\(index).content", reason: "has another size than was uploaded") }
}

extension CallSupport {
    /// Gives every part with rich content the size that was uploaded, whatever a client said. An app's own server has to be right, if it says a size.
    /// - Throws: `invalid_property` naming the first part whose content there is not, or whose size is another one.
    func measure(_ parts: inout [MessagePart], by user: UserID, in app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) {
        let contents = Set(parts.compactMap(\.contentID))
        let rows = try await database.run(
            ReadContentSizes(app: app, contents: Array(contents), user: user), deadline: deadline)
        var sizes: [ContentID: Int] = [:]
        do {
            let columns = try rows.columns(of: ReadContentSizes.self)
            for row in rows { sizes[ContentID(rawValue: try row[columns.content])] = Int(try row[columns.size]) }
        } catch {
            throw Failure(reading: error)
        }
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

/// The contents that are uploaded and that the user may see. Whether the user may send them is decided when they are sent, but no difference in the answer
/// may tell the user that content exists which they may not see. The app's own server may know of all content.
struct ReadContentSizes: PostgresQuery {
    let app: AppID
    let contents: [ContentID]
    let user: UserID

    typealias Columns = ContentSizesColumns

    static let statement = Statement(
        "content.sizes",
        sql: """
            SELECT x.id, x.size FROM conversations.content x
            WHERE x.id = ANY ($2::uuid[]) AND x.app_id = $1 AND x.uploaded_at IS NOT NULL AND NOT x.is_doomed
                AND ($3::text IS NULL OR x.owner = $3 OR conversations.sees_content($3, x.id))
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuidArray(contents.map(\.rawValue)), .actor(user)] }
}
