// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
public import StrataModel

extension StrataClient {
    /// Creates a message, which can be sent once with ``Conversation/send(_:)``.
    /// - Throws: ``StrataError/Code/invalidMessage`` for no parts or more than ``Limits/partsPerMessage``.
    public nonisolated func newMessage(
        parts: [NewMessagePart], options: NewMessage.Options = .init()
    ) throws -> NewMessage {
        guard (1...Limits.partsPerMessage).contains(parts.count) else {
            throw StrataError(
                .invalidMessage, "A message has 1 to \(Limits.partsPerMessage) parts, and this one \(parts.count).")
        }
        return NewMessage(id: .random(), parts: parts, notification: options.notification)
    }

    /// Returns the current state of a message on this device; nil if it is not on this device.
    public func message(_ id: MessageID) async throws -> Message? {
        try await signedIn().read { try $0.message(id) }
    }

    /// Returns the messages of a conversation that are on this device, in order.
    public func messages(in id: ConversationID) async throws -> [Message] {
        return try await signedIn().read { try $0.messages(in: $0.resolve(id)) }
    }

    /// Marks messages on this device as read.
    /// - Parameter messages: nil means all unread messages.
    /// - Returns: the number of messages that were unread.
    @discardableResult
    public func markAsRead(_ messages: [Message]? = nil) async throws -> Int {
        let ids = messages.map { Dictionary(grouping: $0, by: \.conversationID).mapValues { $0.map(\.id) } }
        return try await signedIn()
            .change { store in
                let byConversation = try ids ?? store.unreadMessages()
                return try byConversation.sorted { $0.key.description < $1.key.description }
                    .reduce(0) { count, entry in
                        count + (try store.markRead(entry.value, in: store.reader.resolve(entry.key)))
                    }
            }
    }

    /// Converts a message for the outgoing queue. Bytes to upload are copied, so that the app may change or remove its
    /// files.
    func prepareMessage(_ message: NewMessage) async throws -> LocalChange.NewMessage {
        LocalChange.NewMessage(
            id: message.id, parts: try await prepareParts(message.parts), notification: message.notification?.json.text)
    }

    /// Returns the records of new parts. Copies large contents into the content folder.
    func prepareParts(_ parts: [NewMessagePart]) async throws -> [PartRecord] {
        guard let url = try signedIn().contentFolder else {
            throw StrataError(.devicePersistenceFailure, "The store has no folder for content.")
        }
        return try await ContentFolder.runBlocking {
            let folder = try ContentFolder(url: url)
            return try zip(parts, PartPlacement.plan(for: parts)).map { try PartRecord(new: $0, $1, in: folder) }
        }
    }

    func deleteMessage(_ id: MessageID, mode: DeletionMode) async throws {
        try await signedIn().change { store in try store.deleteMessage(id, mode: mode) }
    }

    // MARK: People

    /// Follows users: this device then receives changes of their identities. Participants of the user's conversations
    /// are always followed.
    public func follow(_ users: Set<UserID>) async throws {
        try await signedIn().change { try $0.follow(users.sorted()) }
    }

    /// Stops following users. Participants of the user's conversations stay followed.
    public func unfollow(_ users: Set<UserID>) async throws {
        try await signedIn().change { try $0.unfollow(users.sorted()) }
    }

    /// Blocks users.
    ///
    /// New messages, new conversations, typing and presence are not delivered between this user and the blocked users,
    /// in either direction. The blocked users are not informed. Existing messages stay on the devices. The change is
    /// queued until there is a connection, and applies to all devices of this user.
    public func block(_ users: Set<UserID>) async throws {
        try await signedIn().change { try $0.setBlocked(true, users.sorted()) }
    }

    /// Unblocks users. Messages that were hidden while the block was active stay hidden.
    public func unblock(_ users: Set<UserID>) async throws {
        try await signedIn().change { try $0.setBlocked(false, users.sorted()) }
    }

    /// Returns the identity of a user, with the properties known on this device.
    public func identity(of user: UserID) async throws -> Identity {
        try await signedIn().read { try $0.identity(user) }
    }

