// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import Foundation
import Logging
import NIOCore
import Postgres
import RPC
import StrataModel
import SwiftProtobuf
import TestSupport
import Testing

@testable import Conversations

/// The suites of tests that call the service as gateways do. They share one database, each test with an app of its own, and run one after the other,
/// so that the connections they hold together stay few.
@Suite(.serialized, .timeLimit(.minutes(2))) struct StoreTests {}

/// The service's calls in this process, on a real database, with what they publish.
struct CallsFixture: Sendable {
    let app: AppID
    let database: Database
    let router: CallRouter
    /// What takes the parts of the messages of users who are being erased, a step at a time.
    let erasures: Erasures
    let indexBuilder: IndexBuilder
    /// Another instance of the service, with connections of its own: within one instance writes of one conversation never meet in the database.
    let second: CallRouter
    /// The same instance, when none of its publications arrive.
    let unheard: CallRouter
    let published: ServiceFixture.Recorder
    /// An instance whose only connections to the database are those for large metadata.
    let onlyLarge: CallRouter
    /// The superuser's hands: what holds locks, and what watches.
    let admin: PostgresPool
    let keeper: PostgresPool

    private static let migrated = Task { try await ServiceFixture.migratedDatabase() }

    /// Participants of a conversation at most.
    static let participantsLimit = 6
    /// Operations and values of a patch at most.
    static let patchItems = 200
    static let metadataLimits = MetadataLimits(keys: 100, bytes: 30_000)
    /// Beyond it receipts are told to the sender and the reader only.
    static let receiptAudienceLimit = 4
    static let quotas: Quotas = {
        var quotas = Quotas()
        (quotas.followed, quotas.blocked, quotas.pushTokens) = (12, 12, 4)
        (quotas.uploads, quotas.uploadBytes) = (40, 4000)
        (quotas.appUploads, quotas.appUploadBytes) = (50, 5000)
        quotas.delayedMessages = 8
        return quotas
    }()
    /// Long enough for receipts that are given at once to meet.
    static let receiptWindow = Duration.milliseconds(20)

