// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import NetKit
import Postgres
import RPC
import StrataModel

/// Signals to background tasks of this instance that there may be work. Other instances find it with their next search.
struct BackgroundSignals: Sendable {
    let delayedMessages = Wakeup()
    let indexes = Wakeup()
}

/// The dependencies and limits shared by the handlers of conversations, messages and synchronization.
struct ServiceContext: Sendable {
    let database: Database
    let directory: IdentityDirectory
    let publisher: Publisher
    let epoch: EpochSource
    /// The maximum number of participants of a conversation, including its creator.
    let participantsLimit: Int
    var partsLimit = Limits.partsPerMessage
    /// The maximum number of participants for which receipts are announced to all of them. In larger conversations,
    /// only the message's sender and the reader receive them.
    var receiptAudienceLimit = 25
    var metadataLimits = MetadataLimits()
    var metadataValidation = MetadataPatchValidation()
    var quotas = Quotas()
    /// The apps whose changes are recorded for webhooks. nil: none.
    var recordedApps: RecordedApps?
    /// True if the installation has other databases, to which apps can be moved.
    var hasOtherDatabases = false
    var signals = BackgroundSignals()

    /// Runs a block that reads rows, and converts its errors to the failures that a client receives.
    func reading<T>(_ body: () throws -> T) throws(Failure) -> T {
        do {
            return try body()
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Converts the maximum size of an answer to the form of the database's functions. nil: no limit.
    static func bound(_ bytes: Int64) -> Int64? { bytes > 0 ? bytes : nil }

    /// Returns the first row. A missing one is an internal error.
    func row<Row>(_ rows: [Row]) throws(Failure) -> Row {
        guard let row = rows.first else { throw Failure(.internalServerError, "An internal error occurred.") }
        return row
    }

    /// Creates a minimal identity for each of these users that has none, because every participant has an identity.
    ///
    /// Nothing is written if the database is certain to refuse the request: if there are more than `participantsLimit`
    /// users, or `isPossible` returns false.
    func ensureUsers(
        _ names: some Collection<String>, for caller: Caller, if isPossible: () async throws(Failure) -> Bool
    ) async throws(Failure) {
        var users: [UserID] = []
        for name in names {
            guard let user = UserID(name) else {
                throw .invalid("participants", reason: "has an element that is not a user id")
            }
            users.append(user)
        }
        guard Set(users).count <= participantsLimit else { return }
        try await directory.ensure(users, in: caller.app, deadline: caller.deadline, if: isPossible)
    }

    /// Throws the refusal if the user may not add others.
    /// - Throws: the failure for an outcome that refuses an addition.
    func checkAdditions(_ outcome: String) throws(Failure) {
        switch outcome {
        case "server_only": throw .invalid("participants", reason: "names users whom only the app's own server may add")
        case "not_followed": throw .invalid("participants", reason: "names a user who does not follow you")
        case "too_often": throw QuotaRefusal.additions.failure(quotas)
        default: break
        }
    }

    func answer<Query: PostgresQuery>(
        _ query: Query, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Bool where Query.Row == AnswerRow {
        try row(try await database.run(query, deadline: deadline)).answer
    }

    /// Returns a view without its metadata, with the identities of all users in it.
    func named(
        _ view: ViewRow, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ConversationView {
        view.view(
            try await directory.basic(view.users, in: app, deadline: deadline),
            epoch: try await epoch.current(for: app, deadline: deadline))
    }
}

struct Caller: Sendable {
    let app: AppID
    /// The calling user. ``StrataModel/UserID/appServer``: the app's own server calls for no user.
    let user: UserID
    let origin: Change.Origin?
    /// The idempotency key of the change, if the client sent one.
    let idempotencyKey: IdempotencyKey?
    let deadline: ContinuousClock.Instant

    init(
        app: Data, user: String, origin: ProtoOrigin? = nil, idempotencyKey: ProtoMutation? = nil, _ context: RPCContext
    ) throws {
        self.app = try AppID(contract: app)
        self.user = UserID(trusted: user)
        self.origin = origin.map { Change.Origin($0) }
        self.idempotencyKey = try idempotencyKey.map { proto throws(ContractViolation) in try IdempotencyKey(proto) }
        deadline = context.deadline
    }

    /// True if the app's own server calls for no user.
    var isServer: Bool { user.isAppServer }

    /// A hash that identifies the user within this process.
    var fairShareKey: UInt64 {
        var hasher = Hasher()
        hasher.combine(app)
        hasher.combine(user)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    func change(
        in conversation: ConversationID, at position: Position, createdAt: StrataModel.Timestamp, messageCount: Int64,
        counts: [UserID: UserCounts] = [:], content: Change.Content, hiddenFrom: [UserID] = []
    ) -> Change {
        Change(
            appID: app, conversationID: conversation, position: position, createdAt: createdAt,
            actor: isServer ? nil : user, origin: origin,
            messageCount: messageCount, counts: counts, content: content, hiddenFrom: hiddenFrom)
    }
}

extension ConversationID {
    /// The key by which the statements of a group are sorted: a hash of the conversation that they lock.
    var lockKey: UInt64 { UInt64(hashing: rawValue) }
}

extension Value {
    /// Returns the acting or reading user as an argument of the database's functions. NULL is the app's own server.
    static func actor(_ user: UserID) -> Value { user.isAppServer ? .null : .text(user.rawValue) }
}
