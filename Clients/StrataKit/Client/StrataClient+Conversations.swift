// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension StrataClient {
    /// Creates a conversation with these users; the signed-in user is always in it. It stays on this device, and is not found by queries, until its first
    /// message is sent.
    /// - Throws: ``StrataError/Code/distinctConversationExists`` with ``StrataError/existing`` if these participants have a distinct conversation on this
    ///   device, ``StrataError/Code/participantsContainBlockedUser`` if the only other one is blocked,
    ///   ``StrataError/Code/distinctDeletedConversationExists`` if they had one whose deletion the server has not confirmed,
    ///   ``StrataError/Code/tooManyParticipants``, ``StrataError/Code/invalidKey`` or ``StrataError/Code/invalidValue`` for the metadata,
    ///   ``StrataError/Code/invalidArgument`` without any other participant, ``StrataError/Code/notAuthenticated``.
    public func newConversation(with participants: Set<UserID>, options: Conversation.Options = .init()) async throws -> Conversation {
        try await makeConversation(with: participants, options: options) { store, new in try store.newConversation(new) }
    }

    /// The same, but returns the distinct conversation of these participants, if it is on this device. If that is being deleted, this creates a new one.
    /// - Throws: as ``newConversation(with:options:)``, apart from ``StrataError/Code/distinctConversationExists`` and
    ///   ``StrataError/Code/distinctDeletedConversationExists``.
    public func findOrCreate(with participants: Set<UserID>, options: Conversation.Options = .init()) async throws -> Conversation {
        try await makeConversation(with: participants, options: options) { store, new in
            let known = new.isDistinct ? try store.distinctConversation(of: new.participants)?.id : nil
            if known == nil { try store.checkBlocked(new) }
            return try known ?? store.createDraft(new)
        }
    }

    private func makeConversation(
        with participants: Set<UserID>, options: Conversation.Options,
        _ make: @Sendable @escaping (StoreTransaction, LocalChange.NewConversation) throws -> ConversationID
    ) async throws -> Conversation {
        let engine = try signedIn()
        let new = try Self.newConversation(with: participants, options: options, creator: engine.me)
        let id = try await engine.change { try make($0, new) }
        let conversation = try await engine.read { store in try store.conversationRecord(id).map { try store.conversation($0) } }
        guard let conversation else { throw StrataError(.conversationDeleted, "There is no conversation \(id.layerID) on this device.") }
        return conversation
    }

    private static func newConversation(
        with others: Set<UserID>, options: Conversation.Options, creator: UserID
    ) throws -> LocalChange.NewConversation {
        let participants = others.union([creator]).sorted()
        guard participants.count > 1 else {
            throw StrataError(.invalidArgument, "participants: a conversation needs at least one other participant.")
        }
        guard participants.count <= Limits.participants else { throw StoreTransaction.tooManyParticipants }
        return LocalChange.NewConversation(
            participants: participants, isDistinct: options.isDistinct, deliveryReceipts: options.deliveryReceipts,
            readReceipts: options.readReceipts, metadata: try MetadataInput.values(of: options.metadata))
    }

    /// The conversation as it is on this device now, found by its present id or one that it had before; nil if it is not here, or has not been sent.
    public func conversation(_ id: ConversationID) async throws -> Conversation? {
        try await signedIn().read { try $0.conversation(id) }
    }

    /// Changes a conversation by its present id.
    func changeConversation<Value: Sendable>(
        _ id: ConversationID, _ body: @Sendable @escaping (StoreTransaction, ConversationID) throws -> Value
    ) async throws -> Value {
        try await signedIn().change { store in try body(store, try store.reader.resolve(id)) }
    }

    /// Shows other participants whether the user types in a conversation. May be called with each key stroke. Without a connection nothing is sent.
    func sendTypingIndicator(_ action: TypingAction, in id: ConversationID) async throws {
        let engine = try signedIn()
        let resolved = try await engine.read { try $0.resolve(id) }
        await engine.typing.sendTypingIndicator(action, in: resolved)
    }
}

extension Conversation {
    // MARK: Messages

    /// Sends a message. The first message of a new conversation also creates the conversation on the server.
    /// - Returns: the message as it is shown until the server has accepted it.
    /// - Throws: ``StrataError/Code/invalidMessage`` if it was sent before, ``StrataError/Code/userNotAParticipant``,
    ///   ``StrataError/Code/conversationDeleted``, ``StrataError/Code/tooManyParticipants``.
    @discardableResult
    public func send(_ message: NewMessage) async throws -> Message {
        let client = try owner.get()
        let stored = try await client.prepareMessage(message)
        let current = try await client.changeConversation(id) { store, id in
            try store.sendMessage(stored, in: id)
            return id
        }
        await client.engine?.typing.messageSent(in: current)
        guard let sent = try await client.message(message.id) else { throw StrataError(.messageDeleted, "The message was deleted.") }
        return sent
    }

