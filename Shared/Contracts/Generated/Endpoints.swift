// SPDX-License-Identifier: Apache-2.0
// Written by scripts/stubs.py from Protos/services.proto and Protos/admin.proto. Do not edit.
import RPC

/// The methods of the `conversations` service.
public enum ConversationsAPI {
    /// Exchanges an identity token for a session. Any error in the token is `invalid_property` (docs/conformance.md
    /// §3.4).
    ///
    /// Not repeated, because an attempt with a lost response may have consumed the nonce.
    public static let signIn = Endpoint<ProtoSignInRequest, ProtoSignInResponse>(1, effect: .notRepeatable)
    /// Returns the session of a token's SHA-256, and renews it when due. Errors: `authentication_required`, without a
    /// nonce, if there is no valid session; `user_suspended`; `service_unavailable`, if the token names no app and a
    /// database that may have the session does not answer.
    public static let findSession = Endpoint<ProtoFindSessionRequest, ProtoSession>(2, effect: .read)
    /// Ends a session and closes its sockets on all gateways. Also succeeds for an unknown session (docs/conformance.md
    /// §3.6).
    public static let endSession = Endpoint<ProtoEndSessionRequest, ProtoEmpty>(3, effect: .repeatable)
    /// Returns which of up to ``maximumAccounts`` sessions have ended, in case a gateway missed the notice. The others
    /// are renewed when due.
    public static let checkSessions = Endpoint<ProtoCheckSessionsRequest, ProtoCheckSessionsResponse>(4, effect: .read)
    /// Returns full identities of up to 10,000 users in the order of the request. For a user unknown to the server, the
    /// identity is minimal (docs/conformance.md §4.3).
    public static let identities = Endpoint<ProtoIdentitiesRequest, ProtoIdentitiesResponse>(5, effect: .read)
    /// Returns a page of the identities that a user follows: at most 1000, newest first. Error: `invalid_property` for
    /// a cursor that is not in the list (docs/conformance.md §4.3, §4.4).
    public static let listFollowed = Endpoint<ProtoListFollowedRequest, ProtoListFollowedResponse>(6, effect: .read)
    /// Follows up to 1000 users. Users already followed are not announced again (docs/conformance.md §4.4).
    public static let follow = Endpoint<ProtoFollowRequest, ProtoChangePlace>(7, effect: .repeatable)
    /// Unfollows users. No effect on users in a common conversation with the caller, or not followed by the caller
    /// (docs/conformance.md §4.4).
    public static let unfollow = Endpoint<ProtoUnfollowRequest, ProtoChangePlace>(8, effect: .repeatable)
    /// Returns whether a user follows another one: because they have had a common conversation, or at the user's
    /// request.
    public static let isFollowed = Endpoint<ProtoIsFollowedRequest, ProtoIsFollowedResponse>(9, effect: .read)

