// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import NIOCore
import RPC
import StrataModel
import SwiftProtobuf
import Sync

extension GatewayServices {
    /// Returns the conversations on the user's list, including those that the user has left, but none if the service
    /// has an older version. It answers with the baseline, which has a time and conversations that are not on the list.
    func listedConversations(for call: Call) async throws(Failure) -> [ConversationID] {
        let request = ProtoBaselineRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.listedOnly = true
        }
        let answer = try await conversations.call(ConversationsAPI.baseline, with: request, for: call)
        guard answer.asOf == 0 else { return [] }
        return try Self.converted { try answer.entries.map { try ConversationID(contract: $0.conversationID) } }
    }

    func baseline(_ origin: BaselineOrigin, for call: Call) async throws(Failure) -> Baseline {
        let request = ProtoBaselineRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            switch origin {
            case .replay(let since):
                $0.since = since.microseconds
                $0.wantsEpoch = true
            case .recent(let age, let begin, let since):
                $0.since = since.microseconds
                $0.recent = Timestamp(microseconds: 0).advanced(by: age).microseconds
                $0.notBefore = begin.microseconds
            }
        }
        let answer = try await conversations.call(ConversationsAPI.baseline, with: request, for: call)
        return try Self.converted {
            Baseline(
                entries: try answer.entries.map { entry in
                    BaselineEntry(
                        id: try ConversationID(contract: entry.conversationID), position: Position(entry.position),
                        after: Position(entry.after), counts: UserCounts(entry.numbers),
                        messageCount: entry.messageCount,
                        isParticipant: entry.isParticipant,
                        oldestAt: entry.oldestAt == 0 ? nil : Timestamp(microseconds: entry.oldestAt))
                },
                userPosition: Position(answer.userPosition), userAfter: Position(answer.userAfter),
                asOf: Timestamp(microseconds: answer.asOf), isComplete: answer.complete, epoch: answer.epoch,
                databaseEpoch: answer.databaseEpoch.isEmpty ? nil : answer.databaseEpoch)
        }
    }

    func readLogs(
        _ cursors: [ConversationID: Position], userAfter: Position?, limit: Int, for call: Call
    ) async throws(Failure) -> LogPage {
        let request = ProtoReadLogsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.cursors = cursors.map { id, after in
                .with {
                    $0.conversationID = Data(id)
                    $0.after = after.rawValue
                }
            }
            if let userAfter { $0.userAfter = userAfter.rawValue }
            $0.limit = Int32(clamping: limit)
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(ConversationsAPI.readLogs, with: request, for: call)
        return try Self.converted {
            var counts: [ConversationID: LogPage.Counts] = [:]
            for item in answer.numbers {
                counts[try ConversationID(contract: item.conversationID)] = LogPage.Counts(
                    counts: UserCounts(item.numbers), messageCount: item.messageCount,
                    isParticipant: item.isParticipant,
                    isListed: item.isListed)
            }
            return LogPage(
                entries: try answer.entries.compactMap { entry in
                    switch entry.content {
                    case .change(let change): .change(try Change(change))
                    case .userChange(let change): .userChange(try UserChange(change))
                    case .skipped(let cursor):
                        .skipped(try ConversationID(contract: cursor.conversationID), Position(cursor.after))
                    case nil: nil
                    }
                }, reachesHeads: answer.reachesHeads, counts: counts)
        }
    }
}

/// The changes of one database, as its fan-out reads them.
struct DatabaseChanges: ChangeSource {
    let services: GatewayServices
    let database: DatabaseName

    /// The maximum number of changes and bytes in one call of a repair. Each page is handed to sockets whole. A larger
    /// page would exceed the backlog limit of a socket whose client does read.
    private static var repairPage: Int32 { 256 }
    private static var repairBytes: Int64 { 256 << 10 }

    func changes(
        of conversation: ConversationID, after position: Position, users: [UserID], on loop: any EventLoop
    ) -> EventLoopFuture<ChangePage> {
        loop.makeFutureWithTask { try await readChanges(of: conversation, after: position, users: users) }
    }

    func heads(since: Timestamp?, on loop: any EventLoop) -> EventLoopFuture<Heads> {
        loop.makeFutureWithTask { try await heads(since: since) }
    }

    func userChanges(
        of user: UserKey, after position: Position, on loop: any EventLoop
    ) -> EventLoopFuture<[UserChange]> {
        loop.makeFutureWithTask { try await userChanges(of: user, after: position) }
    }

    func endTyping(of user: UserKey, in conversation: ConversationID) {
        services.endTyping(of: user, in: conversation)
    }

    private func readChanges(
        of conversation: ConversationID, after position: Position, users: [UserID]
    ) async throws(Failure) -> ChangePage {
        let request = ProtoReadChangesRequest.with {
            $0.conversationID = Data(conversation)
            $0.after = position.rawValue
            $0.limit = Self.repairPage
            $0.maxBytes = Self.repairBytes
            $0.userIds = users.map(\.rawValue)
            $0.database = database.description
        }
        let answer = try await services.conversations.call(
            ConversationsAPI.readChanges, with: request, for: .within(.seconds(5)))
        return try GatewayServices.converted {
            var counts: [UserID: UserCounts] = [:]
            for (user, value) in answer.numbers { counts[UserID(trusted: user)] = UserCounts(value) }
            return ChangePage(
                changes: try answer.changes.map { try Change($0) }, head: Position(answer.head), counts: counts)
        }
    }

    private func heads(since: Timestamp?) async throws(Failure) -> Heads {
        let request = ProtoHeadsRequest.with {
            $0.since = since?.microseconds ?? 0
            $0.database = database.description
        }
        let answer = try await services.conversations.call(
            ConversationsAPI.heads, with: request, for: .within(.seconds(5)))
        return try GatewayServices.converted {
            Heads(
                conversations: try answer.heads.map {
                    (try ConversationID(contract: $0.conversationID), Position($0.after))
                },
                added: try answer.added.map {
                    Heads.Addition(
                        user: UserKey(app: try AppID(contract: $0.appID), user: UserID(trusted: $0.userID)),
                        conversation: try ConversationID(contract: $0.conversationID), position: Position($0.position))
                },
                users: try answer.users.map {
                    (
                        UserKey(app: try AppID(contract: $0.appID), user: UserID(trusted: $0.userID)),
                        Position($0.position)
                    )
                },
                asOf: Timestamp(microseconds: answer.asOf), epoch: answer.epoch,
                moved: try answer.moved.map { try AppID(contract: $0) })
        }
    }

    private func userChanges(of user: UserKey, after position: Position) async throws(Failure) -> [UserChange] {
        let page = try await services.readLogs(
            [:], userAfter: position, limit: Int(Self.repairPage),
            for: GatewayServices.Call(user, budget: .seconds(5)))
        return page.entries.compactMap { if case .userChange(let change) = $0 { change } else { nil } }
    }
}
