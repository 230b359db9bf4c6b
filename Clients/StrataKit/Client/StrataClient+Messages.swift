// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
public import StrataModel

extension StrataClient {
    /// Makes a message, to be sent once with ``Conversation/send(_:)``.
    /// - Throws: ``StrataError/Code/invalidMessage`` for no parts or more than ``Limits/partsPerMessage``.
    public nonisolated func newMessage(parts: [NewMessagePart], options: NewMessage.Options = .init()) throws -> NewMessage {
        guard (1...Limits.partsPerMessage).contains(parts.count) else {
            throw StrataError(.invalidMessage, "A message has 1 to \(Limits.partsPerMessage) parts, and this one \(parts.count).")
        }
        return NewMessage(id: .random(), parts: parts, notification: options.notification)
    }

    /// The message as it is on this device now; nil if it is not here.
    public func message(_ id: MessageID) async throws -> Message? {
        try await signedIn().read { try $0.message(id) }
    }

    /// The messages of a conversation that are on this device, in order.
    public func messages(in id: ConversationID) async throws -> [Message] {
        return try await signedIn().read { try $0.messages(in: $0.resolve(id)) }
    }

    /// Marks messages that are on this device as read; nil: all that are unread.
    /// - Returns: how many were unread.
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

    /// The message as it goes into the queue. Bytes that are to be uploaded are copied, so that the app may change or remove its files.
    func prepareMessage(_ message: NewMessage) async throws -> LocalChange.NewMessage {
        LocalChange.NewMessage(id: message.id, parts: try await prepareParts(message.parts), notification: message.notification?.json.text)
    }

    /// Parts as they go into the queue.
    func prepareParts(_ parts: [NewMessagePart]) async throws -> [PartRecord] {
        guard let url = try signedIn().contentFolder else { throw StrataError(.devicePersistenceFailure, "The store has no folder for content.") }
        return try await ContentFolder.runBlocking {
            let folder = try ContentFolder(url: url)
            return try zip(parts, PartPlacement.plan(for: parts)).map { try PartRecord(new: $0, $1, in: folder) }
        }
    }

    func deleteMessage(_ id: MessageID, mode: DeletionMode) async throws {
        try await signedIn().change { store in try store.deleteMessage(id, mode: mode) }
    }

    // MARK: People

    /// Follows users: this device receives changes of their identities. Participants of conversations are followed without this.
    public func follow(_ users: Set<UserID>) async throws { try await signedIn().change { try $0.follow(users.sorted()) } }

    /// Stops following users. Participants of conversations stay followed.
    public func unfollow(_ users: Set<UserID>) async throws { try await signedIn().change { try $0.unfollow(users.sorted()) } }

    /// Blocks users. New messages and conversations of theirs, typing and presence do not reach this user any more, nor do this user's reach them; they are not told.
    /// What is on the devices stays. The change waits for a connection, and is told to all devices of this user.
    ///
    /// To list the blocked users, query identities: `Query<Identity>` with `isBlocked` being true.
    public func block(_ users: Set<UserID>) async throws { try await signedIn().change { try $0.setBlocked(true, users.sorted()) } }

    /// Unblocks users. What was hidden stays hidden.
    public func unblock(_ users: Set<UserID>) async throws { try await signedIn().change { try $0.setBlocked(false, users.sorted()) } }

    /// The identity of a user, as far as it is known on this device.
    public func identity(of user: UserID) async throws -> Identity { try await signedIn().read { try $0.identity(user) } }

    /// Sets the presence that others see. Each connection sets the user's last choice again; before the first choice that is `available`.
    /// - Throws: ``StrataError/Code/notConnected``; presence is not queued.
    public func setPresence(_ choice: PresenceChoice) async throws {
        guard try await signedIn().setPresence(choice) else { throw StrataError(.notConnected, "There is no connection.") }
    }

    // MARK: Announcements

    func markAnnouncementAsRead(_ id: AnnouncementID) async throws -> Bool { try await signedIn().change { try $0.markAnnouncementRead(id) } }

    func deleteAnnouncement(_ id: AnnouncementID) async throws { try await signedIn().change { try $0.deleteAnnouncement(id) } }
}

extension Message {
    /// Marks the message as read. Nothing happens for own messages and those that are read.
    /// - Returns: whether it was unread.
    @discardableResult
    public func markAsRead() async throws -> Bool { try await owner.get().markAsRead([self]) > 0 }

    /// Deletes the message. A message that was not sent is removed.
    /// - Throws: ``StrataError/Code/messageDeleted``, ``StrataError/Code/userNotAParticipant``.
    public func delete(_ mode: DeletionMode) async throws { try await owner.get().deleteMessage(id, mode: mode) }

    /// The message as it is now; nil if it was deleted.
    public func refreshed() async throws -> Message? { try await owner.get().message(id) }
}

extension Announcement {
    /// Marks the announcement as read.
    /// - Returns: whether it was unread.
    @discardableResult
    public func markAsRead() async throws -> Bool { try await owner.get().markAnnouncementAsRead(id) }

    /// Removes the announcement from the user's devices.
    public func delete() async throws { try await owner.get().deleteAnnouncement(id) }
}

extension PartRecord {
    /// A part that was not sent yet.
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