    /// Creates a conversation or finds the distinct match. The errors `conflict` and `id_in_use` contain the existing
    /// conversation (docs/conformance.md §1.9, §5.4).
    public static let createConversation = Endpoint<ProtoCreateConversationRequest, ProtoCreateConversationResponse>(
        10, effect: .repeatable)
    /// Returns a conversation for one user, with its metadata if requested. Error: `not_found` for a conversation that
    /// the user does not see (docs/conformance.md §5.3).
    public static let getConversation = Endpoint<ProtoGetConversationRequest, ProtoConversationView>(11, effect: .read)
    /// Returns up to 1000 conversations, as many as fit into a number of bytes. Conversations that the user does not
    /// see are omitted.
    public static let getConversations = Endpoint<ProtoGetConversationsRequest, ProtoGetConversationsResponse>(
        240, effect: .read)
    /// Returns a page of a user's list: at most 1000 conversations, newest first. Conversations that do not fit into a
    /// number of bytes are only named, and must be requested with ``getConversations``. Error: `invalid_property` for a
    /// cursor the user never had (docs/conformance.md §1.8).
    public static let listConversations = Endpoint<ProtoListConversationsRequest, ProtoListConversationsResponse>(
        12, effect: .read)
    /// Returns a page of a user's list with messages of each conversation, from one snapshot: a client's first load.
    public static let loadConversations = Endpoint<ProtoLoadConversationsRequest, ProtoLoadConversationsResponse>(
        210, effect: .read)
    /// Patches participants, alone or together with metadata, atomically (docs/conformance.md §5.5, §5.6). Returns the
    /// resulting changes, none if the patch had no effect.
    ///
    /// Use ``MetadataAPI/patchMetadata`` for metadata alone.
    public static let patchConversation = Endpoint<ProtoPatchConversationRequest, ProtoPatchConversationResponse>(
        13, effect: .notRepeatable)
    /// Deletes a conversation for all, or from one user's devices, optionally up to a position. The user may leave with
    /// the deletion (docs/conformance.md §5.7).
    ///
    /// Not repeated, because a repetition would fail with `not_found` or hide newer messages.
    public static let deleteConversation = Endpoint<ProtoDeleteConversationRequest, ProtoChangePlace>(
        14, effect: .notRepeatable)
    /// Marks all messages as read for one user, optionally up to a change's position (docs/conformance.md §5.8).
    public static let markAllRead = Endpoint<ProtoMarkAllReadRequest, ProtoChangePlace>(15, effect: .repeatable)

    /// Sends a message to the current participants. The error `id_in_use` precedes other errors, and contains the
    /// existing message if the caller may see it (docs/conformance.md §1.9).
    public static let sendMessage = Endpoint<ProtoSendMessageRequest, ProtoSendMessageResponse>(20, effect: .repeatable)
    /// Returns a message with the statuses of all its recipients. Error: `not_found`, also for a message that the user
    /// hid, or that was sent after the user had left.
    public static let getMessage = Endpoint<ProtoGetMessageRequest, ProtoMessage>(21, effect: .read)
    /// Stores a message of the app's own server for delayed sending. The errors are those of ``sendMessage`` at the
    /// time of the call.
    public static let scheduleMessage = Endpoint<ProtoScheduleMessageRequest, ProtoEmpty>(260, effect: .repeatable)
    /// Returns a page of the messages that a user sees in a conversation: at most 1000, newest first, limited by a
    /// number of bytes. A message deleted meanwhile is a valid cursor (docs/conformance.md §1.8).
    public static let listMessages = Endpoint<ProtoListMessagesRequest, ProtoListMessagesResponse>(22, effect: .read)
    /// Deletes a message for all, or from one user's devices (docs/conformance.md §6.6). Not repeated, because a
    /// repetition would fail with `not_found`.
    public static let deleteMessage = Endpoint<ProtoDeleteMessageRequest, ProtoChangePlace>(23, effect: .notRepeatable)
    /// Adds, replaces or removes parts of a message. Only the sender may do this (docs/conformance.md §6.7). Not
    /// repeated, because a repetition could undo a newer edit.
    public static let editParts = Endpoint<ProtoEditPartsRequest, ProtoEditPartsResponse>(25, effect: .notRepeatable)
    /// Records a recipient's receipt. A receipt without effect succeeds and is not announced (docs/conformance.md §7).
    public static let giveReceipt = Endpoint<ProtoGiveReceiptRequest, ProtoChangePlace>(24, effect: .repeatable)
    /// Records a recipient's receipts of up to ``maximumReceipts`` messages of one conversation as one change. Returns
    /// the messages that the recipient does not see there.
    public static let giveReceipts = Endpoint<ProtoGiveReceiptsRequest, ProtoGiveReceiptsResponse>(
        220, effect: .repeatable)

