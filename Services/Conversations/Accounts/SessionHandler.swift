// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about sessions, and about uploads that have ended, whose requests may name no app. Tokens of older
/// releases name none; every database is then asked.
struct SessionHandler: CallHandler {
    private let databases: Databases<DatabaseStack>

    /// The maximum number of digests in one call. A larger call is the caller's mistake.
    private static let batchLimit = ConversationsAPI.maximumAccounts

    init(_ databases: Databases<DatabaseStack>) { self.databases = databases }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.findSession) { try await self.findSession($0, in: $1) }
        router.register(ConversationsAPI.endSession) { try await self.endSession($0, in: $1) }
        router.register(ConversationsAPI.checkSessions) { try await self.checkSessions($0, in: $1) }
        router.register(AccountAPI.finishContent) { try await self.finishContent($0, in: $1) }
    }

    private func findSession(_ request: ProtoFindSessionRequest, in context: RPCContext) async throws -> ProtoSession {
        let (digest, deadline) = ([UInt8](request.tokenDigest), context.deadline)
        var (name, session) = try await find(request.appID, unless: .authenticationRequired, deadline: deadline) {
            member throws(Failure) in
            (member.name, try await member.part.sessions.find(digest, deadline: deadline))
        }
        // During a move of the app, two databases have the session.
        let home = try await databases.member(of: session.app, deadline: deadline)
        if home.name != name {
            (name, session) = (home.name, try await home.part.sessions.find(digest, deadline: deadline))
        }
        return .with {
            $0.appID = Data(session.app)
            $0.identity = ProtoBasicIdentity(session.identity)
            $0.expiresAt = session.expiresAt.microseconds
            $0.createdAt = session.createdAt.microseconds
            $0.replayableSince = session.replayableSince.microseconds
            $0.database = name.description
        }
    }

    /// Ends a session. Without an app, it is ended in every database, of which at most one has it.
    private func endSession(_ request: ProtoEndSessionRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let digest = [UInt8](request.tokenDigest)
        for member in try await members(of: request.appID, deadline: context.deadline) {
            try await member.part.sessions.end(digest, deadline: context.deadline)
        }
        return ProtoEmpty()
    }

    private func finishContent(_ request: ProtoFinishContentRequest, in context: RPCContext) async throws -> ProtoEmpty
    {
        let (id, deadline) = (try ContentID(contract: request.contentID), context.deadline)
        try await find(request.appID, unless: .notFound, deadline: deadline) { member throws(Failure) in
            try await member.part.contents.finish(id, deadline: deadline)
        }
        return ProtoEmpty()
    }

    // MARK: Checks

    /// Checks each session in the database of its app. A session whose database does not answer counts as valid.
    private func checkSessions(
        _ request: ProtoCheckSessionsRequest, in context: RPCContext
    ) async throws -> ProtoCheckSessionsResponse {
        let digests = request.tokenDigests.map { [UInt8]($0) }
        guard digests.count <= Self.batchLimit else { throw RPCError.tooLarge }
        let apps = request.appIds
        guard apps.count == digests.count else {
            // The gateway is older. All databases must answer, because each session is in one of them.
            var ended = digests
            for member in databases.all {
                ended = try await member.part.sessions.ended(ended, deadline: context.deadline)
            }
            return .with { $0.ended = ended.map { Data($0) } }
        }
        var groups: [Int: [[UInt8]]] = [:]
        for (app, numbers) in Dictionary(grouping: digests.indices, by: { apps[$0] }) {
            do {
                // The first database has no session of an unknown app.
                let index = try await databases.index(of: AppID(contract: app), deadline: context.deadline) ?? 0
                groups[index, default: []] += numbers.map { digests[$0] }
            } catch is Failure {
                continue
            }
        }
        var ended: [[UInt8]] = []
        for (index, group) in groups {
            ended += (try? await databases.all[index].part.sessions.ended(group, deadline: context.deadline)) ?? []
        }
        return .with { $0.ended = ended.map { Data($0) } }
    }

    // MARK: Databases

    private func members(
        of app: Data, deadline: ContinuousClock.Instant
    ) async throws -> [Databases<DatabaseStack>.Member] {
        app.isEmpty ? databases.all : [try await databases.member(of: AppID(contract: app), deadline: deadline)]
    }

    /// Runs `body` for the app's database, or for all databases if the request names no app, until one succeeds.
    private func find<Answer: Sendable>(
        _ app: Data, unless absence: Failure.Code, deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (Databases<DatabaseStack>.Member) async throws(Failure) -> Answer
    ) async throws -> Answer {
        guard app.isEmpty else {
            return try await body(databases.member(of: AppID(contract: app), deadline: deadline))
        }
        return try await databases.find(unless: absence, body)
    }
}
