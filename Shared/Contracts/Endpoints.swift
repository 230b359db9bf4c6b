// SPDX-License-Identifier: Apache-2.0
public import RPC
public import SwiftProtobuf

/// One method of one service: its number on the wire and the messages that go each way.
///
/// Numbers are never reused. `isIdempotent` calls are retried once on another instance when they fail in transit (ARCHITECTURE §10):
/// reads, and creates, which carry an id. A patch is not, since the repeated `set` could overwrite a newer one.
public struct Endpoint<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>: Sendable {
    /// The number on the wire.
    public let method: RPCMethod
    /// Whether a call may be repeated after it was lost in transit.
    public let isIdempotent: Bool

    init(_ number: UInt16, idempotent: Bool = true) {
        method = RPCMethod(rawValue: number)
        isIdempotent = idempotent
    }
}

/// What the `conversations` service answers.
public enum ConversationsAPI {
    public static let signIn = Endpoint<ProtoSignInRequest, ProtoSignInResponse>(1, idempotent: false)
    public static let findSession = Endpoint<ProtoFindSessionRequest, ProtoSession>(2)
    public static let endSession = Endpoint<ProtoEndSessionRequest, ProtoEmpty>(3)
    public static let checkSessions = Endpoint<ProtoCheckSessionsRequest, ProtoCheckSessionsResponse>(4)
    public static let identities = Endpoint<ProtoIdentitiesRequest, ProtoIdentitiesResponse>(5)

    public static let createConversation = Endpoint<ProtoCreateConversationRequest, ProtoCreateConversationResponse>(10)
    public static let getConversation = Endpoint<ProtoGetConversationRequest, ProtoConversationView>(11)
    public static let listConversations = Endpoint<ProtoListConversationsRequest, ProtoListConversationsResponse>(12)
    public static let patchConversation = Endpoint<ProtoPatchConversationRequest, ProtoPatchConversationResponse>(13, idempotent: false)
    public static let deleteConversation = Endpoint<ProtoDeleteConversationRequest, ProtoEmpty>(14, idempotent: false)
    public static let markAllRead = Endpoint<ProtoMarkAllReadRequest, ProtoEmpty>(15)

    public static let sendMessage = Endpoint<ProtoSendMessageRequest, ProtoSendMessageResponse>(20)
    public static let getMessage = Endpoint<ProtoGetMessageRequest, ProtoMessage>(21)
    public static let listMessages = Endpoint<ProtoListMessagesRequest, ProtoListMessagesResponse>(22)
    public static let deleteMessage = Endpoint<ProtoDeleteMessageRequest, ProtoEmpty>(23, idempotent: false)
    public static let giveReceipt = Endpoint<ProtoGiveReceiptRequest, ProtoEmpty>(24)

    public static let baseline = Endpoint<ProtoBaselineRequest, ProtoBaselineResponse>(30)
    public static let readLogs = Endpoint<ProtoReadLogsRequest, ProtoReadLogsResponse>(31)
    public static let readChanges = Endpoint<ProtoReadChangesRequest, ProtoReadChangesResponse>(32)
    public static let heads = Endpoint<ProtoHeadsRequest, ProtoHeadsResponse>(33)
    public static let followed = Endpoint<ProtoFollowedRequest, ProtoFollowedResponse>(34)
}

/// What the `metadata` service answers.
public enum MetadataAPI {
    public static let trees = Endpoint<ProtoTreesRequest, ProtoTreesResponse>(40)
    public static let patch = Endpoint<ProtoPatchMetadataRequest, ProtoPatchMetadataResponse>(41, idempotent: false)
}

/// What the `presence` service answers. Everything here is ephemeral, and repeating it does no harm.
public enum PresenceAPI {
    public static let typing = Endpoint<ProtoTypingRequest, ProtoEmpty>(50)
    public static let setPresence = Endpoint<ProtoSetPresenceRequest, ProtoEmpty>(51)
    public static let renewPresence = Endpoint<ProtoRenewPresenceRequest, ProtoRenewPresenceResponse>(52)
    public static let releasePresence = Endpoint<ProtoReleasePresenceRequest, ProtoEmpty>(53)
    public static let getPresence = Endpoint<ProtoGetPresenceRequest, ProtoGetPresenceResponse>(54)
}