    /// Marks all messages of the conversation that are on this device as read.
    /// - Returns: how many were unread.
    @discardableResult
    public func markAllMessagesAsRead() async throws -> Int {
        try await owner.get().changeConversation(id) { store, id in try store.markRead(try store.unreadMessages(in: id), in: id) }
    }

    // MARK: Metadata

    /// Sets the text at a key path, for example `theme.background_color`, and leaves all others as they are.
    ///
    /// Metadata are small facts about the conversation. Changes are per key: of two users who set different keys both are kept; of two who set the same key,
    /// the one whose change reaches the server last.
    /// - Throws: ``StrataError/Code/invalidKey``, ``StrataError/Code/invalidValue``, ``StrataError/Code/userNotAParticipant``,
    ///   ``StrataError/Code/conversationDeleted``.
    public func setMetadata(_ value: String, at keyPath: String) async throws {
        try await patch([MetadataInput.step(.text(value), at: keyPath)])
    }

    /// Sets a whole group at a key path, and replaces what was there.
    /// - Throws: as ``setMetadata(_:at:)-(String,_)``.
    public func setMetadata(_ group: Metadata, at keyPath: String) async throws {
        try await patch([MetadataInput.step(.group(group), at: keyPath)])
    }

    /// Sets these texts. With `merge` all other keys stay. Without it, the keys known on this device are removed; keys that another user sets meanwhile stay.
    /// - Throws: as ``setMetadata(_:at:)-(String,_)``.
    public func setMetadata(_ metadata: Metadata, merge: Bool) async throws {
        let values = try MetadataInput.values(of: metadata)
        if merge {
            let steps = values.sorted { $0.key < $1.key }.map { LocalChange.MetadataStep(path: $0.key, values: [$0.key: $0.value]) }
            try await patch(steps)
        } else {
            try await owner.get().changeConversation(id) { store, id in try store.patchMetadata(try store.replacingSteps(values, in: id), in: id) }
        }
    }

    /// Deletes the texts or groups at these key paths. Those that are absent are passed over.
    /// - Throws: ``StrataError/Code/invalidKey``, ``StrataError/Code/userNotAParticipant``, ``StrataError/Code/conversationDeleted``.
    public func deleteMetadata(at keyPaths: String...) async throws { try await deleteMetadata(at: keyPaths) }

    /// Deletes the texts or groups at these key paths.
    /// - Throws: as ``deleteMetadata(at:)-(String...)``.
    public func deleteMetadata(at keyPaths: [String]) async throws {
        try await patch(keyPaths.map { LocalChange.MetadataStep(path: try MetadataInput.path($0).dotted, values: nil) })
    }

    private func patch(_ steps: [LocalChange.MetadataStep]) async throws {
        try await owner.get().changeConversation(id) { store, id in try store.patchMetadata(steps, in: id) }
    }

    // MARK: Participants

    /// Adds users. They see all earlier messages. A distinct conversation is not distinct after that.
    /// - Throws: ``StrataError/Code/tooManyParticipants``, ``StrataError/Code/userNotAParticipant``, ``StrataError/Code/conversationDeleted``.
    public func addParticipants(_ users: Set<UserID>) async throws { try await changeParticipants(users, isAdded: true) }

    /// Removes users. They keep what they have, and receive nothing new.
    /// - Throws: ``StrataError/Code/participantNotAParticipant``, ``StrataError/Code/userNotAParticipant``, ``StrataError/Code/conversationDeleted``.
    public func removeParticipants(_ users: Set<UserID>) async throws { try await changeParticipants(users, isAdded: false) }

    private func changeParticipants(_ users: Set<UserID>, isAdded: Bool) async throws {
        let steps = users.sorted().map { LocalChange.ParticipantStep(user: $0, isAdded: isAdded) }
        try await owner.get().changeConversation(id) { store, id in try store.changeParticipants(steps, in: id) }
    }

    // MARK: Deletion

    /// Deletes the conversation and its messages. If it was deleted for this user only, it comes back with the next message.
    /// - Throws: ``StrataError/Code/conversationAlreadyDeleted``, ``StrataError/Code/userNotAParticipant``.
    public func delete(_ mode: DeletionMode) async throws {
        try await owner.get().changeConversation(id) { store, id in try store.deleteConversation(id, mode: mode) }
    }

    /// Leaves the conversation and removes it from all devices of the user.
    /// - Throws: ``StrataError/Code/conversationAlreadyDeleted``, ``StrataError/Code/userNotAParticipant``.
    public func leave() async throws {
        try await owner.get().changeConversation(id) { store, id in try store.deleteConversation(id, mode: .myDevices, leaves: true) }
    }

    // MARK: Others

    /// Shows other participants whether the user types. May be called with each key stroke: calls are merged. After 10 seconds without a call the library
    /// itself sends `pause`, and after 10 more `finish`.
    public func sendTypingIndicator(_ action: TypingAction) async throws { try await owner.get().sendTypingIndicator(action, in: id) }

    /// The conversation as it is now; nil if it was deleted.
    public func refreshed() async throws -> Conversation? { try await owner.get().conversation(id) }
}