    /// Returns the current heads of one user's logs, and those a margin before a given time: the beginning of a
    /// socket's catch-up. Or only the ids of the conversations on the user's list.
    public static let baseline = Endpoint<ProtoBaselineRequest, ProtoBaselineResponse>(30, effect: .read)
    /// Returns the log entries after given positions that one user must receive, merged by time: at most 1000, with the
    /// user's current counts.
    public static let readLogs = Endpoint<ProtoReadLogsRequest, ProtoReadLogsResponse>(31, effect: .read)
    /// Returns the log of one conversation after a position, as published: at most 1000 changes. Gateways fill gaps
    /// with it.
    ///
    /// No user's rights are checked. The log of an unknown conversation is empty.
    public static let readChanges = Endpoint<ProtoReadChangesRequest, ProtoReadChangesResponse>(32, effect: .read)
    /// Returns the logs with recent changes, and recently added participants. Gateways detect lost publications with
    /// it.
    ///
    /// It covers one database, and at most the last two minutes and a margin. The response can be half a second old.
    public static let heads = Endpoint<ProtoHeadsRequest, ProtoHeadsResponse>(33, effect: .read)
    /// Returns the other participants of all current conversations of a user, whose presence the user may see.
    public static let followed = Endpoint<ProtoFollowedRequest, ProtoFollowedResponse>(34, effect: .read)
}

/// The methods of the `conversations` service for announcements, rich content and devices.
public enum AccountAPI {
    /// Returns an announcement for one recipient. Error: `not_found` for all other users, and after the recipient has
    /// removed it (docs/conformance.md §9).
    public static let getAnnouncement = Endpoint<ProtoGetAnnouncementRequest, ProtoAnnouncement>(61, effect: .read)
    /// Returns a page of a user's announcements: at most 1000, newest first. An announcement removed meanwhile is a
    /// valid cursor.
    public static let listAnnouncements = Endpoint<ProtoListAnnouncementsRequest, ProtoListAnnouncementsResponse>(
        62, effect: .read)
    /// Records a receipt. A receipt without effect succeeds and is not announced.
    public static let giveAnnouncementReceipt = Endpoint<ProtoGiveAnnouncementReceiptRequest, ProtoChangePlace>(
        63, effect: .repeatable)
    /// Removes an announcement for one user.
    public static let deleteAnnouncement = Endpoint<ProtoDeleteAnnouncementRequest, ProtoChangePlace>(
        64, effect: .notRepeatable)

    /// Records that a user is about to upload content (docs/conformance.md §8).
    public static let createContent = Endpoint<ProtoCreateContentRequest, ProtoEmpty>(70, effect: .repeatable)
    /// Records the completion of an upload. Error: `not_found` if the upload is no longer expected.
    public static let finishContent = Endpoint<ProtoFinishContentRequest, ProtoEmpty>(71, effect: .repeatable)
    /// Returns content for its uploader, or for a user who may see a message that refers to it. Error: `not_found` for
    /// others.
    public static let getContent = Endpoint<ProtoGetContentRequest, ProtoContent>(72, effect: .read)
    /// Makes content without a message inaccessible. Returns all inaccessible content whose bytes have not been deleted
    /// yet.
    public static let sweepContents = Endpoint<ProtoSweepContentsRequest, ProtoSweepContentsResponse>(
        73, effect: .repeatable)
    /// Records that the bytes of contents are deleted.
    public static let forgetContents = Endpoint<ProtoForgetContentsRequest, ProtoEmpty>(74, effect: .repeatable)

    /// Stores the push token of a device and replaces an older one (docs/conformance.md §3.7).
    public static let setPushToken = Endpoint<ProtoSetPushTokenRequest, ProtoChangePlace>(80, effect: .repeatable)
    /// Deletes the push token of a device. Succeeds for an unknown device.
    public static let deletePushToken = Endpoint<ProtoDeletePushTokenRequest, ProtoChangePlace>(81, effect: .repeatable)
}

