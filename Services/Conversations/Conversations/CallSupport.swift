// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import RPC
import StrataModel

/// What the calls about conversations, messages and synchronization share.
struct CallSupport: Sendable {
    let database: Database
    let directory: IdentityDirectory
    let publisher: Publisher
    let epoch: EpochSource
    /// Participants of a conversation, its creator included.
    let participantsLimit: Int
    /// Parts of one message.
    var partsLimit = Limits.partsPerMessage
    /// Receipts in conversations of more participants than this are announced to the message's sender and the reader only.
    var receiptAudienceLimit = 25
    /// What the metadata of a conversation may grow to.
    var metadataLimits = MetadataLimits()
    var metadataValidation = MetadataPatchValidation()
    /// What one user, or one app, may have.
    var quotas = Quotas()
    /// For which apps changes are recorded for webhooks; nil: for none.
    var recordedApps: RecordedApps?

    /// Runs a block that reads rows; what it throws becomes what a client is told.
    func reading<T>(_ body: () throws -> T) throws(Failure) -> T {
        do {
            return try body()
        } catch {
            throw Failure(reading: error)
        }
    }

    /// The bytes that an answer may have, as the functions of the database take them.
    static func bound(_ bytes: Int64) -> Int64? { bytes > 0 ? bytes : nil }

    /// The only row of a write.
    func row(_ rows: Rows) throws(Failure) -> Row {
        guard let row = rows.first else { throw Failure(.internalServerError, "Something went wrong on our side.") }
        return row
    }

    /// Users who take part in a conversation have an identity from then on, if only a bare one. Unless the database is certain to refuse what they are wanted
    /// for: more than `participantsLimit` users, or what `isPossible` says is not to be.
    func ensureUsers(_ names: some Collection<String>, for caller: Caller, if isPossible: () async throws(Failure) -> Bool) async throws(Failure) {
        var users: [UserID] = []
        for name in names {
            guard let user = UserID(name) else { throw .invalid("participants", reason: "holds something that is not a user id") }
            users.append(user)
        }
        guard Set(users).count <= participantsLimit else { return }
        try await directory.ensure(users, in: caller.app, deadline: caller.deadline, if: isPossible)
    }

    /// - Throws: the refusal of a user who may not add others.
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
    ) async throws(Failure) -> Bool where Query.Columns == AnswerColumns {
        let rows = try await database.run(query, deadline: deadline)
        let first = try row(rows)
        return try reading { try first[rows.columns(of: Query.self).answer] }
    }

    /// A view with the names of all users in it.
    func named(
        _ view: ViewRow, in app: AppID, metadata: MetadataTree? = nil, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ConversationView {
        view.view(
            try await directory.basic(view.users, in: app, deadline: deadline), metadata: metadata, epoch: try await epoch.current(deadline: deadline)
        )
    }
}

/// Who asks, as every request carries it.
struct Caller: Sendable {
    let app: AppID
    /// ``StrataModel/UserID/appServer``: the app's own server, for no user.
    let user: UserID
    let origin: Change.Origin?
    /// The name of what they change, if they gave it one.
    let mutation: Mutation?
    let deadline: ContinuousClock.Instant

    init(app: Data, user: String, origin: ProtoOrigin? = nil, mutation: ProtoMutation? = nil, _ context: RPCContext) throws {
        self.app = try AppID(contract: app)
        self.user = UserID(trusted: user)
        self.origin = origin.map { Change.Origin($0) }
        self.mutation = try mutation.map { proto throws(ContractViolation) in try Mutation(proto) }
        deadline = context.deadline
    }

    /// The app's own server asks, for no user.
    var isServer: Bool { user.isAppServer }

    /// Names the user in this process.
    var number: UInt64 {
        var hasher = Hasher()
        hasher.combine(app)
        hasher.combine(user)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    func change(
        in conversation: ConversationID, at position: Position, createdAt: StrataModel.Timestamp, messageCount: Int64,
        numbers: [UserID: UserNumbers] = [:], content: Change.Content, hiddenFrom: [UserID] = []
    ) -> Change {
        Change(
            appID: app, conversationID: conversation, position: position, createdAt: createdAt, actor: isServer ? nil : user, origin: origin,
            messageCount: messageCount, numbers: numbers, content: content, hiddenFrom: hiddenFrom)
    }
}

extension ConversationID {
    /// What sorts statements of one group by the conversation they lock.
    var lockKey: UInt64 { UInt64(hashing: rawValue) }
}

extension Value {
    /// Who acts or reads, as the functions of the database take it: NULL is the app's own server.
    static func actor(_ user: UserID) -> Value { user.isAppServer ? .null : .text(user.rawValue) }
}
