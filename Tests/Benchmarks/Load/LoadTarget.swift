// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataCommand
import Synchronization

/// The Strata under load: one that this program has started, or a remote one.
final class LoadTarget: LoadedServer {
    let addresses: [LoadAddress]
    /// The system that this program has started; nil: the target is remote.
    let system: BenchSystem?
    private let client: ProtocolClient
    private let app: RemoteApp?
    private let state = Mutex(State())

    private struct State {
        /// The tokens of a remote app's users, by the number of the user.
        var tokens: [String] = []
        /// The conversations to delete from a remote Strata: their ids and creators.
        var made: [(id: String, creator: Int)] = []
    }

    /// The app and the key with which users of a remote Strata sign in.
    struct RemoteApp: Sendable {
        var url: String
        var id: UUID
        var provider: UUID
        var keyID: UUID
        /// The private key, PEM.
        var privateKey: String
        var trust: ServerTrust
    }

    /// The number of requests at the same time while a scenario is prepared.
    private static let preparing = 16

    init(_ system: BenchSystem) throws {
        addresses = system.state.instances(of: "gateway").compactMap(\.httpPort).map { .local($0) }
        guard let port = system.state.instances(of: "gateway").first?.httpPort else {
            throw BenchProblem("no gateway runs")
        }
        self.system = system
        client = try ProtocolClient(baseURL: "http://127.0.0.1:\(port)")
        app = nil
    }

    /// - Parameter tokens: The session tokens of the first users; others sign in.
    init(_ app: RemoteApp, address: LoadAddress, tokens: [String] = []) throws {
        addresses = [address]
        state.withLock { $0.tokens = tokens }
        system = nil
        client = try ProtocolClient(baseURL: app.url, trust: app.trust)
        self.app = app
    }

    /// Deletes the conversations of a remote Strata, and closes connections. The system of this machine keeps running.
    func close() async throws {
        let made = app == nil ? [] : state.withLock { $0.made }
        for (id, creator) in made {
            _ = try? await client.call(
                "DELETE", "/conversations/\(id)?mode=all_participants", token: token(creator))
        }
        try await client.shutdown()
    }

    // MARK: Users

    /// The text before the number in user ids.
    var userPrefix: String { system == nil ? Self.remotePrefix : "u" }
    /// The text before the number in ids of a remote Strata's users.
    static let remotePrefix = "bench-u"

    func token(_ user: Int) -> String {
        if let system { return system.token(user) }
        return state.withLock { $0.tokens.indices.contains(user) ? $0.tokens[user] : "" }
    }

    /// Makes sure that the users with the numbers below `count` have sessions.
    func signIn(users count: Int) async throws {
        if let system { return try await system.signIn(users: count) }
        let first = state.withLock { $0.tokens.count }
        guard count > first else { return }
        let tokens = try await concurrently(first..<count) { try await self.signIn($0) }
        state.withLock { $0.tokens += tokens }
    }

    private func signIn(_ user: Int) async throws -> String {
        guard let app else { throw BenchProblem("the app is unknown") }
        let identity = IdentityToken(
            provider: app.provider, key: app.keyID, user: "\(userPrefix)\(user)", nonce: try await client.nonce())
        return try await client.signIn(
            appID: LayerID.app.text(app.id), identityToken: try await identity.signed(with: app.privateKey))
    }

    func path(ofUser user: Int, room: String, includesSender: Bool) -> String { "/?session_token=\(token(user))" }

    func enter(_ socket: LoadSocket, ofUser user: Int, room: String) async throws {
        socket.send(LoadSocket.counterRequest)
        try await socket.awaitLive()
    }

    // MARK: Conversations

    func makeRooms(_ plan: RoomPlan) async throws -> [String] {
        try await signIn(users: plan.firstUser + plan.users)
        return try await concurrently(0..<plan.rooms) { room in
            try await self.conversation(
                of: (0..<plan.members).map { plan.user($0, of: room) }, as: plan.user(0, of: room))
        }
    }

    /// Creates a conversation and returns its id, without the prefix.
    func conversation(of users: [Int], as creator: Int) async throws -> String {
        let id = UUID().uuidString.lowercased()
        let names = users.map { JSONValue.string("layer:///identities/\(userPrefix)\($0)") }
        let body: JSONValue = ["id": .string(id), "distinct": false, "participants": .array(names)]
        try await call("POST", "/conversations", as: creator, body: body)
        state.withLock { $0.made.append((id, creator)) }
        return id
    }

    /// Makes a call over REST.
    /// - Throws: ``BenchProblem`` if it is refused.
    @discardableResult
    func call(
        _ method: String, _ path: String, as user: Int, body: JSONValue? = nil
    ) async throws -> RESTResponse {
        let deadline = ContinuousClock.now + .seconds(60)
        let answer = try await client.call(method, path, body: body, token: token(user), deadline: deadline)
        guard answer.isSuccess else { throw BenchProblem("\(method) \(path) was answered with \(answer.status)") }
        return answer
    }

    /// Performs a task for each number, some at the same time, and returns the results in order.
    func concurrently<Value: Sendable>(
        _ numbers: Range<Int>, _ body: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { tasks in
            var results: [(Int, Value)] = []
            for number in numbers {
                if number - numbers.lowerBound >= Self.preparing, let done = try await tasks.next() {
                    results.append(done)
                }
                tasks.addTask { (number, try await body(number)) }
            }
            for try await done in tasks { results.append(done) }
            return results.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    func account() -> ProcessAccount? { system?.account() }
}
