// SPDX-License-Identifier: Apache-2.0
public import RPC

extension RPCMethod {
    /// The method's name in metrics and logs, or its number if it has no name.
    public var name: String { Self.names[self] ?? description }

    static let names: [RPCMethod: String] = [
        ConversationsAPI.signIn.method: "signIn",
        ConversationsAPI.findSession.method: "findSession",
        ConversationsAPI.endSession.method: "endSession",
        ConversationsAPI.checkSessions.method: "checkSessions",
        ConversationsAPI.identities.method: "identities",
        ConversationsAPI.listFollowed.method: "listFollowed",
        ConversationsAPI.follow.method: "follow",
        ConversationsAPI.unfollow.method: "unfollow",
        ConversationsAPI.isFollowed.method: "isFollowed",
        ConversationsAPI.createConversation.method: "createConversation",
        ConversationsAPI.getConversation.method: "getConversation",
        ConversationsAPI.getConversations.method: "getConversations",
        ConversationsAPI.listConversations.method: "listConversations",
        ConversationsAPI.loadConversations.method: "loadConversations",
        ConversationsAPI.patchConversation.method: "patchConversation",
        ConversationsAPI.deleteConversation.method: "deleteConversation",
        ConversationsAPI.markAllRead.method: "markAllRead",
        ConversationsAPI.sendMessage.method: "sendMessage",
        ConversationsAPI.scheduleMessage.method: "scheduleMessage",
        ConversationsAPI.getMessage.method: "getMessage",
        ConversationsAPI.listMessages.method: "listMessages",
        ConversationsAPI.deleteMessage.method: "deleteMessage",
        ConversationsAPI.editParts.method: "editParts",
        ConversationsAPI.giveReceipt.method: "giveReceipt",
        ConversationsAPI.giveReceipts.method: "giveReceipts",
        ConversationsAPI.baseline.method: "baseline",
        ConversationsAPI.readLogs.method: "readLogs",
        ConversationsAPI.readChanges.method: "readChanges",
        ConversationsAPI.heads.method: "heads",
        ConversationsAPI.followed.method: "followed",
        BlocksAPI.change.method: "changeBlocks",
        BlocksAPI.list.method: "listBlocks",
        BlocksAPI.pairs.method: "blockPairs",
        ServerAPI.findToken.method: "findServerToken",
        ServerAPI.findUser.method: "findUser",
        IndexAPI.findConversations.method: "findConversations",
        IndexAPI.list.method: "listIndexes",
        IndexAPI.add.method: "addIndex",
        IndexAPI.remove.method: "removeIndex",
        UsersAPI.writeIdentity.method: "writeIdentity",
        UsersAPI.suspend.method: "suspendUser",
        UsersAPI.listSessions.method: "listSessions",
        UsersAPI.endSessions.method: "endSessions",
        UsersAPI.patchApp.method: "patchApp",
        UsersAPI.announce.method: "announce",
        UsersAPI.notify.method: "notify",
        UsersAPI.badge.method: "badge",
        UsersAPI.erase.method: "eraseUser",
        AccountAPI.getAnnouncement.method: "getAnnouncement",
        AccountAPI.listAnnouncements.method: "listAnnouncements",
        AccountAPI.giveAnnouncementReceipt.method: "giveAnnouncementReceipt",
        AccountAPI.deleteAnnouncement.method: "deleteAnnouncement",
        AccountAPI.createContent.method: "createContent",
        AccountAPI.finishContent.method: "finishContent",
        AccountAPI.getContent.method: "getContent",
        AccountAPI.sweepContents.method: "sweepContents",
        AccountAPI.forgetContents.method: "forgetContents",
        AccountAPI.setPushToken.method: "setPushToken",
        AccountAPI.deletePushToken.method: "deletePushToken",
        MetadataAPI.patch.method: "patchMetadata",
        PresenceAPI.typing.method: "typing",
        PresenceAPI.setPresence.method: "setPresence",
        PresenceAPI.renewPresence.method: "renewPresence",
        PresenceAPI.releasePresence.method: "releasePresence",
        PresenceAPI.getPresence.method: "getPresence",
        WebhooksAPI.create.method: "createWebhook",
        WebhooksAPI.list.method: "listWebhooks",
        WebhooksAPI.get.method: "getWebhook",
        WebhooksAPI.activate.method: "activateWebhook",
        WebhooksAPI.deactivate.method: "deactivateWebhook",
        WebhooksAPI.delete.method: "deleteWebhook",
        WebhooksAPI.deliveries.method: "listWebhookDeliveries",
        WebhooksAPI.redeliver.method: "redeliverWebhook",
    ]
}

extension RPCServerConfiguration {
    /// The configuration with method names instead of numbers in metrics and logs.
    public var withMethodNames: Self {
        var configuration = self
        configuration.methodName = \.name
        return configuration
    }
}

extension RPCClientConfiguration {
    /// The configuration with method names instead of numbers in metrics.
    public var withMethodNames: Self {
        var configuration = self
        configuration.methodName = \.name
        return configuration
    }
}
