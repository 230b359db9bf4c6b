// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls by which gateways catch up, with model types.
extension CallsFixture {
    struct Logged {
        /// The size of the response in bytes.
        var bytes = 0
        var changes: [Change] = []
        var head: Position = .zero
        var counts: [String: UserCounts] = [:]
    }

    /// Reads a conversation's log, as gateways do for repair.
    func readChanges(
        _ id: ConversationID, after: Position = .zero, limit: Int = 1000, bytes: Int = 0, users: [String] = []
    ) async throws -> Logged {
        let response = try await call(ConversationsAPI.readChanges) {
            $0.conversationID = Data(id)
            $0.after = after.rawValue
            $0.limit = Int32(limit)
            $0.maxBytes = Int64(bytes)
            $0.userIds = users
        }
        return Logged(
            bytes: try (response.serializedBytes() as [UInt8]).count,
            changes: try response.changes.map { try Change($0) }, head: Position(response.head),
            counts: response.numbers.mapValues { UserCounts($0) })
    }

    /// One entry of a user's catch-up.
    enum CatchUpEntry: Equatable {
        case change(Change)
        case user(UserChange)
        case skipped(ConversationID, Position)
    }

    struct Log {
        /// The size of the response in bytes.
        var bytes = 0
        var entries: [CatchUpEntry] = []
        var reachesHeads = false
        var counts: [ConversationID: UserCounts] = [:]
        var messageCounts: [ConversationID: Int64] = [:]

        var changes: [Change] { entries.compactMap { if case .change(let change) = $0 { change } else { nil } } }
        var userChanges: [UserChange] { entries.compactMap { if case .user(let change) = $0 { change } else { nil } } }
        /// The positions of changes and of skipped entries.
        var positions: [Int64] {
            entries.compactMap { entry in
                switch entry {
                case .change(let change): change.position.rawValue
                case .skipped(_, let position): position.rawValue
                case .user: nil
                }
            }
        }
    }

    /// Reads the entries that a user is missing, from conversations and from the user's own log.
    func readLogs(
        as user: String, _ cursors: [ConversationID: Position], userAfter: Position? = nil, limit: Int = 1000,
        bytes: Int = 0
    ) async throws -> Log {
        let response = try await call(ConversationsAPI.readLogs) {
            $0.appID = Data(app)
            $0.userID = user
            $0.cursors = cursors.map { id, after in
                .with {
                    $0.conversationID = Data(id)
                    $0.after = after.rawValue
                }
            }
            if let userAfter { $0.userAfter = userAfter.rawValue }
            $0.limit = Int32(limit)
            $0.maxBytes = Int64(bytes)
        }
        var log = Log(bytes: try (response.serializedBytes() as [UInt8]).count, reachesHeads: response.reachesHeads)
        for entry in response.entries {
            switch entry.content {
            case .change(let change): log.entries.append(.change(try Change(change)))
            case .userChange(let change): log.entries.append(.user(try UserChange(change)))
            case .skipped(let cursor):
                log.entries.append(
                    .skipped(try ConversationID(contract: cursor.conversationID), Position(cursor.after)))
            case nil: throw ContractViolation("ReadLogsResponse.Entry.content")
            }
        }
        for entry in response.numbers {
            let id = try ConversationID(contract: entry.conversationID)
            log.counts[id] = UserCounts(entry.numbers)
            log.messageCounts[id] = entry.messageCount
        }
        return log
    }

    func baseline(
        as user: String, since: StrataModel.Timestamp, _ further: (inout ProtoBaselineRequest) -> Void = { _ in }
    ) async throws -> ProtoBaselineResponse {
        var request = ProtoBaselineRequest.with {
            $0.appID = Data(app)
            $0.userID = user
            $0.since = since.microseconds
        }
        further(&request)
        return try await call(ConversationsAPI.baseline, request)
    }

    func heads(since: StrataModel.Timestamp) async throws -> ProtoHeadsResponse {
        try await call(ConversationsAPI.heads) { $0.since = since.microseconds }
    }
}

extension Change {
    /// The change as it is stored in the log. A replay sends counts separately, at its end.
    var withoutCounts: Change {
        var change = self
        change.counts = [:]
        return change
    }

    /// A creation as it is stored in the log: without its tree, and with the body's position at that time. The log's
    /// body is the current one.
    var withoutTree: Change {
        guard case .conversationCreated(var conversation?) = content else { return self }
        conversation.metadata = nil
        conversation.position = position
        var change = self
        change.content = .conversationCreated(conversation)
        return change
    }

    var effects: [MetadataEffect] { if case .metadataChanged(let effects) = content { effects } else { [] } }
}

extension [MetadataEffect] {
    /// The effects as text: `path=value` or `-path`.
    var descriptions: [String] { map { effect in effect.value.map { "\(effect.path)=\($0)" } ?? "-\(effect.path)" } }
}