/// The methods of the `conversations` service about and for the apps' own servers.
public enum ServerAPI {
    /// Checks that the token of a SHA-256 belongs to the app.
    ///
    /// Errors:
    /// - `invalid_app_id`, `app_suspended`
    /// - `authentication_required`: the token is unknown or revoked.
    /// - `access_denied`: the token belongs to another app.
    public static let findServerToken = Endpoint<ProtoFindServerTokenRequest, ProtoFindServerTokenResponse>(
        250, effect: .read)
    /// Returns a user known to the app: one who has signed in or participates in a conversation. Error: `not_found` for
    /// others.
    public static let findUser = Endpoint<ProtoFindUserRequest, ProtoFindUserResponse>(251, effect: .read)
}

/// The methods of the `conversations` service for metadata indexes and queries with them.
public enum IndexAPI {
    /// Returns the ids of a page of conversations that match a metadata condition, from one user's list or from all of
    /// an app. The page has at most 1000 ids, in the order of the database's `metadata.find_conversations`.
    ///
    /// Errors:
    /// - `invalid_property`: the path is not indexed, or its index is not ready. For a user, also a cursor that is not
    ///   in the list.
    /// - `not_found`: for the app's own server, a cursor that is not in the list.
    public static let findConversations = Endpoint<ProtoFindConversationsRequest, ProtoFindConversationsResponse>(
        330, effect: .read)
    /// Returns all indexed key paths of an app.
    public static let listIndexes = Endpoint<ProtoListIndexesRequest, ProtoListIndexesResponse>(331, effect: .read)
    /// Adds an index. An existing one is unchanged. Error: `invalid_property` beyond ``MetadataIndex/most``.
    public static let addIndex = Endpoint<ProtoAddIndexRequest, ProtoAddIndexResponse>(332, effect: .repeatable)
    /// Removes an index. Error: `not_found` if it does not exist. Not repeated, because a repetition would fail with
    /// `not_found`.
    public static let removeIndex = Endpoint<ProtoRemoveIndexRequest, ProtoEmpty>(333, effect: .notRepeatable)
}

/// The methods of the `conversations` service for the management of users by an app's own server.
public enum UsersAPI {
    /// Creates, replaces, patches or deletes a user's identity, except for the id. Errors: `id_in_use` when creating an
    /// existing identity; `not_found` when patching or deleting a missing one. Not repeated, because a repetition could
    /// undo a newer change.
    public static let writeIdentity = Endpoint<ProtoWriteIdentityRequest, ProtoEmpty>(280, effect: .notRepeatable)
    /// Suspends a user and closes their sockets, or lifts the suspension.
    public static let suspendUser = Endpoint<ProtoSuspendUserRequest, ProtoEmpty>(281, effect: .repeatable)
    /// Returns a page of a user's active sessions: at most 100, newest first. Error: `invalid_property` for a cursor
    /// that is not in the list.
    public static let listSessions = Endpoint<ProtoListSessionsRequest, ProtoListSessionsResponse>(282, effect: .read)
    /// Ends one or all sessions of a user and closes their sockets on all gateways. Returns the number of ended
    /// sessions.
    public static let endSessions = Endpoint<ProtoEndSessionsRequest, ProtoEndSessionsResponse>(
        283, effect: .repeatable)
    /// Changes settings of an app. A shorter session lifetime also applies to existing sessions.
    public static let patchApp = Endpoint<ProtoPatchAppRequest, ProtoEmpty>(284, effect: .repeatable)
    /// Sends an announcement to up to 100,000 users. A repeated request with the same id receives the first response.
    /// Error: `id_in_use` for a different request with that id.
    public static let announce = Endpoint<ProtoAnnounceRequest, ProtoAnnounceResponse>(285, effect: .repeatable)
    /// Passes a push notification for each of up to 1000 users to the webhooks that accept pushes. Error:
    /// `invalid_operation` if no webhook accepts them. Not repeated, because devices would be notified twice.
    public static let notify = Endpoint<ProtoNotifyRequest, ProtoEmpty>(286, effect: .notRepeatable)
    /// Returns a user's unread counts, after setting the external count of the app's own server if given.
    public static let badge = Endpoint<ProtoBadgeRequest, ProtoBadgeResponse>(287, effect: .repeatable)
    /// Erases a user: the account immediately, messages and contents soon afterwards.
    public static let eraseUser = Endpoint<ProtoEraseUserRequest, ProtoEmpty>(288, effect: .repeatable)
}

