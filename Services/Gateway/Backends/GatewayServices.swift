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

/// The other services as the gateway sees them: calls in terms of Model, and objects composed of what two of them know.
struct GatewayServices: Sendable {
    let conversations: RPCClient
    let metadata: RPCClient
    let presence: RPCClient
    /// Nil: there is none.
    let webhooks: RPCClient?
    let settings: GatewaySettings
    let renderer: Renderer
    /// Nil: none is kept here.
    let content: RichContent?
    let sessions: SessionDirectory
    let serverTokens: ServerTokenDirectory
    let identities = IdentityCache()
    let metrics = GatewayMetrics()
    let limits: GatewayLimits
    let renewalPeriod = RenewalPeriod()
    let logger: Logger

    init(
        conversations: RPCClient, metadata: RPCClient, presence: RPCClient, webhooks: RPCClient? = nil, settings: GatewaySettings,
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
            baseURL: settings.publicURL, webSocketURL: settings.webSocketURL, fullReceiptRecipients: settings.objects.receiptRecipients,
            locateContent: { content?.location(of: $0) ?? ContentLocation(downloadURL: nil, expiration: nil) })
        sessions = SessionDirectory(conversations: conversations)
        serverTokens = ServerTokenDirectory(conversations: conversations)
    }

    /// Who asks, for whom, until when: every call carries it.
    struct Call: Sendable {
        let key: UserKey
        var deadline: ContinuousClock.Instant
        var trace: TraceID
        var origin: Change.Origin?
        /// The name of what is changed, if its client gave it one.
        var mutation: Mutation?
        /// True if the app's own server asks, in its own name or on the user's behalf.
        var isByServer = false
        /// What counts the services' answers.
        var answers: (any CallAnswers)?
        private let budget: Duration

        /// - Parameter budget: how long the client may wait. Stock clients give a request up after 15 s.
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
        /// The same with all of its time, for what is fetched while the client takes what came before it.
        var renewed: Call { Call(key, origin: origin, budget: budget, trace: trace, answers: answers) }
        /// Its answer may be refused after all, however large: the change that it asked for was not made, or can be asked for again.
        func mayBeRefused() { (answers as? AnswerBudget.Lease)?.isRefusable = true }
        var appData: Data { Data(key.app) }
        var user: String { key.user.rawValue }
        var protoOrigin: ProtoOrigin? { origin.map { ProtoOrigin($0) } }
    }

    /// Fetches a piece of a catch-up, which answers no request, when it is the user's turn.
    /// - Parameter body: is given what its calls are to be counted by.
    func inTurn<T: Sendable>(of user: UserKey, _ body: (any CallAnswers) async throws(Failure) -> T) async throws(Failure) -> T {
        let turn = try await longAnswers.turn(of: user, patience: nil)
        let account = LongAnswers.Account()
        defer {
            longAnswers.gave(account.bytes, to: user)
            turn.end()
        }
        return try await body(account)
    }

    /// Runs a conversion of an answer; a service that answers what it must not is our own fault, not the client's.
    static func converted<T>(_ body: () throws -> T) throws(Failure) -> T {
        do {
            return try body()
        } catch {
            throw Failure(.internalServerError, "The answer of a service could not be understood.")
        }
    }
}
