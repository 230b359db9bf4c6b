// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import NIOCore
public import RPC
public import StrataModel
import SwiftProtobuf
import Synchronization

/// Passes each call to the handlers of one database:
/// - The database that the request names (``DatabaseRequest``).
/// - Otherwise the database of the request's app (``AppRequest``).
/// - Otherwise the first database. Its handlers refuse an unknown app.
///
/// Calls that concern several databases have handlers of their own.
public struct DatabaseRouter: Sendable {
    /// Returns the index of the database in which an app lives; nil: the app is unknown.
    public typealias Locate = @Sendable (AppID, _ deadline: ContinuousClock.Instant) async throws -> Int?

    private let routers: [CallRouter]
    private let indexes: [DatabaseName: Int]
    /// The handlers of calls that concern several databases.
    private let spanning: CallRouter?
    /// The room of each database.
    private let rooms: [CallRoom]
    /// The room of the calls whose database is not known yet.
    private let waiting: CallRoom
    private let known: @Sendable (AppID) -> Int?
    private let locate: Locate

    /// Creates a router for a single database.
    public init(_ router: CallRouter, spanning: CallRouter? = nil) {
        self.init([(.main, router)], spanning: spanning, mostCalls: .max, known: { _ in nil }, locate: { _, _ in nil })
    }

    /// Creates a router.
    /// - Parameters:
    ///   - databases: the handlers of each database, not empty. All have handlers of the same methods.
    ///   - spanning: the handlers of calls that concern several databases.
    ///   - mostCalls: the maximum number of calls in progress for one of several databases. A further call fails as
    ///     overloaded, so a database that does not answer leaves room for the calls of the others. The same maximum
    ///     applies to the calls of all apps whose database is not known yet.
    ///   - known: returns the index of the database in which an app lives, if it is known without waiting.
    ///   - locate: finds the database of another app.
    public init(
        _ databases: [(name: DatabaseName, router: CallRouter)], spanning: CallRouter?, mostCalls: Int,
        known: @escaping @Sendable (AppID) -> Int?, locate: @escaping Locate
    ) {
        routers = databases.map { $0.router }
        indexes = Dictionary(databases.enumerated().map { ($1.name, $0) }) { first, _ in first }
        self.spanning = spanning
        rooms = databases.map { _ in CallRoom(most: mostCalls) }
        waiting = CallRoom(most: mostCalls)
        self.known = known
        self.locate = locate
    }

    /// Handles a call.
    public func handleCall(_ context: RPCContext, payload: ByteBuffer) async throws -> ByteBuffer {
        let spanning = self.spanning.flatMap { $0.handles(context.method) ? $0 : nil }
        let first = spanning ?? routers[0]
        // A single database answers every call, so the request is decoded once.
        guard routers.count > 1 else { return try await first.handleCall(context, payload: payload) }
        return try await first.answering(context) {
            let scope = try first.scope(of: context.method, payload: payload)
            if let spanning {
                // Without a known app, the call asks all databases, or waits for the place of its app.
                let room = knownIndex(for: scope).map { rooms[$0] } ?? waiting
                return try await room.run { try await spanning.handleCall(context, payload: payload) }
            }
            let index = try await index(for: scope, until: context.deadline)
            return try await rooms[index].run { try await routers[index].handleCall(context, payload: payload) }
        }
    }

    /// Returns the index of the database that the request names, or of that of its app; nil: it is not known yet.
    private func knownIndex(for scope: CallScope) -> Int? {
        if !scope.database.isEmpty { return DatabaseName(scope.database).flatMap { indexes[$0] } }
        return scope.app.flatMap { known($0) }
    }

    private func index(for scope: CallScope, until deadline: ContinuousClock.Instant) async throws -> Int {
        if let index = knownIndex(for: scope) { return index }
        guard scope.database.isEmpty else {
            throw Failure.invalid("database", reason: "is not the name of a database")
        }
        guard let app = scope.app else { return 0 }
        let found = try await waiting.run { try await locate(app, deadline) }
        return found ?? 0
    }
}

/// A bound for calls in progress.
private final class CallRoom: Sendable {
    private let count = Mutex(0)
    private let most: Int

    /// - Parameter most: the maximum number of calls in progress.
    init(most: Int) { self.most = most }

    /// Runs a call, unless the maximum number of calls is in progress.
    /// - Throws: ``RPC/RPCError/overloaded`` beyond the maximum.
    func run<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        let begins = count.withLock { count in
            guard count < most else { return false }
            count += 1
            return true
        }
        guard begins else { throw RPCError.overloaded }
        defer { count.withLock { $0 -= 1 } }
        return try await body()
    }
}

/// The part of a request that determines its database.
struct CallScope: Sendable {
    /// The app; nil: the request names none, or its id is malformed.
    let app: AppID?
    /// The name of the database; empty: the request names none.
    let database: String

    init(_ request: some SwiftProtobuf.Message) {
        app = (request as? any AppRequest).flatMap { try? AppID(contract: $0.appID) }
        database = (request as? any DatabaseRequest)?.database ?? ""
    }
}
