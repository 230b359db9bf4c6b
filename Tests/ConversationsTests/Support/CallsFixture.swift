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

/// The suites that call the service as gateways do. They share one database, and each test has its own app. They run
/// sequentially, to keep the number of connections low.
@Suite(.serialized, .timeLimit(.minutes(2))) struct StoreTests {}

/// The service's calls in this process, on a real database, with a record of publications.
struct CallsFixture: Sendable {
    private(set) var app: AppID
    let database: Database
    private(set) var router: CallRouter
    /// The worker that removes, step by step, the message parts of users who are being erased.
    let erasures: Erasures
    let indexBuilder: IndexBuilder
    /// The signals of ``router`` to background tasks.
    let signals: BackgroundSignals
    /// Another instance of the service with its own connections. Within one instance, writes of one conversation never
    /// meet in the database.
    let second: CallRouter
    /// An instance that shares the database connections of ``second``, but whose publications are lost.
    let unpublished: CallRouter
    let published: ServiceFixture.Recorder
    /// An instance whose only database connections are those for large metadata.
    let onlyLarge: CallRouter
    /// Superuser connections: `admin` runs statements and observes, `keeper` holds locks.
    let admin: PostgresPool
    let keeper: PostgresPool

    private static let migrated = Task { try await ServiceFixture.migratedDatabase() }

    static let participantsLimit = 6
    /// The maximum number of operations and values in a patch.
    static let patchItems = 200
    static let metadataLimits = MetadataLimits(keys: 100, bytes: 30_000)
    /// The number of participants above which receipts go to the sender and the reader only.
    static let receiptAudienceLimit = 4
    static let quotas: Quotas = {
        var quotas = Quotas()
        (quotas.followed, quotas.blocked, quotas.pushTokens) = (12, 12, 4)
        (quotas.uploads, quotas.uploadBytes) = (40, 4000)
        (quotas.appUploads, quotas.appUploadBytes) = (50, 5000)
        quotas.delayedMessages = 8
        return quotas
    }()
    /// A window long enough for concurrent receipts to be gathered.
    static let receiptWindow = Duration.milliseconds(20)

