// SPDX-License-Identifier: Apache-2.0
public import RPC
public import SwiftProtobuf

/// One method of one service: its number on the wire and the messages that go each way.
///
/// Numbers are never reused.
public struct Endpoint<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>: Sendable {
    /// The number on the wire.
    public let method: RPCMethod
    /// Whether a call may be repeated.
    public let effect: Effect

    init(_ number: UInt16, effect: Effect = .repeatable) {
        method = RPCMethod(rawValue: number)
        self.effect = effect
    }
}

/// What happens if a call is carried out twice. All calls but ``once`` are repeated, once and on another instance, when they were lost in transit
/// (docs/architecture.md §10).
public enum Effect: Sendable {
    /// It changes nothing, or nothing that clients are told of.
    case read
    /// The second time changes nothing: a call that carries an id, or that sets a state which no other client sets.
    case repeatable
    /// The second time could undo what was done in between: a repeated `set` could overwrite a newer one.
    case once
}

/// What the `conversations` service answers.
public enum ConversationsAPI {
    /// Exchanges an identity token for a session; whatever is wrong with the token is `invalid_property` (docs/conformance.md §3.4).
    ///
    /// Not repeated: the attempt whose answer was lost may have used up the nonce.
    public static let signIn = Endpoint<ProtoSignInRequest, ProtoSignInResponse>(1, effect: .once)
    /// The session of a token's SHA-256, renewed if that is due; `authentication_required`, without a nonce, if there is no valid one; `user_suspended`.
    public static let findSession = Endpoint<ProtoFindSessionRequest, ProtoSession>(2, effect: .read)
    /// Ends a session and has its sockets closed on all gateways. It succeeds for a session that does not exist, too (docs/conformance.md §3.6).
    public static let endSession = Endpoint<ProtoEndSessionRequest, ProtoEmpty>(3)
    /// How many sessions ``checkSessions``, and users ``identities``, takes at once.
    public static let maximumAccounts = 10_000
    /// Which of up to ``maximumAccounts`` sessions have ended, in case a gateway missed the notice; the others are renewed if that is due.
    public static let checkSessions = Endpoint<ProtoCheckSessionsRequest, ProtoCheckSessionsResponse>(4, effect: .read)
    /// Full identities of up to 10,000 users in the order asked for, and a minimal one for each user that the server has never heard of
    /// (docs/conformance.md §4.3).
    public static let identities = Endpoint<ProtoIdentitiesRequest, ProtoIdentitiesResponse>(5, effect: .read)
    /// A page of the identities a user follows, at most 1000, newest first; `invalid_property` for a cursor that is not in the list
    /// (docs/conformance.md §4.3, §4.4).
    public static let listFollowed = Endpoint<ProtoListFollowedRequest, ProtoListFollowedResponse>(6, effect: .read)
    /// Follows up to 1000 users; those followed already are not announced again (docs/conformance.md §4.4).
    public static let follow = Endpoint<ProtoFollowRequest, ProtoChangePlace>(7)
    /// Has no effect on a user with whom the caller is in a conversation, or whom the caller does not follow (docs/conformance.md §4.4).
    public static let unfollow = Endpoint<ProtoUnfollowRequest, ProtoChangePlace>(8)
    /// Whether a user follows another one, by a conversation they had in common or because the user asked for it.
    public static let isFollowed = Endpoint<ProtoIsFollowedRequest, ProtoIsFollowedResponse>(9, effect: .read)