/// The methods of the `conversations` service for blocks.
public enum BlocksAPI {
    /// Changes a user's block list. Blocked users have an identity from then on. Error: `invalid_property` for `blocks`
    /// if the user would exceed the maximum.
    public static let changeBlocks = Endpoint<ProtoChangeBlocksRequest, ProtoChangePlace>(300, effect: .repeatable)
    /// Returns a page of the users whom a user has blocked: at most 1000, by id.
    public static let listBlocks = Endpoint<ProtoListBlocksRequest, ProtoListBlocksResponse>(301, effect: .read)
    /// Returns a page of the users whom a user has blocked, or who have blocked that user: at most ``pairsPageSize``,
    /// by id. For the gateways with sockets of the user.
    public static let blockPairs = Endpoint<ProtoListBlocksRequest, ProtoBlockPairsResponse>(302, effect: .read)
}

/// The methods of the `metadata` service.
public enum MetadataAPI {
    /// Patches the tree of one conversation atomically (docs/conformance.md §5.6). Returns the change, or none if the
    /// patch had no effect.
    public static let patchMetadata = Endpoint<ProtoPatchMetadataRequest, ProtoPatchMetadataResponse>(
        41, effect: .notRepeatable)
}

/// The methods of the `presence` service. All its state is ephemeral, and repetition is harmless.
public enum PresenceAPI {
    /// Reports a typing event of a user whom the gateway knows to be a participant. A repeated state renews its
    /// deadline (docs/conformance.md §12.6).
    public static let typing = Endpoint<ProtoTypingRequest, ProtoEmpty>(50, effect: .repeatable)
    /// Sets the presence status of a connection and creates its lease. `auto` means the user's last choice
    /// (docs/conformance.md §12.8).
    public static let setPresence = Endpoint<ProtoSetPresenceRequest, ProtoSetPresenceResponse>(51, effect: .repeatable)
    /// Renews up to ``maximumItems`` leases. Returns those that Redis has lost, whose status must be set again.
    public static let renewPresence = Endpoint<ProtoRenewPresenceRequest, ProtoRenewPresenceResponse>(
        52, effect: .repeatable)
    /// Lets up to ``maximumItems`` leases end after a grace period, so that a short disconnection is not announced.
    public static let releasePresence = Endpoint<ProtoReleasePresenceRequest, ProtoEmpty>(53, effect: .repeatable)
    /// Returns the real statuses of up to ``maximumItems`` users in the order of the request. With `since`, only those
    /// changed after that time.
    public static let getPresence = Endpoint<ProtoGetPresenceRequest, ProtoGetPresenceResponse>(54, effect: .read)
}

