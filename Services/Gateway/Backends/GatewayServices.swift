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

/// The three services as the gateway sees them: calls in terms of Model, and objects composed of what two of them know.
struct GatewayServices: Sendable {
    let conversations: RPCClient
    let metadata: RPCClient
    let presence: RPCClient
    let settings: GatewaySettings
    let renderer: Renderer
    /// Nil: none is kept here.
    let content: RichContent?
    let sessions: SessionDirectory
    let identities = IdentityCache()
    let metrics = GatewayMetrics()
    let limits: GatewayLimits
    let renewalPeriod = RenewalPeriod()
    let logger: Logger

    init(
        conversations: RPCClient, metadata: RPCClient, presence: RPCClient, settings: GatewaySettings, contentStore: (any ContentStore)? = nil,
        logger: Logger
    ) {
        self.conversations = conversations
        self.metadata = metadata
        self.presence = presence
        self.settings = settings
        limits = GatewayLimits(settings, logger: logger)
        self.logger = logger
        let content = contentStore.map { RichContent(store: $0, settings: settings) }
        self.content = content
        renderer = Renderer(
            baseURL: settings.publicURL, webSocketURL: settings.webSocketURL, fullReceiptRecipients: settings.receiptRecipients,
            locateContent: { content?.location(of: $0) ?? ContentLocation(downloadURL: nil, expiration: nil) })
        sessions = SessionDirectory(conversations: conversations)
    }

