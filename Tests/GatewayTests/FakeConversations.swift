// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import RPC
import StrataModel
import SwiftProtobuf
import Synchronization

@testable import FanOut
@testable import Gateway

/// Fake services for conversations, metadata and presence, called over the real RPC. The test defines their answers.
final class FakeConversations: Sendable {
    struct Answers {
        var baseline: @Sendable () throws -> ProtoBaselineResponse = { .with { $0.complete = true } }
        var page: @Sendable (ProtoReadLogsRequest) async throws -> ProtoReadLogsResponse = { _ in
            .with { $0.reachesHeads = true }
        }
        /// The user's position in a conversation that is looked up. nil: the conversation is not visible to the user.
        var view: @Sendable (ConversationID) -> Position? = { _ in nil }
        /// Called when a conversation is created. The answer is sent when this returns.
        var created: @Sendable () async -> Void = {}
        /// True to refuse creations, because the conversation exists. The failure has no room for the metadata.
        var existing = false
        /// Called when views are requested. The answer is sent when this returns.
        var views: @Sendable () async -> Void = {}
        var changes: @Sendable (ConversationID) -> [Change] = { _ in [] }
        /// Called when a status is set or requested. The status is set or read before the call, and the answer is sent
        /// when this returns.
        var presence: @Sendable (PresenceCall) async -> Void = { _ in }
        var statuses: [String: String] = [:]
        /// Users whom the user has blocked, and users who have blocked the user.
        var blocks: (own: [String], others: [String]) = ([], [])
        /// The metadata of a conversation, and its size in an answer. nil: it does not fit into any answer.
        var tree: @Sendable (ConversationID) throws -> (leaves: [MetadataLeaf], bytes: Int)? = { _ in ([], 0) }
        /// True if the user's list is answered with the baseline, as by a service that does not know the request.
        var isOld = false
        var baselines = 0
        var asked: ProtoBaselineRequest?
        var pages = 0
        /// The number of logs that each page was read from, and its maximum number of changes.
        var pageSizes: [(logs: Int, limit: Int)] = []
        /// The first conversation of each request for several conversations.
        var viewRequests: [ConversationID] = []
    }
    enum PresenceCall { case set, get }
    let answers = Mutex(Answers())

    private static let secret = String(repeating: "x", count: 32)