    /// Creates a conversation or finds the distinct match; `conflict` and `id_in_use` bring along the existing one (docs/conformance.md §1.9, §5.4).
    public static let createConversation = Endpoint<ProtoCreateConversationRequest, ProtoCreateConversationResponse>(10)
    /// A conversation as one user sees it, without its metadata; `not_found` for what the user does not see (docs/conformance.md §5.3).
    public static let getConversation = Endpoint<ProtoGetConversationRequest, ProtoConversationView>(11, effect: .read)
    /// Up to 1000 of them, as many as fit into a number of bytes; what the user does not see is left out.
    public static let getConversations = Endpoint<ProtoGetConversationsRequest, ProtoGetConversationsResponse>(240, effect: .read)
    /// A page of a user's list, at most 1000, newest first, without metadata; `invalid_property` for a cursor the user never had
    /// (docs/conformance.md §1.8). What does not fit into a number of bytes is named, and left to ``getConversations``.
    public static let listConversations = Endpoint<ProtoListConversationsRequest, ProtoListConversationsResponse>(12, effect: .read)
    /// A page of a user's list together with messages of each conversation, all from one snapshot: a client's first load.
    public static let loadConversations = Endpoint<ProtoLoadConversationsRequest, ProtoLoadConversationsResponse>(210, effect: .read)
    /// Participants, alone or with metadata, all or nothing (docs/conformance.md §5.5, §5.6); answers the changes it came to, none if nothing had an
    /// effect.
    ///
    /// Metadata alone goes to ``MetadataAPI/patch``.
    public static let patchConversation = Endpoint<ProtoPatchConversationRequest, ProtoPatchConversationResponse>(13, effect: .once)
    /// Deletes for all or from one user's devices, there also up to a position; the user may leave with the deletion
    /// (docs/conformance.md §5.7).
    ///
    /// Not repeated: the second time it would be `not_found`, or hide what has come in between.
    public static let deleteConversation = Endpoint<ProtoDeleteConversationRequest, ProtoChangePlace>(14, effect: .once)
    /// One user has read everything up to a change's position, or all there is (docs/conformance.md §5.8).
    public static let markAllRead = Endpoint<ProtoMarkAllReadRequest, ProtoChangePlace>(15)

    /// Sends to the present participants; `id_in_use` precedes other refusals, and holds the message if the caller may see it
    /// (docs/conformance.md §1.9).
    public static let sendMessage = Endpoint<ProtoSendMessageRequest, ProtoSendMessageResponse>(20)
    /// A message with the statuses of all its recipients; `not_found` also for one that the user hid, or that came after the user had left.
    public static let getMessage = Endpoint<ProtoGetMessageRequest, ProtoMessage>(21, effect: .read)
    /// Stores a message of the app's own server, to be sent after a delay; the refusals are those of ``sendMessage``, at the time of the call.
    public static let scheduleMessage = Endpoint<ProtoScheduleMessageRequest, ProtoEmpty>(260)
    /// A page of what a user sees of a conversation, at most 1000, newest first; one deleted meanwhile still serves as a cursor
    /// (docs/conformance.md §1.8). It ends earlier where a number of bytes is used up.
    public static let listMessages = Endpoint<ProtoListMessagesRequest, ProtoListMessagesResponse>(22, effect: .read)
    /// Deletes for all or from one user's devices (docs/conformance.md §6.6); not repeated, since the second time it would be `not_found`.
    public static let deleteMessage = Endpoint<ProtoDeleteMessageRequest, ProtoChangePlace>(23, effect: .once)
    /// Adds, replaces or removes parts of a message, which only its sender may do (docs/conformance.md §6.7). Not repeated: it could undo a newer
    /// edit.
    public static let editParts = Endpoint<ProtoEditPartsRequest, ProtoEditPartsResponse>(25, effect: .once)
    /// A recipient's receipt; one that has no effect succeeds, and is not announced (docs/conformance.md §7).
    public static let giveReceipt = Endpoint<ProtoGiveReceiptRequest, ProtoChangePlace>(24)
    /// How many messages ``giveReceipts`` takes at once.
    public static let maximumReceipts = 1000
    /// A recipient's receipts of up to ``maximumReceipts`` messages of one conversation, as one change; answers which of them the recipient does not see there.
    public static let giveReceipts = Endpoint<ProtoGiveReceiptsRequest, ProtoGiveReceiptsResponse>(220)

