// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls by which gateways catch up their sockets and repair lost publications (docs/architecture.md §6).
struct SyncHandler: CallHandler {
    private let support: ServiceContext
    private let heads: HeadsCache
    private let userChanges: UserChanges
    private var database: Database { support.database }

    /// The maximum number of changes in one call.
    private static let readLimit: Int32 = 1000

    init(_ support: ServiceContext) {
        self.support = support
        heads = HeadsCache(
            database: support.database, epoch: support.epoch, hasOtherDatabases: support.hasOtherDatabases)
        userChanges = UserChanges(support)
    }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.baseline) { try await self.baseline($0, in: $1) }
        router.register(ConversationsAPI.readLogs) { try await self.readLogs($0, in: $1) }
        router.register(ConversationsAPI.readChanges) { try await self.readChanges($0, in: $1) }
        router.register(ConversationsAPI.heads) { try await self.heads.read(since: $0.since, deadline: $1.deadline) }
    }

    // MARK: Baseline

    private func baseline(_ request: ProtoBaselineRequest, in context: RPCContext) async throws -> ProtoBaselineResponse
    {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        if request.listedOnly { return try await listed(for: caller) }
        let since = PostgresTimestamp(microseconds: request.since)
        let rows: [ReadBaseline.Row]
        var epoch: ReplayBaseline.Row?
        if request.wantsEpoch {
            let known = support.epoch.checkQuery
            let replayed = try await database.runExclusive(
                ReplayBaseline(
                    app: caller.app, user: caller.user, since: since, knownEpoch: known.epoch, walEnd: known.walEnd),
                for: caller)
            rows = replayed.map(\.baseline)
            epoch = replayed.first { $0.epoch != nil }
        } else if request.recent > 0 {
            let begin = PostgresTimestamp(microseconds: request.notBefore)
            rows = try await database.runExclusive(
                RecentBaseline(app: caller.app, user: caller.user, recent: request.recent, notBefore: begin),
                for: caller)
        } else {
            rows = try await database.runExclusive(
                ReadBaseline(app: caller.app, user: caller.user, since: since), for: caller)
        }
        var response = ProtoBaselineResponse()
        for row in rows {
            guard let conversation = row.conversationID else {
                response.userPosition = row.position
                response.userAfter = row.after
                response.asOf = row.asOf?.microseconds ?? 0
                response.complete = row.complete ?? false
                continue
            }
            response.entries.append(
                .with {
                    $0.conversationID = Data(conversation)
                    $0.position = row.position
                    $0.after = row.after
                    $0.numbers.uncounted = row.uncounted ?? 0
                    $0.numbers.hidden = row.hidden ?? 0
                    $0.numbers.position = row.position
                    $0.messageCount = row.messageCount ?? 0
                    $0.isParticipant = row.isParticipant ?? false
                    $0.oldestAt = row.oldestAt?.microseconds ?? 0
                })
        }
        if request.wantsEpoch {
            guard let text = epoch?.epoch, let isCertain = epoch?.isCertain else { throw Failure.unexpected }
            response.databaseEpoch = text
            response.epoch = try await support.epoch.shown(text, to: caller.app, deadline: caller.deadline)
            if !isCertain { response.complete = false }
        }
        return response
    }

    private func listed(for caller: Caller) async throws -> ProtoBaselineResponse {
        let rows = try await database.runExclusive(ReadListed(app: caller.app, user: caller.user), for: caller)
        return .with { $0.entries = rows.map { row in .with { $0.conversationID = Data(row.id) } } }
    }

    // MARK: The size limit of an answer

    /// Counts the bytes that the database cannot count when it measures a page: identities of participants, and the
    /// objects of entries in a user's own log.
    private struct SizeLimit {
        private var left: Int64?
        private(set) var isFull = false
        private var hasAny = false

        /// - Parameter bytes: the maximum size. 0: no limit.
        init(_ bytes: Int64) { left = bytes > 0 ? bytes : nil }

        /// Counts a message and returns true if it fits. The first one always does.
        mutating func admits(_ message: some SwiftProtobuf.Message) -> Bool {
            guard let room = left, let own = try? Int64((message.serializedBytes() as [UInt8]).count) else {
                return true
            }
            isFull = hasAny && own > room
            left = room - own
            hasAny = true
            return !isFull
        }
    }

    // MARK: Logs of one user

    private func readLogs(_ request: ProtoReadLogsRequest, in context: RPCContext) async throws -> ProtoReadLogsResponse
    {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let ids = try request.cursors.map { try ConversationID(contract: $0.conversationID).rawValue }
        let log = try await database.runExclusive(
            ReadLogs(
                app: caller.app, user: caller.user, conversations: ids, afters: request.cursors.map(\.after),
                userAfter: request.hasUserAfter ? request.userAfter : nil,
                limit: Int64(min(max(request.limit, 1), Self.readLimit)),
                maxBytes: ServiceContext.bound(request.maxBytes)), for: caller)
        let identities = try await support.directory.basic(
            Array(Set(log.flatMap(\.users))), in: caller.app, deadline: caller.deadline)
        let people = try await userChanges.people(in: log.filter { $0.entry == .userChange }, of: caller)
        let epoch = try await support.epoch.current(for: caller.app, deadline: caller.deadline)
        var response = ProtoReadLogsResponse()
        var sizeLimit = SizeLimit(request.maxBytes)
        for row in log {
            switch row.entry {
            case .header: response.reachesHeads = row.flag && !sizeLimit.isFull
            case .change:
                guard !sizeLimit.isFull else { continue }
                let entry = try ProtoReadLogsResponse.Entry.with {
                    $0.change = ProtoChange(try row.change(identities, epoch: epoch))
                }
                if row.participants.isEmpty || sizeLimit.admits(entry) { response.entries.append(entry) }
            case .userChange:
                guard !sizeLimit.isFull else { continue }
                let change = try await userChanges.change(row, of: caller, with: people)
                let entry = ProtoReadLogsResponse.Entry.with { $0.userChange = ProtoUserChange(change) }
                if sizeLimit.admits(entry) { response.entries.append(entry) }
            case .skipped:
                guard let conversation = row.conversation, !sizeLimit.isFull else { continue }
                response.entries.append(
                    .with {
                        $0.skipped.conversationID = Data(conversation)
                        $0.skipped.after = row.position.rawValue
                    })
            case .counts:
                guard let conversation = row.conversation else { continue }
                response.numbers.append(
                    .with {
                        $0.conversationID = Data(conversation)
                        $0.numbers = ProtoUserNumbers(row.counts)
                        $0.messageCount = row.messageCount
                        $0.isParticipant = row.flag
                        $0.isListed = row.isListed ?? false
                    })
            case .override: continue
            }
        }
        return response
    }

    // MARK: Repair

    private func readChanges(
        _ request: ProtoReadChangesRequest, in context: RPCContext
    ) async throws -> ProtoReadChangesResponse {
        let id = try ConversationID(contract: request.conversationID)
        let log = try await database.run(
            ReadChanges(
                conversation: id, after: request.after, limit: Int64(min(max(request.limit, 1), Self.readLimit)),
                users: request.userIds,
                maxBytes: ServiceContext.bound(request.maxBytes)), deadline: context.deadline)
        guard let header = log.first, let app = header.app else { return ProtoReadChangesResponse() }
        let identities = try await support.directory.basic(
            Array(Set(log.flatMap(\.users))), in: app, deadline: context.deadline)
        let epoch = try await support.epoch.current(for: app, deadline: context.deadline)
        var overrides: [Position: [UserID: StrataModel.Message?]] = [:]
        for row in log where row.entry == .override {
            if let user = row.user {
                overrides[row.position, default: [:]][user] = .some(row.message?.message(identities))
            }
        }
        var response = ProtoReadChangesResponse()
        response.head = header.position.rawValue
        var sizeLimit = SizeLimit(request.maxBytes)
        for row in log {
            if row.entry == .change {
                guard !sizeLimit.isFull else { continue }
                let change = ProtoChange(
                    try row.change(identities, epoch: epoch, overrides: overrides[row.position] ?? [:]))
                if row.participants.isEmpty || sizeLimit.admits(change) { response.changes.append(change) }
            } else if row.entry == .counts, let user = row.user {
                response.numbers[user.rawValue] = ProtoUserNumbers(row.counts)
            }
        }
        return response
    }
}
