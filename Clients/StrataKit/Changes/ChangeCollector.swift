// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// Sorts the changes of one transaction: creates before updates before deletes, and conversations before their
/// messages.
struct ChangeCollector {
    private var creates: [ObjectChange] = []
    private var updates: [ObjectChange] = []
    private var deletes: [ObjectChange] = []

    /// Adds the changes of one object, given its state before and after the transaction. nil: the object is not visible
    /// to the app.
    mutating func addChange<Value>(
        before: Value?, after: Value?, wrap: (Value) -> ObjectChange.Object,
        differences: (Value, Value) -> [PropertyChange],
        markDeleted: (inout Value) -> Void
    ) {
        switch (before, after) {
        case (nil, nil): break
        case (nil, let after?): creates.append(ObjectChange(wrap(after), .create))
        case (var before?, nil):
            markDeleted(&before)
            deletes.append(ObjectChange(wrap(before), .delete))
        case (let before?, let after?):
            for property in differences(before, after) { updates.append(ObjectChange(wrap(after), .update(property))) }
        }
    }

    var batch: [ObjectChange] { Self.sorted(creates) + Self.sorted(updates) + Self.sorted(deletes) }

    /// Sorts by object type: identities, conversations, messages, announcements. Changes of one type keep their order.
    private static func sorted(_ changes: [ObjectChange]) -> [ObjectChange] {
        let ranked = changes.enumerated().map { (rank: rank(of: $1.object), place: $0, change: $1) }
        return ranked.sorted { ($0.rank, $0.place) < ($1.rank, $1.place) }.map(\.change)
    }

    private static func rank(of object: ObjectChange.Object) -> Int {
        switch object {
        case .identity: 0
        case .conversation: 1
        case .message: 2
        case .announcement: 3
        }
    }
}

/// Compares two states of one object property by property.
struct PropertyDifferences {
    private(set) var changes: [PropertyChange] = []

    private mutating func compare<Value: Equatable>(
        _ name: String, from before: Value?, to after: Value?, _ wrap: (Value) -> PropertyChange.Value
    ) {
        guard before != after else { return }
        changes.append(PropertyChange(name: name, before: before.map(wrap), after: after.map(wrap)))
    }

    static func between(_ old: Conversation, _ new: Conversation) -> [PropertyChange] {
        var found = PropertyDifferences()
        found.compare("identifier", from: old.id, to: new.id) { .conversation($0) }
        found.compare("createdAt", from: old.createdAt, to: new.createdAt) { .date($0) }
        found.compare("participants", from: old.participantIDs, to: new.participantIDs) { .participants($0) }
        found.compare("metadata", from: old.metadata, to: new.metadata) { .metadata($0) }
        found.compare("isDistinct", from: old.isDistinct, to: new.isDistinct) { .bool($0) }
        found.compare("deliveryReceiptsEnabled", from: old.deliveryReceiptsEnabled, to: new.deliveryReceiptsEnabled) {
            .bool($0)
        }
        found.compare("lastMessage", from: old.lastMessage?.id, to: new.lastMessage?.id) { .message($0) }
        found.compare("hasUnreadMessages", from: old.hasUnreadMessages, to: new.hasUnreadMessages) { .bool($0) }
        found.compare("totalNumberOfMessages", from: old.totalMessageCount, to: new.totalMessageCount) {
            .int(Int64($0))
        }
        found.compare("totalNumberOfUnreadMessages", from: old.totalUnreadMessageCount, to: new.totalUnreadMessageCount)
        { .int(Int64($0)) }
        return found.changes
    }

    static func between(_ old: Message, _ new: Message) -> [PropertyChange] {
        var found = PropertyDifferences()
        found.compare("conversation", from: old.conversationID, to: new.conversationID) { .conversation($0) }
        found.compare("position", from: old.position, to: new.position) { .int($0) }
        found.compare("isSent", from: old.isSent, to: new.isSent) { .bool($0) }
        found.compare("isUnread", from: old.isUnread, to: new.isUnread) { .bool($0) }
        found.compare("sentAt", from: old.sentAt, to: new.sentAt) { .date($0) }
        found.compare("receivedAt", from: old.receivedAt, to: new.receivedAt) { .date($0) }
        found.compare("parts", from: old.parts, to: new.parts) { .parts($0) }
        found.compare("recipientStatusByUserID", from: old.recipientStatusByUserID, to: new.recipientStatusByUserID) {
            .statuses($0)
        }
        found.compare("failure", from: old.failure?.message, to: new.failure?.message) { .text($0) }
        return found.changes
    }

    static func between(_ old: Announcement, _ new: Announcement) -> [PropertyChange] {
        var found = PropertyDifferences()
        found.compare("isUnread", from: old.isUnread, to: new.isUnread) { .bool($0) }
        found.compare("parts", from: old.parts, to: new.parts) { .parts($0) }
        return found.changes
    }

    static func between(_ old: Identity, _ new: Identity) -> [PropertyChange] {
        var found = PropertyDifferences()
        found.compare("displayName", from: old.displayName, to: new.displayName) { .text($0) }
        found.compare("firstName", from: old.firstName, to: new.firstName) { .text($0) }
        found.compare("lastName", from: old.lastName, to: new.lastName) { .text($0) }
        found.compare("emailAddress", from: old.emailAddress, to: new.emailAddress) { .text($0) }
        found.compare("phoneNumber", from: old.phoneNumber, to: new.phoneNumber) { .text($0) }
        found.compare("avatarImageURL", from: old.avatarImageURL, to: new.avatarImageURL) { .text($0) }
        found.compare("publicKey", from: old.publicKey, to: new.publicKey) { .text($0) }
        found.compare("metadata", from: old.metadata, to: new.metadata) { .texts($0) }
        found.compare("followed", from: old.isFollowed, to: new.isFollowed) { .bool($0) }
        found.compare("blocked", from: old.isBlocked, to: new.isBlocked) { .bool($0) }
        found.compare("presenceStatus", from: old.presenceStatus, to: new.presenceStatus) { .text($0.rawValue) }
        found.compare("lastSeenAt", from: old.lastSeenAt, to: new.lastSeenAt) { .date($0) }
        return found.changes
    }
}