    /// Where one user's logs stand, and stood a margin before a given time: how a socket's catch-up begins.
    public static let baseline = Endpoint<ProtoBaselineRequest, ProtoBaselineResponse>(30, effect: .read)
    /// What one user is owed after given positions, merged by time, at most 1000 entries, with the user's counts as they are now.
    public static let readLogs = Endpoint<ProtoReadLogsRequest, ProtoReadLogsResponse>(31, effect: .read)
    /// The log of one conversation after a position, at most 1000 changes, as it was published: how a gateway fills a gap.
    ///
    /// No user's right is checked, and an unknown conversation has an empty log.
    public static let readChanges = Endpoint<ProtoReadChangesRequest, ProtoReadChangesResponse>(32, effect: .read)
    /// Which logs have moved lately, and who was added where: how a gateway finds what pub/sub has lost.
    ///
    /// Reaches back two minutes and a margin at most; the answer may be half a second old.
    public static let heads = Endpoint<ProtoHeadsRequest, ProtoHeadsResponse>(33, effect: .read)
    /// The other participants of all conversations a user is in now: the users whose presence the user may hear of.
    public static let followed = Endpoint<ProtoFollowedRequest, ProtoFollowedResponse>(34, effect: .read)
}

/// What the `conversations` service answers about announcements, rich content and devices.
public enum AccountAPI {
    /// An announcement as one recipient sees it; `not_found` for all other users, and once the recipient has removed it (docs/conformance.md §9).
    public static let getAnnouncement = Endpoint<ProtoGetAnnouncementRequest, ProtoAnnouncement>(61, effect: .read)
    /// A page of what was announced to a user, at most 1000, newest first; one removed meanwhile still serves as a cursor.
    public static let listAnnouncements = Endpoint<ProtoListAnnouncementsRequest, ProtoListAnnouncementsResponse>(62, effect: .read)
    /// A receipt that has no effect succeeds, and is not announced.
    public static let giveAnnouncementReceipt = Endpoint<ProtoGiveAnnouncementReceiptRequest, ProtoChangePlace>(63)
    /// Removes it for one user.
    public static let deleteAnnouncement = Endpoint<ProtoDeleteAnnouncementRequest, ProtoChangePlace>(64, effect: .once)

    /// Notes that a user is about to upload content (docs/conformance.md §8).
    public static let createContent = Endpoint<ProtoCreateContentRequest, ProtoEmpty>(70)
    /// Notes that the bytes are there; `not_found` if no upload is expected any more.
    public static let finishContent = Endpoint<ProtoFinishContentRequest, ProtoEmpty>(71)
    /// Of the uploader, and of those who may see a message that refers to it; `not_found` for all others.
    public static let getContent = Endpoint<ProtoGetContentRequest, ProtoContent>(72, effect: .read)
    /// Takes content that is in no message out of reach, and names what was taken out of reach and not forgotten yet.
    public static let sweepContents = Endpoint<ProtoSweepContentsRequest, ProtoSweepContentsResponse>(73)
    /// The bytes of these are gone.
    public static let forgetContents = Endpoint<ProtoForgetContentsRequest, ProtoEmpty>(74)

    /// Keeps a device's push token, the newest one for a device (docs/conformance.md §3.7).
    public static let setPushToken = Endpoint<ProtoSetPushTokenRequest, ProtoChangePlace>(80)
    /// Forgets it; an unknown device is forgotten already.
    public static let deletePushToken = Endpoint<ProtoDeletePushTokenRequest, ProtoChangePlace>(81)
}

/// What the `conversations` service answers about the apps' own servers, and for them.
public enum ServerAPI {
    /// Whether the token of a SHA-256 is one of this app's: `invalid_app_id`, `app_suspended`, `authentication_required` for a token that is unknown or
    /// revoked, `access_denied` for one of another app.
    public static let findToken = Endpoint<ProtoFindServerTokenRequest, ProtoFindServerTokenResponse>(250, effect: .read)
    /// A user that the app has heard of: one who has signed in, or takes part in something; `not_found` for all others.
    public static let findUser = Endpoint<ProtoFindUserRequest, ProtoFindUserResponse>(251, effect: .read)
}