/// The methods of the `webhooks` service.
public enum WebhooksAPI {
    /// Registers a webhook, which is then verified. A repetition with the same id finds it. Error: `invalid_operation`
    /// if the app has too many webhooks.
    public static let createWebhook = Endpoint<ProtoCreateWebhookRequest, ProtoWebhook>(310, effect: .repeatable)
    /// Returns all webhooks of an app, oldest first.
    public static let listWebhooks = Endpoint<ProtoListWebhooksRequest, ProtoListWebhooksResponse>(311, effect: .read)
    /// Returns a webhook. Error: `not_found` if the app has no such webhook.
    public static let getWebhook = Endpoint<ProtoWebhookRequest, ProtoWebhook>(312, effect: .read)
    /// Verifies a webhook and returns the outcome: active, possibly only after some seconds, or inactive.
    public static let activateWebhook = Endpoint<ProtoWebhookRequest, ProtoWebhook>(313, effect: .repeatable)
    /// Deactivates a webhook. Events are no longer recorded for it.
    public static let deactivateWebhook = Endpoint<ProtoWebhookRequest, ProtoWebhook>(314, effect: .repeatable)
    /// Removes a webhook with its undelivered events.
    public static let deleteWebhook = Endpoint<ProtoWebhookRequest, ProtoEmpty>(315, effect: .notRepeatable)
    /// Returns the latest delivery attempts of a webhook, at most 100.
    public static let listWebhookDeliveries = Endpoint<ProtoWebhookRequest, ProtoListWebhookDeliveriesResponse>(
        316, effect: .read)
    /// Delivers an event of ``listWebhookDeliveries`` again. Errors: `not_found` for any other event;
    /// `invalid_operation` if the webhook is not active.
    public static let redeliverWebhook = Endpoint<ProtoWebhookRequest, ProtoEmpty>(317, effect: .repeatable)
    /// Sends a signed event of the type `Test` to the receiver of a webhook of any status, once. Returns its answer.
    /// Nothing is recorded. Errors: `not_found`; `rate_limit_exceeded` while a test of the webhook, or several of its
    /// app or its host, are in progress; `invalid_operation` if the webhook's secret cannot be decrypted.
    ///
    /// Not repeated, because the receiver would get the event twice.
    public static let testWebhook = Endpoint<ProtoWebhookRequest, ProtoTestWebhookResponse>(318, effect: .notRepeatable)
}

/// The methods of the `conversations` service for operators. No rights are checked: the console checks those of its
/// operators.
public enum AdminAPI {
    /// Returns a report: a JSON document, made by the database function `conversations.report_<name>`, which describes
    /// it. The reports `databases` and `apps` are arrays about all databases that answer. Errors: `invalid_property`
    /// and `missing_property` name a field; `not_found`, if the report's object does not exist.
    public static let readReport = Endpoint<ProtoReadReportRequest, ProtoReport>(400, effect: .read)
    /// Creates an app with a key and a server token. A repetition finds it. Error: `id_in_use` if one of the ids
    /// belongs to another object.
    public static let createApp = Endpoint<ProtoCreateAppRequest, ProtoEmpty>(401, effect: .repeatable)
    /// Suspends an app, or lifts the suspension. Errors: `not_found`; `invalid_operation` for the resumption of an app
    /// that is being deleted.
    public static let suspendApp = Endpoint<ProtoSuspendAppRequest, ProtoEmpty>(402, effect: .repeatable)
    /// Adds a public key to an app. A repetition finds it. Errors: `not_found`; `id_in_use`; `invalid_property` if the
    /// app has too many keys.
    public static let addAppKey = Endpoint<ProtoAddAppKeyRequest, ProtoEmpty>(403, effect: .repeatable)
    /// Removes a public key from an app. Identity tokens signed with it are refused ten seconds later. Also succeeds if
    /// the app has no such key.
    public static let removeAppKey = Endpoint<ProtoRemoveAppKeyRequest, ProtoEmpty>(404, effect: .repeatable)
    /// Creates a server token, and deletes expired ones of the app. A repetition finds it. Errors: `not_found`, also
    /// for an app that is being deleted; `id_in_use`.
    public static let createServerToken = Endpoint<ProtoCreateServerTokenRequest, ProtoEmpty>(405, effect: .repeatable)
    /// Revokes a server token of an app. The webhooks that it registered stay. Also succeeds if the app has no such
    /// token.
    public static let revokeServerToken = Endpoint<ProtoRevokeServerTokenRequest, ProtoEmpty>(406, effect: .repeatable)
}