    /// Runs the services during `body`, with a harness whose gateway calls them.
    /// - Parameter change: Modifies the default settings.
    static func run(
        settings change: (inout GatewaySettings) -> Void = { _ in },
        _ body: (GatewayHarness, FakeConversations) async throws -> Void
    ) async throws {
        let fake = FakeConversations()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let router = fake.router(logger)
        let loops = MultiThreadedEventLoopGroup.singleton
        let server = RPCServer(
            configuration: RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: secret),
            eventLoopGroup: loops, logger: logger
        ) { try await router.handleCall($0, payload: $1) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await server.run() }
            let port = try await server.boundPort
            let client = RPCClient(
                configuration: RPCClientConfiguration(
                    target: .fixed([RPCEndpoint(host: "127.0.0.1", port: port)]), clusterSecret: secret),
                eventLoopGroup: loops, logger: logger)
            tasks.addTask { try await client.run() }
            while !client.isAvailable { try await Task.sleep(for: .milliseconds(5)) }
            try await body(
                try await GatewayHarness(conversations: client, metadata: client, presence: client, settings: change),
                fake)
            tasks.cancelAll()
            while let result = await tasks.nextResult() { _ = result }
        }
    }

    private func router(_ logger: Logger) -> CallRouter {
        var router = CallRouter(logger: logger)
        router.register(ConversationsAPI.baseline) { request, _ in
            let (baseline, isOld) = self.answers.withLock { ($0.baseline, $0.isOld) }
            if request.listedOnly {
                // The list has the baseline's conversations.
                guard let answer = try? baseline() else { return ProtoBaselineResponse() }
                if isOld { return answer }
                let ids = answer.entries.map(\.conversationID)
                return .with { $0.entries = ids.map { id in .with { $0.conversationID = id } } }
            }
            let answer = self.answers.withLock { answers in
                answers.baselines += 1
                answers.asked = request
                return answers.baseline
            }
            return try answer()
        }
        router.register(ConversationsAPI.readLogs) { request, _ in
            let answer = self.answers.withLock { answers in
                answers.pages += 1
                answers.pageSizes.append((request.cursors.count, Int(request.limit)))
                return answers.page
            }
            return try await answer(request)
        }
        router.register(ConversationsAPI.createConversation) { request, _ in
            await self.answers.withLock { $0.created }()
            var view = Fixture.view(at: 1)
            view.conversation.id = try ConversationID(contract: request.id)
            if self.answers.withLock({ $0.existing }) {
                view.conversation.metadata = nil
                throw Failure(.idInUse, "The id is in use.", detail: .conversation(view))
            }
            return .with {
                $0.view = ProtoConversationView(view)
                $0.created = true
            }
        }
        router.register(ConversationsAPI.getConversation) { request, _ in
            await self.answers.withLock { $0.views }()
            guard let view = try self.view(of: try ConversationID(contract: request.conversationID)) else {
                throw Failure.notFound("conversation")
            }
            return view.proto
        }
        router.register(ConversationsAPI.getConversations) { request, _ in
            await self.answers.withLock { $0.views }()
            return try self.views(request)
        }
        router.register(ConversationsAPI.readChanges) { request, _ in
            let changes = self.answers.withLock { $0.changes }(try ConversationID(contract: request.conversationID))
            return .with {
                $0.changes = changes.filter { $0.position.rawValue > request.after }.map { ProtoChange($0) }
                $0.head = changes.last?.position.rawValue ?? 0
            }
        }
        router.register(ConversationsAPI.followed) { _, _ in ProtoFollowedResponse() }
        router.register(BlocksAPI.blockPairs) { request, _ in
            let blocks = self.answers.withLock { $0.blocks }
            let users = Set(
                Set(blocks.own + blocks.others).filter { $0 > request.fromUserID }.sorted()
                    .prefix(Int(request.pageSize)))
            return .with {
                $0.blocked = blocks.own.filter(users.contains)
                $0.blockedBy = blocks.others.filter(users.contains)
            }
        }
        router.register(PresenceAPI.setPresence) { request, _ in
            let told = self.answers.withLock { answers in
                answers.statuses[request.lease.userID] = request.status
                return answers.presence
            }
            await told(.set)
            return ProtoSetPresenceResponse()
        }
        router.register(PresenceAPI.getPresence) { request, _ in
            let (told, statuses) = self.answers.withLock { ($0.presence, $0.statuses) }
            await told(.get)
            return .with { answer in
                answer.presences = request.userIds.map { user in
                    .with {
                        $0.appID = request.appID
                        $0.userID = user
                        $0.status = statuses[user] ?? "offline"
                    }
                }
            }
        }
        return router
    }

    private func view(of id: ConversationID) throws -> (proto: ProtoConversationView, bytes: Int)? {
        let answers = answers.withLock { $0 }
        guard let position = answers.view(id) else { return nil }
        var view = Fixture.view(at: position.rawValue)
        view.conversation.id = id
        let tree = try answers.tree(id)
        view.conversation.metadata = tree.map { MetadataTree(leaves: $0.leaves) }
        return (ProtoConversationView(view), tree?.bytes ?? 0)
    }

    /// Returns as many conversations as fit, and at least the first one.
    private func views(_ request: ProtoGetConversationsRequest) throws -> ProtoGetConversationsResponse {
        let ids = try request.conversationIds.map { try ConversationID(contract: $0) }
        if let first = ids.first { answers.withLock { $0.viewRequests.append(first) } }
        var response = ProtoGetConversationsResponse()
        var used = 0
        for (index, id) in ids.enumerated() {
            do {
                if let (view, bytes) = try view(of: id) {
                    if index > 0, used + bytes > request.maxBytes { break }
                    used += bytes
                    response.views.append(view)
                }
            } catch {
                if index == 0 { throw error }
                break
            }
            response.covered += 1
        }
        return response
    }

    /// Returns the number of requests for several conversations that began with this one.
    func viewRequestCount(of id: ConversationID) -> Int {
        answers.withLock { $0.viewRequests.filter { $0 == id }.count }
    }

    /// Puts the user into conversations whose changes after `after` are not yet sent. The first change is the creation,
    /// the others change metadata.
    func setPendingChanges(_ logs: [(id: ConversationID, head: Int64, after: Int64)]) {
        answers.withLock { answers in
            answers.baseline = {
                .with {
                    $0.complete = true
                    $0.entries = logs.map { log in
                        .with {
                            $0.conversationID = Data(log.id)
                            $0.position = log.head
                            $0.after = log.after
                            $0.isParticipant = true
                        }
                    }
                }
            }
            answers.page = { request in
                try .with { page in
                    page.reachesHeads = true
                    let cursors = try Dictionary(
                        uniqueKeysWithValues: request.cursors.map {
                            (try ConversationID(contract: $0.conversationID), $0.after)
                        })
                    for log in logs {
                        guard let after = cursors[log.id] else { continue }
                        for position in after..<log.head {
                            let change =
                                position == 0
                                ? Fixture.change(1, of: log.id, .conversationCreated(nil))
                                : Fixture.change(position + 1, of: log.id)
                            page.entries.append(.with { $0.change = ProtoChange(change) })
                        }
                        page.numbers.append(
                            .with {
                                $0.conversationID = Data(log.id)
                                $0.isParticipant = true
                                $0.isListed = true
                            })
                    }
                }
            }
            let heads = Dictionary(uniqueKeysWithValues: logs.map { ($0.id, Position($0.head)) })
            answers.view = { heads[$0] }
        }
    }
}

/// A thread-safe flag that can be set once.
final class Flag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