/// What the `conversations` service answers about indexes of metadata, and by them.
public enum IndexAPI {
    /// The ids of a page of conversations that match a condition on their metadata: of one user's list, or of all that an app has. At most 1000, as
    /// the database's `metadata.find_conversations` orders them; `invalid_property` names a path that is not indexed or not yet; a cursor
    /// that is not in the list is `invalid_property` to a user, and `not_found` to the app's own server.
    public static let findConversations = Endpoint<ProtoFindConversationsRequest, ProtoFindConversationsResponse>(330, effect: .read)
    /// All key paths that an app has named.
    public static let list = Endpoint<ProtoListIndexesRequest, ProtoListIndexesResponse>(331, effect: .read)
    /// Names a key path; one that is named already stays as it is. `invalid_property` beyond ``MetadataIndex/most``.
    public static let add = Endpoint<ProtoAddIndexRequest, ProtoAddIndexResponse>(332)
    /// Takes a key path back; `not_found` if it is not named. Not repeated: the second time it would be that.
    public static let remove = Endpoint<ProtoRemoveIndexRequest, ProtoEmpty>(333, effect: .once)
}

/// What the `conversations` service answers about users, as an app's own server manages them.
public enum UsersAPI {
    /// Creates, replaces, patches or deletes what is known of a user but the id; `id_in_use` for the creation of what exists, `not_found` for a patch or the
    /// deletion of what does not. Not repeated: it could undo a newer change.
    public static let writeIdentity = Endpoint<ProtoWriteIdentityRequest, ProtoEmpty>(280, effect: .once)
    /// Suspends a user, whose sockets are closed, or lifts the suspension.
    public static let suspend = Endpoint<ProtoSuspendUserRequest, ProtoEmpty>(281)
    /// A page of a user's sessions that have not ended, at most 100, newest first; `invalid_property` for a cursor that is not in the list.
    public static let listSessions = Endpoint<ProtoListSessionsRequest, ProtoListSessionsResponse>(282, effect: .read)
    /// Ends one session of a user, or all, and has their sockets closed on all gateways; answers how many there were.
    public static let endSessions = Endpoint<ProtoEndSessionsRequest, ProtoEndSessionsResponse>(283)
    /// Settings of an app. A shorter life of sessions shortens those that there are.
    public static let patchApp = Endpoint<ProtoPatchAppRequest, ProtoEmpty>(284)
    /// Sends an announcement to up to 100,000 users, each once. The same request with the same id is answered as the first time; `id_in_use` for another
    /// request.
    public static let announce = Endpoint<ProtoAnnounceRequest, ProtoAnnounceResponse>(285)
    /// Hands a push to the webhooks that take pushes, for each of up to 1000 users; `invalid_operation` if there is no such webhook. Not repeated: devices
    /// would be told twice.
    public static let notify = Endpoint<ProtoNotifyRequest, ProtoEmpty>(286, effect: .once)
    /// What a user has not read, after the number that the app's own server counts was set, if one is given.
    public static let badge = Endpoint<ProtoBadgeRequest, ProtoBadgeResponse>(287)
    /// Erases a user: the account at once, messages and contents soon afterwards.
    public static let erase = Endpoint<ProtoEraseUserRequest, ProtoEmpty>(288)
}

/// What the `conversations` service answers about blocks.
public enum BlocksAPI {
    /// Changes whom a user has blocked; `invalid_property` for `blocks` beyond the number that one user may block. Users who are blocked have an identity from
    /// then on.
    public static let change = Endpoint<ProtoChangeBlocksRequest, ProtoChangePlace>(300)
    /// A page of the users whom a user has blocked, at most 1000, in the order of their ids.
    public static let list = Endpoint<ProtoListBlocksRequest, ProtoListBlocksResponse>(301, effect: .read)
    /// Users that ``pairs`` answers at once.
    public static let pairsPageSize = 10_000
    /// A page of the users whom a user has blocked or by whom they are blocked, at most ``pairsPageSize``, in the order of their ids, for the gateways that have
    /// sockets of the user.
    public static let pairs = Endpoint<ProtoListBlocksRequest, ProtoBlockPairsResponse>(302, effect: .read)
}