extension ProtoFollowRequest: ChangeRequest {}
extension ProtoUnfollowRequest: ChangeRequest {}
extension ProtoSetPushTokenRequest: ChangeRequest {}
extension ProtoDeletePushTokenRequest: ChangeRequest {}
extension ProtoGiveAnnouncementReceiptRequest: ChangeRequest {}
extension ProtoDeleteAnnouncementRequest: ChangeRequest {}
extension ProtoCreateConversationRequest: ChangeRequest {}
extension ProtoPatchConversationRequest: ChangeRequest {}
extension ProtoDeleteConversationRequest: ChangeRequest {}
extension ProtoMarkAllReadRequest: ChangeRequest {}
extension ProtoSendMessageRequest: ChangeRequest {}
extension ProtoDeleteMessageRequest: ChangeRequest {}
extension ProtoEditPartsRequest: ChangeRequest {}
extension ProtoGiveReceiptRequest: ChangeRequest {}
extension ProtoGiveReceiptsRequest: ChangeRequest {}
extension ProtoPatchMetadataRequest: ChangeRequest {}
extension ProtoWriteIdentityRequest: ChangeRequest {}
extension ProtoSuspendUserRequest: ChangeRequest {}
extension ProtoEndSessionsRequest: ChangeRequest {}
extension ProtoPatchAppRequest: ChangeRequest {}
extension ProtoAnnounceRequest: ChangeRequest {}
extension ProtoNotifyRequest: ChangeRequest {}
extension ProtoBadgeRequest: ChangeRequest {}
extension ProtoEraseUserRequest: ChangeRequest {}
extension ProtoChangeBlocksRequest: ChangeRequest {}

extension ProtoSignInRequest: AppRequest {}
extension ProtoFindSessionRequest: AppRequest {}
extension ProtoEndSessionRequest: AppRequest {}
extension ProtoIdentitiesRequest: AppRequest {}
extension ProtoFindServerTokenRequest: AppRequest {}
extension ProtoFindUserRequest: AppRequest {}
extension ProtoListFollowedRequest: AppRequest {}
extension ProtoFollowRequest: AppRequest {}
extension ProtoUnfollowRequest: AppRequest {}
extension ProtoIsFollowedRequest: AppRequest {}
extension ProtoSetPushTokenRequest: AppRequest {}
extension ProtoDeletePushTokenRequest: AppRequest {}
extension ProtoGetAnnouncementRequest: AppRequest {}
extension ProtoListAnnouncementsRequest: AppRequest {}
extension ProtoGiveAnnouncementReceiptRequest: AppRequest {}
extension ProtoDeleteAnnouncementRequest: AppRequest {}
extension ProtoCreateContentRequest: AppRequest {}
extension ProtoFinishContentRequest: AppRequest {}
extension ProtoGetContentRequest: AppRequest {}
extension ProtoCreateConversationRequest: AppRequest {}
extension ProtoGetConversationRequest: AppRequest {}
extension ProtoListConversationsRequest: AppRequest {}
extension ProtoLoadConversationsRequest: AppRequest {}
extension ProtoGetConversationsRequest: AppRequest {}
extension ProtoPatchConversationRequest: AppRequest {}
extension ProtoDeleteConversationRequest: AppRequest {}
extension ProtoMarkAllReadRequest: AppRequest {}
extension ProtoSendMessageRequest: AppRequest {}
extension ProtoGetMessageRequest: AppRequest {}
extension ProtoListMessagesRequest: AppRequest {}
extension ProtoDeleteMessageRequest: AppRequest {}
extension ProtoEditPartsRequest: AppRequest {}
extension ProtoGiveReceiptRequest: AppRequest {}
extension ProtoGiveReceiptsRequest: AppRequest {}
extension ProtoBaselineRequest: AppRequest {}
extension ProtoReadLogsRequest: AppRequest {}
extension ProtoFollowedRequest: AppRequest {}
extension ProtoPatchMetadataRequest: AppRequest {}
extension ProtoGetPresenceRequest: AppRequest {}
extension ProtoListIndexesRequest: AppRequest {}
extension ProtoAddIndexRequest: AppRequest {}
extension ProtoRemoveIndexRequest: AppRequest {}
extension ProtoFindConversationsRequest: AppRequest {}
extension ProtoCreateWebhookRequest: AppRequest {}
extension ProtoListWebhooksRequest: AppRequest {}
extension ProtoWebhookRequest: AppRequest {}
extension ProtoWriteIdentityRequest: AppRequest {}
extension ProtoSuspendUserRequest: AppRequest {}
extension ProtoListSessionsRequest: AppRequest {}
extension ProtoEndSessionsRequest: AppRequest {}
extension ProtoPatchAppRequest: AppRequest {}
extension ProtoAnnounceRequest: AppRequest {}
extension ProtoNotifyRequest: AppRequest {}
extension ProtoBadgeRequest: AppRequest {}
extension ProtoEraseUserRequest: AppRequest {}
extension ProtoChangeBlocksRequest: AppRequest {}
extension ProtoListBlocksRequest: AppRequest {}
extension ProtoReadReportRequest: AppRequest {}
extension ProtoCreateAppRequest: AppRequest {}
extension ProtoSuspendAppRequest: AppRequest {}
extension ProtoAddAppKeyRequest: AppRequest {}
extension ProtoRemoveAppKeyRequest: AppRequest {}
extension ProtoCreateServerTokenRequest: AppRequest {}
extension ProtoRevokeServerTokenRequest: AppRequest {}