    /// Runs `body` with all parts started, and stops them afterwards.
    /// - Parameters:
    ///   - url: A database with all migrations; nil: the one that these tests share.
    ///   - connections: The size of each pool of the service.
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
            // Long timeouts, for slow machines. The tests themselves wait for sessions that wait for locks.
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
        let signals = BackgroundSignals()
        let fixture = CallsFixture(
            app: .random(), database: database,
            router: router(database, publisher, logger, signals),
            erasures: Erasures(
                database: database, directory: IdentityDirectory(database: database), publisher: publisher,
                logger: logger),
            indexBuilder: IndexBuilder(database: database, logger: logger), signals: signals,
            second: router(other, publisher, logger),
            unpublished: router(other, Publisher(logger: logger) { _, _ in }, logger), published: recorder,
            onlyLarge: router(
                Database(hot: try pool(1, .grouping), exclusive: try pool(1, .exclusive), large: database.large),
                publisher, logger),
            admin: try pool(2, .exclusive),
            keeper: try pool(1, .exclusive))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for pool in [
                database.hot, database.exclusive, database.large, other.hot, other.exclusive, other.large,
                fixture.admin, fixture.keeper,
            ] {
                group.addTask { try await pool.run() }
            }
            defer { group.cancelAll() }
            return try await body(fixture)
        }
    }

    private static func router(
        _ database: Database, _ publisher: Publisher, _ logger: Logger,
        _ signals: BackgroundSignals = BackgroundSignals()
    ) -> CallRouter {
        let support = ServiceContext(
            database: database, directory: IdentityDirectory(database: database), publisher: publisher,
            epoch: EpochSource(database: database),
            participantsLimit: participantsLimit, receiptAudienceLimit: receiptAudienceLimit,
            metadataLimits: metadataLimits,
            metadataValidation: MetadataPatchValidation(maximumItems: patchItems), quotas: quotas, signals: signals)
        var router = CallRouter(logger: logger)
        let erasures = Erasures(database: database, directory: support.directory, publisher: publisher, logger: logger)
        let retention = Retention(.seconds(30 * 86_400), sessionLifetime: .seconds(86_400))
        let administration: [any CallHandler] = [
            AdminHandler(database: database), ReportHandler(database: database, retention: retention),
        ]
        let others = ConversationsService.handlers(support, receiptWindow: receiptWindow, erasures: erasures)
        for handler in administration + others { handler.register(on: &router) }
        return router
    }

    private func changed(app: AppID? = nil, router: CallRouter? = nil) -> CallsFixture {
        var changed = self
        changed.app = app ?? self.app
        changed.router = router ?? self.router
        return changed
    }

    func with(app: AppID) -> CallsFixture { changed(app: app) }

    /// An instance that can only make large changes of metadata.
    var withLargePoolOnly: CallsFixture { changed(router: onlyLarge) }

    var otherInstance: CallsFixture { changed(router: second) }

    /// An instance whose publications are lost.
    var withoutPublishing: CallsFixture { changed(router: unpublished) }

    /// Makes a call as a gateway does, with encoding and decoding.
    @discardableResult
    func call<Request, Response>(_ endpoint: Endpoint<Request, Response>, _ request: Request) async throws -> Response {
        let context = RPCContext(method: endpoint.method, deadline: .soon, trace: .random(), peer: "test")
        do {
            return try Response(protobuf: await router.handleCall(context, payload: try ByteBuffer(protobuf: request)))
        } catch let error as RPCError {
            guard let payload = error.payload else { throw error }
            throw Failure(try ProtoFailure(protobuf: payload))
        }
    }

    @discardableResult
    func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ fill: (inout Request) throws -> Void
    ) async throws -> Response {
        try await call(endpoint, Request.with(fill))
    }

    /// Returns the failure with which `body` is refused; nil if it succeeds.
    func refusal<Value>(_ body: () async throws -> Value) async throws -> Failure? {
        do {
            _ = try await body()
            return nil
        } catch let failure as Failure {
            return failure
        }
    }

    /// Registers the app, which only some calls require.
    func register(suspended: Bool = false) async throws {
        _ = try await admin.query(
            Statement(
                "test.register",
                sql: """
                    INSERT INTO conversations.app (id, name, provider_id, suspended) VALUES ($1, 'test', gen_random_uuid(), $2)
                    ON CONFLICT (id) DO UPDATE SET suspended = $2
                    """), with: [.uuid(app.rawValue), .bool(suspended)], deadline: .soon)
    }

    /// Returns a single text, queried as the superuser.
    func text(_ sql: String) async throws -> String? {
        try await admin.query(Statement("test.\(UUID())", sql: sql), deadline: .soon).first?.get(0)
    }

    /// Returns a single number, queried as the superuser.
    func number(_ sql: String) async throws -> Int64 {
        let rows = try await admin.query(
            Statement("test.\(sql.hashValue)", sql: sql, isIdempotent: true), deadline: .soon)
        return try #require(rows.first).get(0)
    }

    func execute(_ sql: String) async throws {
        _ = try await admin.query(Statement("test.\(UUID())", sql: sql), deadline: .now + .seconds(120))
    }

    /// Makes the database fail when metadata is set to this value.
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

    /// Returns the number of rows in `user_conversation` that wrongly say whether the conversation is on the user's
    /// list.
    func misplaced() async throws -> Int64 {
        try await number(
            """
            SELECT count(*) FROM conversations.user_conversation u
            JOIN conversations.conversation c ON c.id = u.conversation_id
            JOIN conversations.participant p ON p.conversation_id = u.conversation_id AND p.user_id = u.user_id
            WHERE u.app_id = '\(app)' AND u.is_listed <> conversations.is_visible(c, p)
            """)
    }

    /// Returns the published changes of a conversation, by position.
    func publishedChanges(of id: ConversationID) throws -> [Change] {
        try published.changes().filter { $0.conversationID == id }.sorted { $0.position < $1.position }
    }

    func notices(_ user: String) throws -> [UserNotice.Content] {
        try published.notices().filter { $0.appID == app && $0.user.rawValue == user }.map(\.content)
    }
}

extension EpochSource {
    /// Creates an epoch source that is configured as in the service.
    convenience init(database: Database) {
        self.init(database: database.exclusive, counter: "strata_conversations_epoch_checks_total")
    }
}