/// What the `metadata` service answers.
public enum MetadataAPI {
    /// Up to 1000 trees of one app in the order asked for, each with the position it was read at; 0 and no leaves where there is none. As many of the first of
    /// them as fit into a number of bytes.
    ///
    /// Who may see them is not asked: the gateway has that from the `conversations` service.
    public static let trees = Endpoint<ProtoTreesRequest, ProtoTreesResponse>(40, effect: .read)
    /// Patches the tree of one conversation, all or nothing (docs/conformance.md §5.6); answers the change, or none if nothing had an effect.
    public static let patch = Endpoint<ProtoPatchMetadataRequest, ProtoPatchMetadataResponse>(41, effect: .once)
}

/// What the `presence` service answers. Everything here is ephemeral, and repeating it does no harm.
public enum PresenceAPI {
    /// One event of a typist, whom the gateway knows to be a participant; a repeated state re-arms its deadline (docs/conformance.md §12.6).
    public static let typing = Endpoint<ProtoTypingRequest, ProtoEmpty>(50)
    /// How many leases or users one call may name; a caller that has more makes several calls.
    public static let maximumItems = 5000
    /// Sets the status of one connection, which then has a lease; `auto` is what the user chose last (docs/conformance.md §12.8).
    public static let setPresence = Endpoint<ProtoSetPresenceRequest, ProtoSetPresenceResponse>(51)
    /// Prolongs up to ``maximumItems`` leases, and answers those that Redis has forgotten: their status must be set again.
    public static let renewPresence = Endpoint<ProtoRenewPresenceRequest, ProtoRenewPresenceResponse>(52)
    /// Lets up to ``maximumItems`` leases end after a grace, so that a short disconnect is not announced.
    public static let releasePresence = Endpoint<ProtoReleasePresenceRequest, ProtoEmpty>(53)
    /// The real statuses of up to ``maximumItems`` users, in the order asked for; with `since`, only of those whose status has changed after it.
    public static let getPresence = Endpoint<ProtoGetPresenceRequest, ProtoGetPresenceResponse>(54, effect: .read)
}

/// What the `webhooks` service answers.
public enum WebhooksAPI {
    /// Registers a webhook, which is then verified; a repetition with the same id finds it. `invalid_operation` if the app has too many.
    public static let create = Endpoint<ProtoCreateWebhookRequest, ProtoWebhook>(310)
    /// All of an app, the oldest first.
    public static let list = Endpoint<ProtoListWebhooksRequest, ProtoListWebhooksResponse>(311, effect: .read)
    /// One; `not_found` if the app has no such webhook.
    public static let get = Endpoint<ProtoWebhookRequest, ProtoWebhook>(312, effect: .read)
    /// Verifies one, and answers what came of it: it is active at once, or within seconds, or inactive.
    public static let activate = Endpoint<ProtoWebhookRequest, ProtoWebhook>(313)
    /// Nothing is recorded for it from then on.
    public static let deactivate = Endpoint<ProtoWebhookRequest, ProtoWebhook>(314)
    /// Removes one, with what it has not been told.
    public static let delete = Endpoint<ProtoWebhookRequest, ProtoEmpty>(315, effect: .once)
    /// The latest attempts of one, at most 100.
    public static let deliveries = Endpoint<ProtoWebhookRequest, ProtoListWebhookDeliveriesResponse>(316, effect: .read)
    /// Sends an event of ``deliveries`` once more; `not_found` for any other, `invalid_operation` if the webhook is not active.
    public static let redeliver = Endpoint<ProtoWebhookRequest, ProtoEmpty>(317)
}
