// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

extension GatewayServices {
    struct Creation: Sendable {
        let view: ConversationView
        /// False if an existing distinct conversation was found.
        let isNew: Bool
        let place: LogPosition
    }

    func createConversation(
        id: ConversationID, participants: [UserID], isDistinct: Bool, metadata leaves: [MetadataLeaf]?,
        receiptPolicy: ReceiptPolicy = [],
        for call: Call
    ) async throws(Failure) -> Creation {
        let request = ProtoCreateConversationRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.id = Data(id)
            $0.participants = participants.map(\.rawValue)
            $0.distinct = isDistinct
            if let leaves { $0.metadata = ProtoTree(leaves) }
            $0.receiptPolicy = receiptPolicy.rawValue
            $0.byServer = call.isByServer
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        do throws(Failure) {
            let answer = try await conversations.call(ConversationsAPI.createConversation, with: request, for: call)
            // An existing conversation may be large, and the client can request it again.
            if !answer.created { call.mayBeRefused() }
            let view = try Self.converted { try ConversationView(answer.view) }
            return Creation(
                view: try await withMetadata(view, for: call), isNew: answer.created, place: LogPosition(answer.place))
        } catch {
            call.mayBeRefused()
            guard case .conversation(let view) = error.detail else { throw error }
            var failure = error
            failure.detail = .conversation(try await withMetadata(view, for: call))
            throw failure
        }
    }

    /// Returns the conversation again, with its metadata, if an answer had no room for that.
    private func withMetadata(
        _ view: ConversationView, for call: Call
    ) async throws(Failure) -> ConversationView {
        if view.conversation.metadata != nil { return view }
        return try await conversation(view.conversation.id, for: call)
    }

    func conversation(_ id: ConversationID, for call: Call) async throws(Failure) -> ConversationView {
        let proto = try await find(id, withMetadata: true, for: call)
        let view = try Self.converted { try ConversationView(proto) }
        guard view.conversation.metadata != nil else { throw .answerTooLarge }
        return view
    }

    /// Throws the failure if the user does not see this conversation.
    func checkConversation(_ id: ConversationID, for call: Call) async throws(Failure) {
        _ = try await find(id, withMetadata: false, for: call)
    }

    private func find(
        _ id: ConversationID, withMetadata: Bool, for call: Call
    ) async throws(Failure) -> ProtoConversationView {
        let request = ProtoGetConversationRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.conversationID = Data(id)
            $0.withMetadata = withMetadata
        }
        return try await conversations.call(ConversationsAPI.getConversation, with: request, for: call)
    }

    /// Returns as many of these conversations as fit into one answer, from the first on. Conversations that are not
    /// visible to the user are left out. A conversation that does not fit into any answer has no metadata.
    /// - Returns: the conversations, and the number of ids that the answer covers, at least one.
    func conversations(
        _ ids: [ConversationID], for call: Call
    ) async throws(Failure) -> (views: [ConversationView], covered: Int) {
        let request = ProtoGetConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.conversationIds = ids.map { Data($0) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(ConversationsAPI.getConversations, with: request, for: call)
        let covered = Int(answer.covered)
        return try Self.converted {
            guard (1...max(1, ids.count)).contains(covered), answer.views.count <= covered else {
                throw ContractViolation("covered")
            }
            return (try answer.views.map { try ConversationView($0) }, covered)
        }
    }

    func conversations(
        orderedBy order: ConversationOrder, pageSize: Int, from: ConversationID?, for call: Call
    ) async throws(Failure) -> ListPage<ConversationBatches> {
        let request = ProtoListConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.byLastMessage = order == .lastMessage
            $0.pageSize = Int32(clamping: pageSize)
            if let from { $0.fromID = Data(from) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(ConversationsAPI.listConversations, with: request, for: call)
        let (views, later) = try Self.converted {
            (
                try answer.views.map { try ConversationView($0) },
                try answer.later.map { try ConversationID(contract: $0) }
            )
        }
        return ListPage(
            objects: ConversationBatches(views, later: later, from: self, for: call), total: Int(answer.total),
            nextFrom: try Self.nextFrom(answer.end, ConversationID.self))
    }

    /// Patches a conversation. A patch of metadata only is sent to the metadata service, any other to the conversations
    /// service.
    func patchConversation(
        _ id: ConversationID, participants: [ProtoParticipantOperation], metadata operations: [MetadataOperation],
        for call: Call
    ) async throws(Failure) -> LogPosition {
        if participants.isEmpty {
            let request = ProtoPatchMetadataRequest.with {
                $0.appID = call.appData
                $0.actor = call.user
                $0.conversationID = Data(id)
                $0.operations = operations.map { ProtoMetadataOperation($0) }
                if let origin = call.protoOrigin { $0.origin = origin }
            }
            let answer = try await metadata.call(MetadataAPI.patchMetadata, with: request, for: call)
            return LogPosition(answer.place)
        }
        let request = ProtoPatchConversationRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(id)
            $0.participants = participants
            $0.metadata = operations.map { ProtoMetadataOperation($0) }
            $0.byServer = call.isByServer
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(ConversationsAPI.patchConversation, with: request, for: call)
        return LogPosition(answer.place)
    }

    /// - Parameter upTo: with ``DeletionMode/myDevices``, the last change whose message is deleted; nil deletes
    ///   everything.
    func deleteConversation(
        _ id: ConversationID, mode: DeletionMode, leave: Bool, upTo: Position? = nil, for call: Call
    ) async throws(Failure) -> LogPosition {
        let request = ProtoDeleteConversationRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(id)
            $0.mode = mode.rawValue
            $0.leave = leave
            if let upTo { $0.upTo = upTo.rawValue }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        return LogPosition(try await conversations.call(ConversationsAPI.deleteConversation, with: request, for: call))
    }

    /// - Returns: the log position, and the position up to which all is read; nil if the service does not name it.
    func markAllRead(
        _ id: ConversationID, upTo: Position?, for call: Call
    ) async throws(Failure) -> (place: LogPosition, readUpTo: Position?) {
        let request = ProtoMarkAllReadRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(id)
            if let upTo { $0.upTo = upTo.rawValue }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(ConversationsAPI.markAllRead, with: request, for: call)
        return (LogPosition(answer), answer.hasReadUpTo ? Position(answer.readUpTo) : nil)
    }
}

extension GatewayServices {
    /// Returns a page of the user's list with messages of each conversation. The page holds at most as many as fit into
    /// one answer.
    func loadConversations(
        orderedBy order: ConversationOrder, pageSize: Int, from: ConversationID?, messages: LoadedMessages,
        for call: Call
    ) async throws(Failure) -> ListPage<CursorBatches<LoadedConversation>> {
        let request = ProtoLoadConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.byLastMessage = order == .lastMessage
            $0.pageSize = Int32(clamping: pageSize)
            if let from { $0.fromID = Data(from) }
            if case .newest(let count) = messages { $0.messages = Int32(clamping: count) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        return try await CursorBatches.page(size: pageSize) { _, _ throws(Failure) in
            let answer = try await conversations.call(ConversationsAPI.loadConversations, with: request, for: call)
            let loaded = try Self.converted { try answer.items.map { try LoadedConversation($0) } }
            return CursorBatches.Answer(
                items: shown(loaded, view: \.view), isCut: false, total: Int(answer.total),
                nextFrom: try Self.nextFrom(answer.end, ConversationID.self))
        }
    }
}