extension ProtoSweepContentsRequest: DatabaseRequest {}
extension ProtoForgetContentsRequest: DatabaseRequest {}
extension ProtoReadChangesRequest: DatabaseRequest {}
extension ProtoHeadsRequest: DatabaseRequest {}
extension ProtoReadReportRequest: DatabaseRequest {}
extension ProtoCreateAppRequest: DatabaseRequest {}

extension RPCMethod {
    static let names: [UInt16: String] = [
        1: "signIn",
        2: "findSession",
        3: "endSession",
        4: "checkSessions",
        5: "identities",
        6: "listFollowed",
        7: "follow",
        8: "unfollow",
        9: "isFollowed",
        10: "createConversation",
        11: "getConversation",
        12: "listConversations",
        13: "patchConversation",
        14: "deleteConversation",
        15: "markAllRead",
        20: "sendMessage",
        21: "getMessage",
        22: "listMessages",
        23: "deleteMessage",
        24: "giveReceipt",
        25: "editParts",
        30: "baseline",
        31: "readLogs",
        32: "readChanges",
        33: "heads",
        34: "followed",
        41: "patchMetadata",
        50: "typing",
        51: "setPresence",
        52: "renewPresence",
        53: "releasePresence",
        54: "getPresence",
        61: "getAnnouncement",
        62: "listAnnouncements",
        63: "giveAnnouncementReceipt",
        64: "deleteAnnouncement",
        70: "createContent",
        71: "finishContent",
        72: "getContent",
        73: "sweepContents",
        74: "forgetContents",
        80: "setPushToken",
        81: "deletePushToken",
        210: "loadConversations",
        220: "giveReceipts",
        240: "getConversations",
        250: "findServerToken",
        251: "findUser",
        260: "scheduleMessage",
        280: "writeIdentity",
        281: "suspendUser",
        282: "listSessions",
        283: "endSessions",
        284: "patchApp",
        285: "announce",
        286: "notify",
        287: "badge",
        288: "eraseUser",
        300: "changeBlocks",
        301: "listBlocks",
        302: "blockPairs",
        310: "createWebhook",
        311: "listWebhooks",
        312: "getWebhook",
        313: "activateWebhook",
        314: "deactivateWebhook",
        315: "deleteWebhook",
        316: "listWebhookDeliveries",
        317: "redeliverWebhook",
        318: "testWebhook",
        330: "findConversations",
        331: "listIndexes",
        332: "addIndex",
        333: "removeIndex",
        400: "readReport",
        401: "createApp",
        402: "suspendApp",
        403: "addAppKey",
        404: "removeAppKey",
        405: "createServerToken",
        406: "revokeServerToken",
    ]
}
