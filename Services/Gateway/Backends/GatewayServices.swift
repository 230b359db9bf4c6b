// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import Logging
import NIOCore
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf
import Synchronization

/// The gateway's clients for the other services. They translate calls into terms of the model.
struct GatewayServices: Sendable {
    let conversations: RPCClient
    let metadata: RPCClient
    let presence: RPCClient
    /// The webhooks service; nil if the installation has none.
    let webhooks: RPCClient?
    let settings: GatewaySettings
    let renderer: Renderer
    /// Rich content; nil if this gateway stores none.
    let content: RichContent?
    let sessions: SessionDirectory
    let serverTokens: ServerTokenDirectory
    let identities = IdentityCache()
    let metrics = GatewayMetrics()
    let limits: GatewayLimits
    let renewalPeriod = RenewalPeriod()
    let logger: Logger

    init(
        conversations: RPCClient, metadata: RPCClient, presence: RPCClient, webhooks: RPCClient? = nil,
        settings: GatewaySettings,
        contentStore: (any ContentStore)? = nil, logger: Logger
    ) {
        self.conversations = conversations
        self.metadata = metadata
        self.presence = presence
        self.webhooks = webhooks
        self.settings = settings
        limits = GatewayLimits(settings, logger: logger)
        self.logger = logger
        let content = contentStore.map { RichContent(store: $0, settings: settings) }
        self.content = content
        renderer = Renderer(
            baseURL: settings.publicURL, webSocketURL: settings.webSocketURL,
            fullReceiptRecipients: settings.objects.receiptRecipients,
            locateContent: { content?.location(of: $0) ?? ContentLocation(downloadURL: nil, expiration: nil) })
        sessions = SessionDirectory(
            conversations: conversations, opening: limits.opening, databases: settings.databases, logger: logger)
        serverTokens = ServerTokenDirectory(conversations: conversations)
    }

    /// The context of a service call: user, deadline, trace, origin and idempotency key.
    struct Call: CallContext {
        let key: UserKey
        var deadline: ContinuousClock.Instant
        var trace: TraceID
        var origin: Change.Origin?
        /// The idempotency key of the change, if its client gave one.
        var idempotencyKey: IdempotencyKey?
        /// True if the call comes from the app's own server, in its own name or on the user's behalf.
        var isByServer = false
        /// The counter of the bytes that services answer.
        var answers: (any CallAnswers)?
        private let budget: Duration

        /// - Parameter budget: the time that the call may take. Stock clients give up a request after 15 s.
        init(
            _ key: UserKey, origin: Change.Origin? = nil, budget: Duration = .seconds(10), trace: TraceID = .random(),
            answers: (any CallAnswers)? = nil
        ) {
            self.key = key
            self.answers = answers
            self.origin = origin
            self.budget = budget
            deadline = .now + budget
            self.trace = trace
        }
        /// The call with its full time budget again, for objects that are fetched while the client reads earlier ones.
        var renewed: Call { Call(key, origin: origin, budget: budget, trace: trace, answers: answers) }
        /// Makes the answer refusable if it is too large. Used when no change was made, or when the client can repeat
        /// the request.
        func mayBeRefused() { (answers as? AnswerBudget.Lease)?.isRefusable = true }
        var appData: Data { Data(key.app) }
        var user: String { key.user.rawValue }
        var protoOrigin: ProtoOrigin? { origin.map { ProtoOrigin($0) } }
    }

    /// Fetches a piece of a catch-up when it is the user's turn. A catch-up answers no request.
    /// - Parameter body: receives the counter for the answers to its calls.
    func inTurn<T: Sendable>(
        of user: UserKey, _ body: (any CallAnswers) async throws(Failure) -> T
    ) async throws(Failure) -> T {
        let turn = try await longAnswers.turn(of: user, patience: nil)
        let account = LongAnswers.Account()
        defer {
            longAnswers.recordBytes(account.bytes, for: user)
            turn.end()
        }
        return try await opening.inTurn { () throws(Failure) in try await body(account) }
    }

    /// Runs a conversion of an answer. An invalid answer of a service is an internal error, not the client's.
    static func converted<T>(_ body: () throws -> T) throws(Failure) -> T {
        do {
            return try body()
        } catch {
            throw Failure(.internalServerError, "The answer of a service could not be understood.")
        }
    }
}

/// A cache of users' basic identities, filled from messages and participants. A typing signal shows its sender from it.
final class IdentityCache: Sendable {
    /// The maximum number of entries. When it is reached, the whole cache is cleared.
    static let capacity = 50_000
    private let identities = Mutex<[UserKey: BasicIdentity]>([:])

    func known(_ key: UserKey) -> BasicIdentity? { identities.withLock { $0[key] } }

    func remember(_ identity: BasicIdentity, in app: AppID) {
        identities.withLock { identities in
            if identities.count >= Self.capacity { identities.removeAll() }
            identities[UserKey(app: app, user: identity.userID)] = identity
        }
    }

    /// Fetches an identity from the conversations service and caches it. Returns nil if the call fails.
    func load(_ key: UserKey, through services: GatewayServices) async -> BasicIdentity? {
        guard
            let identity =
                try? await services.identities([key.user], for: GatewayServices.Call(key, budget: .seconds(2))).first
        else {
            return nil
        }
        remember(identity.basic, in: key.app)
        return identity.basic
    }
}