    /// Who asks, for whom, until when: every call carries it.
    struct Call: Sendable {
        let key: UserKey
        var deadline: ContinuousClock.Instant
        var trace: TraceID
        var origin: Change.Origin?
        /// The name of what is changed, if its client gave it one.
        var mutation: Mutation?
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
    func inTurn<T: Sendable>(_ user: UserKey, _ body: (any CallAnswers) async throws(Failure) -> T) async throws(Failure) -> T {
        let turn = try await longAnswers.turn(of: user, patience: nil)
        let account = LongAnswers.Account()
        defer {
            turn.end()
            longAnswers.gave(account.bytes, to: user)
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

// MARK: Accounts

extension GatewayServices {
    /// - Returns: the new session token, and the user's identity unless the service is of a version that does not send it.
    func signIn(app: AppID, identityToken: String, trace: TraceID) async throws(Failure) -> (token: String, identity: Identity?) {
        let request = ProtoSignInRequest.with {
            $0.appID = Data(app)
            $0.identityToken = identityToken
        }
        let answer = try await conversations.call(ConversationsAPI.signIn, with: request, deadline: .now + .seconds(10), trace: trace)
        return (answer.sessionToken, answer.hasIdentity ? Identity(answer.identity) : nil)
    }

    /// Ends a session; an unknown one too.
    func endSession(tokenDigest: [UInt8], trace: TraceID) async throws(Failure) {
        _ = try await conversations.call(
            ConversationsAPI.endSession, with: .with { $0.tokenDigest = Data(tokenDigest) }, deadline: .now + .seconds(5), trace: trace)
    }

    /// Asks about any number of sessions, in batches.
    /// - Returns: those that are not valid any more. A batch that could not be asked about names none.
    func endedSessions(among digests: Set<[UInt8]>) async -> Set<[UInt8]> {
        var ended: Set<[UInt8]> = []
        for batch in Array(digests).batches(of: ConversationsAPI.maximumAccounts) {
            let request = ProtoCheckSessionsRequest.with { $0.tokenDigests = batch.map { Data($0) } }
            let answer = try? await conversations.call(ConversationsAPI.checkSessions, with: request, deadline: .now + .seconds(10), trace: .random())
            for digest in answer?.ended ?? [] { ended.insert([UInt8](digest)) }
        }
        return ended
    }

    /// In the order asked for; users never heard of get a minimal identity.
    func identities(_ users: [UserID], _ call: Call) async throws(Failure) -> [Identity] {
        let request = ProtoIdentitiesRequest.with {
            $0.appID = call.appData
            $0.userIds = users.map(\.rawValue)
        }
        return
            try await conversations.call(
                ConversationsAPI.identities, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers
            )
            .identities.map { Identity($0) }
    }

    /// All users whose presence the user may hear of.
    func followed(_ call: Call) async throws(Failure) -> [UserID] {
        let request = ProtoFollowedRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
        }
        return
            try await conversations.call(ConversationsAPI.followed, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
            .userIds.map { UserID(trusted: $0) }
    }
}

// MARK: Conversations

extension GatewayServices {
    /// What a creation came to.
    struct Creation: Sendable {
        let view: ConversationView
        /// False: the distinct match.
        let isNew: Bool
        let place: ChangePlace
    }

    func createConversation(
        id: ConversationID, participants: [UserID], isDistinct: Bool, metadata leaves: [MetadataLeaf]?, receiptPolicy: ReceiptPolicy = [],
        _ call: Call
    ) async throws(Failure) -> Creation {
        let request = ProtoCreateConversationRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.id = Data(id)
            $0.participants = participants.map(\.rawValue)
            $0.distinct = isDistinct
            if let leaves { $0.metadata = ProtoTree(leaves) }
            $0.receiptPolicy = receiptPolicy.rawValue
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        do throws(Failure) {
            let answer = try await conversations.call(
                ConversationsAPI.createConversation, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace,
                answers: call.answers)
            // One that was there already may be large, and can be asked for again.
            if !answer.created { call.mayBeRefused() }
            return Creation(
                view: try await completed([Self.converted { try ConversationView(answer.view) }], call)[0], isNew: answer.created,
                place: ChangePlace(answer.place))
        } catch {
            call.mayBeRefused()
            throw await completed(error, call)
        }
    }

    func conversation(_ id: ConversationID, _ call: Call) async throws(Failure) -> ConversationView {
        try await completed([bareConversation(id, call)], call)[0]
    }

    /// Without its metadata.
    func bareConversation(_ id: ConversationID, _ call: Call) async throws(Failure) -> ConversationView {
        let request = ProtoGetConversationRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.conversationID = Data(id)
        }
        let view = try await conversations.call(
            ConversationsAPI.getConversation, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        return try Self.converted { try ConversationView(view) }
    }

    /// As many of these conversations, from the first on, as one answer should hold, without their metadata; what the user does not see is left out.
    /// - Returns: also how many of the ids the answer covers, at least one.
    func bareConversations(_ ids: [ConversationID], _ call: Call) async throws(Failure) -> (views: [ConversationView], covered: Int) {
        let request = ProtoGetConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.conversationIds = ids.map { Data($0) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(
            ConversationsAPI.getConversations, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        let covered = Int(answer.covered)
        return try Self.converted {
            guard (1...max(1, ids.count)).contains(covered), answer.views.count <= covered else { throw ContractViolation("covered") }
            return (try answer.views.map { try ConversationView($0) }, covered)
        }
    }

    /// A page of the user's list.
    func conversations(
        orderedBy order: ConversationOrder, pageSize: Int, from: ConversationID?, _ call: Call
    ) async throws(Failure) -> ListPage<ConversationBatches> {
        let request = ProtoListConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.byLastMessage = order == .lastMessage
            $0.pageSize = Int32(clamping: pageSize)
            if let from { $0.fromID = Data(from) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(
            ConversationsAPI.listConversations, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        let (views, later) = try Self.converted {
            (try answer.views.map { try ConversationView($0) }, try answer.later.map { try ConversationID(contract: $0) })
        }
        return ListPage(
            objects: ConversationBatches(views, later: later, self, call), total: Int(answer.total),
            nextFrom: try Self.nextFrom(
                answer.hasEnd ? answer.end : nil, isFull: views.count + later.count >= pageSize,
                last: later.last ?? views.last?.conversation.id))
    }

    /// Participants or both kinds of operation go to the conversations service, metadata alone to its own.
    func patchConversation(
        _ id: ConversationID, participants: [ProtoParticipantOperation], metadata operations: [MetadataOperation], _ call: Call
    ) async throws(Failure) -> ChangePlace {
        if participants.isEmpty {
            let request = ProtoPatchMetadataRequest.with {
                $0.appID = call.appData
                $0.actor = call.user
                $0.conversationID = Data(id)
                $0.operations = operations.map { ProtoMetadataOperation($0) }
                if let origin = call.protoOrigin { $0.origin = origin }
            }
            let answer = try await metadata.call(
                MetadataAPI.patch, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace, answers: call.answers)
            return ChangePlace(answer.place)
        }
        let request = ProtoPatchConversationRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(id)
            $0.participants = participants
            $0.metadata = operations.map { ProtoMetadataOperation($0) }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(
            ConversationsAPI.patchConversation, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace, answers: call.answers)
        return ChangePlace(answer.place)
    }

    /// - Parameter upTo: with ``DeletionMode/myDevices``, the last change whose message goes; nil: everything goes.
    func deleteConversation(
        _ id: ConversationID, mode: DeletionMode, leave: Bool, upTo: Position? = nil, _ call: Call
    ) async throws(Failure) -> ChangePlace {
        let request = ProtoDeleteConversationRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(id)
            $0.mode = mode.rawValue
            $0.leave = leave
            if let upTo { $0.upTo = upTo.rawValue }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        return ChangePlace(
            try await conversations.call(
                ConversationsAPI.deleteConversation, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace,
                answers: call.answers))
    }

    func markAllRead(_ id: ConversationID, upTo: Position?, _ call: Call) async throws(Failure) -> ChangePlace {
        let request = ProtoMarkAllReadRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(id)
            if let upTo { $0.upTo = upTo.rawValue }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        return ChangePlace(
            try await conversations.call(
                ConversationsAPI.markAllRead, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace, answers: call.answers))
    }
}

// MARK: Messages

extension GatewayServices {
    func sendMessage(
        _ id: MessageID, to conversation: ConversationID, parts: [MessagePart], notification: String?, _ call: Call
    ) async throws(Failure) -> (message: StrataModel.Message, place: ChangePlace) {
        let request = ProtoSendMessageRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(conversation)
            $0.id = Data(id)
            $0.parts = parts.map { ProtoMessagePart($0) }
            if let notification { $0.notification = notification }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(
            ConversationsAPI.sendMessage, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace, answers: call.answers)
        return (try Self.converted { try StrataModel.Message(answer.message) }, ChangePlace(answer.place))
    }

    func message(_ id: MessageID, _ call: Call) async throws(Failure) -> StrataModel.Message {
        let request = ProtoGetMessageRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.messageID = Data(id)
        }
        let answer = try await conversations.call(
            ConversationsAPI.getMessage, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        return try Self.converted { try StrataModel.Message(answer) }
    }

    /// A page of a conversation's messages.
    func messages(
        in conversation: ConversationID, pageSize: Int, from: MessageID?, _ call: Call
    ) async throws(Failure) -> ListPage<CursorBatches<StrataModel.Message>> {
        try await CursorBatches.page(size: pageSize) { last, count throws(Failure) in
            try await someMessages(in: conversation, count: count, from: last?.id ?? from, call.renewed)
        }
    }

    private func someMessages(
        in conversation: ConversationID, count: Int, from: MessageID?, _ call: Call
    ) async throws(Failure) -> CursorBatches<StrataModel.Message>.Answer {
        let request = ProtoListMessagesRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.conversationID = Data(conversation)
            $0.pageSize = Int32(clamping: count)
            if let from { $0.fromID = Data(from) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(
            ConversationsAPI.listMessages, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        let messages = try Self.converted { try answer.messages.map { try StrataModel.Message($0) } }
        return CursorBatches.Answer(
            items: messages, isCut: answer.isCut, total: Int(answer.total),
            nextFrom: try Self.nextFrom(
                answer.hasEnd ? answer.end : nil, isFull: answer.isCut || messages.count >= count, last: messages.last?.id))
    }

    func deleteMessage(_ id: MessageID, mode: DeletionMode, _ call: Call) async throws(Failure) -> ChangePlace {
        let request = ProtoDeleteMessageRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.messageID = Data(id)
            $0.mode = mode.rawValue
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        return ChangePlace(
            try await conversations.call(
                ConversationsAPI.deleteMessage, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace, answers: call.answers))
    }

    func giveReceipt(_ id: MessageID, kind: ReceiptKind, _ call: Call) async throws(Failure) -> ChangePlace {
        let request = ProtoGiveReceiptRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.messageID = Data(id)
            $0.kind = kind.rawValue
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        return ChangePlace(
            try await conversations.call(
                ConversationsAPI.giveReceipt, with: request, as: call.mutation, deadline: call.deadline, trace: call.trace, answers: call.answers))
    }
}
