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
    private let room: CallRoom
    private let locate: Locate

    /// Creates a router for a single database.
    public init(_ router: CallRouter, spanning: CallRouter? = nil) {
        self.init([(.main, router)], spanning: spanning, mostCalls: .max) { _, _ in nil }
    }

    /// Creates a router.
    /// - Parameters:
    ///   - databases: the handlers of each database, not empty. All have handlers of the same methods.
    ///   - spanning: the handlers of calls that concern several databases.
    ///   - mostCalls: the maximum number of calls in progress for one of several databases. A further call fails as
    ///     overloaded, so a database that does not answer leaves room for the calls of the others.
    public init(
        _ databases: [(name: DatabaseName, router: CallRouter)], spanning: CallRouter?, mostCalls: Int,
        locate: @escaping Locate
    ) {
        routers = databases.map { $0.router }
        indexes = Dictionary(databases.enumerated().map { ($1.name, $0) }) { first, _ in first }
        self.spanning = spanning
        room = CallRoom(databases: databases.count, most: mostCalls)
        self.locate = locate
    }

    /// Handles a call.
    public func handleCall(_ context: RPCContext, payload: ByteBuffer) async throws -> ByteBuffer {
        if let spanning, spanning.handles(context.method) {
            return try await spanning.handleCall(context, payload: payload)
        }
        // A single database answers every call, so the request is decoded once.
        guard routers.count > 1 else { return try await routers[0].handleCall(context, payload: payload) }
        return try await routers[0]
            .answering(context) {
                let scope = try routers[0].scope(of: context.method, payload: payload)
                let index = try await index(for: scope, until: context.deadline)
                return try await room.run(of: index) {
                    try await routers[index].handleCall(context, payload: payload)
                }
            }
    }

    private func index(for scope: CallScope, until deadline: ContinuousClock.Instant) async throws -> Int {
        if !scope.database.isEmpty {
            guard let index = DatabaseName(scope.database).flatMap({ indexes[$0] }) else {
                throw Failure.invalid("database", reason: "is not the name of a database")
            }
            return index
        }
        guard let app = scope.app else { return 0 }
        return try await locate(app, deadline) ?? 0
    }
}

/// The calls in progress of each database.
private final class CallRoom: Sendable {
    private let counts: Mutex<[Int]>
    private let most: Int

    init(databases: Int, most: Int) {
        counts = Mutex(Array(repeating: 0, count: databases))
        self.most = most
    }

    /// Runs a call of a database, unless the database has its maximum number of calls in progress.
    func run<Answer>(of database: Int, _ body: () async throws -> Answer) async throws -> Answer {
        let begins = counts.withLock { counts in
            guard counts[database] < most else { return false }
            counts[database] += 1
            return true
        }
        guard begins else { throw RPCError.overloaded }
        defer { counts.withLock { $0[database] -= 1 } }
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