    /// Sets the presence status that others see. Each new connection restores the user's last choice; the default is
    /// `available`.
    /// - Throws: ``StrataError/Code/notConnected``, because presence is not queued.
    public func setPresence(_ choice: PresenceChoice) async throws {
        guard try await signedIn().setPresence(choice) else {
            throw StrataError(.notConnected, "The client is not connected.")
        }
    }

    // MARK: Announcements

    func markAnnouncementAsRead(_ id: AnnouncementID) async throws -> Bool {
        try await signedIn().change { try $0.markAnnouncementRead(id) }
    }

    func deleteAnnouncement(_ id: AnnouncementID) async throws {
        try await signedIn().change { try $0.deleteAnnouncement(id) }
    }
}

extension Message {
    /// Marks the message as read. Does nothing for the user's own messages and for messages that are already read.
    /// - Returns: true if the message was unread.
    @discardableResult
    public func markAsRead() async throws -> Bool { try await owner.get().markAsRead([self]) > 0 }

    /// Deletes the message. A message that was not sent yet is removed from the queue.
    /// - Throws: ``StrataError/Code/messageDeleted``, ``StrataError/Code/userNotAParticipant``.
    public func delete(_ mode: DeletionMode) async throws { try await owner.get().deleteMessage(id, mode: mode) }

    /// Returns the current state of the message; nil if it was deleted.
    public func refreshed() async throws -> Message? { try await owner.get().message(id) }
}

extension Announcement {
    /// Marks the announcement as read.
    /// - Returns: true if the announcement was unread.
    @discardableResult
    public func markAsRead() async throws -> Bool { try await owner.get().markAnnouncementAsRead(id) }

    /// Removes the announcement from the user's devices.
    public func delete() async throws { try await owner.get().deleteAnnouncement(id) }
}

extension PartRecord {
    fileprivate init(new part: NewMessagePart, _ placement: PartPlacement, in folder: ContentFolder) throws {
        self.init(id: UUID(), mimeType: part.mimeType, size: part.size)
        switch placement {
        case .text(let text): body = Data(text.utf8)
        case .base64(let data): body = data
        case .content:
            file = try folder.stage(part, id: id)
            transferStatus = .awaitingUpload
        }
    }
}

extension StrataClient {
    func changeParts(
        of message: Message, parts: [NewMessagePart] = [],
        _ change: @Sendable @escaping ([PartRecord]) throws -> PartChange
    ) async throws {
        let records = try await prepareParts(parts)
        try await signedIn().change { store in try store.changeParts(try change(records), of: message.id) }
    }
}

/// Changes of messages that this user sent. They take effect on this device immediately, are queued like all changes,
/// and reach all users who can see the message.
extension Message {
    /// Appends a part to the message.
    /// - Throws: ``StrataError/Code/invalidMessage`` if another user sent the message, or if it already has
    ///   ``Limits/partsPerMessage`` parts; ``StrataError/Code/messageDeleted``;
    ///   ``StrataError/Code/userNotAParticipant``; ``StrataError/Code/objectNotSent`` if the server refused the
    ///   message.
    public func add(_ part: NewMessagePart) async throws {
        try await owner.get().changeParts(of: self, parts: [part]) { .add($0[0]) }
    }

    /// Replaces one part. If the message was already sent, the new part keeps the id of the old one.
    /// - Throws: the errors of ``add(_:)``; ``StrataError/Code/invalidArgument`` if `old` is not a part of the message.
    public func replace(_ old: MessagePart, with part: NewMessagePart) async throws {
        try await owner.get().changeParts(of: self, parts: [part]) { .replace(old.id, $0[0]) }
    }

    /// Removes a part.
    /// - Throws: the errors of ``replace(_:with:)``; ``StrataError/Code/invalidMessage`` for the last part.
    public func remove(_ part: MessagePart) async throws {
        try await owner.get().changeParts(of: self) { _ in .remove(part.id) }
    }

    /// Replaces all parts.
    /// - Throws: the errors of ``add(_:)``; ``StrataError/Code/invalidMessage`` for no parts.
    public func setParts(_ parts: [NewMessagePart]) async throws {
        try await owner.get().changeParts(of: self, parts: parts) { .setAll($0) }
    }
}