    /// Runs `body` with everything started, and ends it afterwards.
    /// - Parameters:
    ///   - url: a database with all migrations; nil is the one that these tests share.
    ///   - connections: of each pool of the service.
    @discardableResult
    static func run<Value: Sendable>(
        on url: String? = nil, connections: Int = 3, _ body: (CallsFixture) async throws -> Value
    ) async throws -> Value {
        let url = if let url { url } else { try await migrated.value }
        let logger = ServiceFixture.quietLogger
        func pool(_ connections: Int, _ mode: PostgresPool.Mode, role: String? = nil) throws -> PostgresPool {
            var configuration = try PostgresConfiguration(url: url)
            configuration.role = role
            configuration.connections = connections
            // However slow the machine is: what waits for a lock here is waited for by the test.
            (configuration.lockTimeout, configuration.statementTimeout) = (.seconds(60), .seconds(60))
            return PostgresPool(configuration: configuration, mode: mode, logger: logger)
        }
        func database() throws -> Database {
            Database(
                hot: try pool(connections, .grouping, role: "strata_conversations"),
                exclusive: try pool(connections, .exclusive, role: "strata_conversations"),
                large: try pool(1, .exclusive, role: "strata_conversations"))
        }
        let (database, other) = (try database(), try database())
        let recorder = ServiceFixture.Recorder()
        let publisher = Publisher(logger: logger) { recorder.record($0, $1) }
        let fixture = CallsFixture(
            app: .random(), database: database,
            router: router(database, publisher, logger),
            erasures: Erasures(database: database, directory: IdentityDirectory(database: database), publisher: publisher, logger: logger),
            indexBuilder: IndexBuilder(database: database, logger: logger),
            second: router(other, publisher, logger),
            unheard: router(other, Publisher(logger: logger) { _, _ in }, logger), published: recorder,
            onlyLarge: router(
                Database(hot: try pool(1, .grouping), exclusive: try pool(1, .exclusive), large: database.large), publisher, logger),
            admin: try pool(2, .exclusive),
            keeper: try pool(1, .exclusive))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for pool in [
                database.hot, database.exclusive, database.large, other.hot, other.exclusive, other.large, fixture.admin, fixture.keeper,
            ] {
                group.addTask { try await pool.run() }
            }
            defer { group.cancelAll() }
            return try await body(fixture)
        }
    }

    private static func router(_ database: Database, _ publisher: Publisher, _ logger: Logger) -> CallRouter {
        let support = CallSupport(
            database: database, directory: IdentityDirectory(database: database), publisher: publisher, epoch: EpochSource(database: database),
            participantsLimit: participantsLimit, receiptAudienceLimit: receiptAudienceLimit, metadataLimits: metadataLimits,
            metadataValidation: MetadataPatchValidation(maximumItems: patchItems), quotas: quotas)
        var router = CallRouter(logger: logger)
        let erasures = Erasures(database: database, directory: support.directory, publisher: publisher, logger: logger)
        for handler in ConversationsService.handlers(support, receiptWindow: receiptWindow, erasures: erasures) { handler.register(on: &router) }
        return router
    }

    private func changed(app: AppID? = nil, router: CallRouter? = nil) -> CallsFixture {
        CallsFixture(
            app: app ?? self.app, database: database, router: router ?? self.router, erasures: erasures, indexBuilder: indexBuilder,
            second: second, unheard: unheard, published: published, onlyLarge: onlyLarge, admin: admin, keeper: keeper)
    }

    /// The same service for another application.
    func with(app: AppID) -> CallsFixture { changed(app: app) }

    /// An instance that can do nothing but large changes of metadata.
    var withLargePoolOnly: CallsFixture { changed(router: onlyLarge) }

    /// Another instance of the service on the same database.
    var otherInstance: CallsFixture { changed(router: second) }

    /// Another instance, while nothing it publishes arrives.
    var withoutPublishing: CallsFixture { changed(router: unheard) }

    /// Calls as a gateway does, with everything encoded on its way.
    func call<Request, Response>(_ endpoint: Endpoint<Request, Response>, _ request: Request) async throws -> Response {
        let context = RPCContext(method: endpoint.method, deadline: .soon, trace: .random(), peer: "test")
        do {
            return try Response(protobuf: await router.handleCall(context, payload: try ByteBuffer(protobuf: request)))
        } catch let error as RPCError {
            guard let payload = error.payload else { throw error }
            throw Failure(try ProtoFailure(protobuf: payload))
        }
    }

    /// What `body` is refused with; nil if it is not.
    func refusal<Value>(_ body: () async throws -> Value) async throws -> Failure? {
        do {
            _ = try await body()
            return nil
        } catch let failure as Failure {
            return failure
        }
    }

    /// A single number, asked as the superuser.
    func number(_ sql: String) async throws -> Int64 {
        let rows = try await admin.query(Statement("test.\(sql.hashValue)", sql: sql, isIdempotent: true), deadline: .soon)
        return try #require(rows.first).get(0)
    }

    /// Runs a statement as the superuser.
    func execute(_ sql: String) async throws {
        _ = try await admin.query(Statement("test.\(UUID())", sql: sql), deadline: .now + .seconds(120))
    }

    /// From now on the database fails when metadata gets this value.
    func refuseInDatabase(_ value: String) async throws {
        try await execute(
            """
            CREATE OR REPLACE FUNCTION metadata.fail_on_value() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.value = TG_ARGV[0] THEN RAISE EXCEPTION 'this value fails' USING ERRCODE = 'check_violation'; END IF;
                RETURN NEW;
            END
            $$
            """)
        try await execute(
            """
            CREATE OR REPLACE TRIGGER fail_on_value BEFORE INSERT OR UPDATE ON metadata.leaf
            FOR EACH ROW EXECUTE FUNCTION metadata.fail_on_value('\(value)')
            """)
    }

    /// How many entries of users' directories do not say what is so: whether the conversation is on the user's list.
    func misplaced() async throws -> Int64 {
        try await number(
            """
            SELECT count(*) FROM conversations.user_conversation u
            JOIN conversations.conversation c ON c.id = u.conversation_id
            JOIN conversations.participant p ON p.conversation_id = u.conversation_id AND p.user_id = u.user_id
            WHERE u.app_id = '\(app)' AND u.is_listed <> conversations.is_visible(c, p)
            """)
    }

    /// The changes of a conversation that were published, by position.
    func heard(_ id: ConversationID) throws -> [Change] {
        try published.changes().filter { $0.conversationID == id }.sorted { $0.position < $1.position }
    }

    func notices(_ user: String) throws -> [UserNotice.Content] {
        try published.notices().filter { $0.appID == app && $0.user.rawValue == user }.map(\.content)
    }
}

extension EpochSource {
    /// As the service has it.
    convenience init(database: Database) { self.init(database: database.exclusive, counter: "strata_conversations_epoch_checks_total") }
}
