// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension StrataClient {
    /// Creates a conversation with these users and the signed-in user. Until its first message is sent, the
    /// conversation exists on this device only, and queries do not find it.
    /// - Throws:
    ///   - ``StrataError/Code/distinctConversationExists``, with ``StrataError/existing``, if these participants have a
    ///     distinct conversation on this device
    ///   - ``StrataError/Code/participantsContainBlockedUser`` if the only other participant is blocked
    ///   - ``StrataError/Code/distinctDeletedConversationExists`` if these participants had a distinct conversation
    ///     whose deletion the server has not confirmed
    ///   - ``StrataError/Code/tooManyParticipants``
    ///   - ``StrataError/Code/invalidKey`` or ``StrataError/Code/invalidValue`` for the metadata
    ///   - ``StrataError/Code/invalidArgument`` if there is no other participant
    ///   - ``StrataError/Code/notAuthenticated``
    public func newConversation(
        with participants: Set<UserID>, options: Conversation.Options = .init()
    ) async throws -> Conversation {
        try await makeConversation(with: participants, options: options) { store, new in try store.newConversation(new)
        }
    }

    /// Returns the distinct conversation of these participants, if it is on this device; otherwise creates a
    /// conversation. A conversation whose deletion is pending counts as absent.
    /// - Throws: the errors of ``newConversation(with:options:)``, except
    ///   ``StrataError/Code/distinctConversationExists`` and ``StrataError/Code/distinctDeletedConversationExists``.
    public func findOrCreate(
        with participants: Set<UserID>, options: Conversation.Options = .init()
    ) async throws -> Conversation {
        try await makeConversation(with: participants, options: options) { store, new in
            let known = new.isDistinct ? try store.distinctConversation(of: new.participants)?.id : nil
            if known == nil { try store.checkBlocked(new) }
            return try known ?? store.createDraft(new)
        }
    }

    /// Runs a transaction that creates or finds a conversation, and returns that conversation.
    /// - Parameter make: returns the id of the conversation.
    private func makeConversation(
        with participants: Set<UserID>, options: Conversation.Options,
        _ make: @Sendable @escaping (StoreTransaction, LocalChange.NewConversation) throws -> ConversationID
    ) async throws -> Conversation {
        let engine = try signedIn()
        let new = try Self.creation(with: participants, options: options, creator: engine.me)
        let id = try await engine.change { try make($0, new) }
        let conversation = try await engine.read { store in
            try store.conversationRecord(id).map { try store.conversation($0) }
        }
        guard let conversation else {
            throw StrataError(.conversationDeleted, "The conversation \(id.layerID) is not on this device.")
        }
        return conversation
    }

    /// Returns the change that creates a conversation.
    /// - Throws: ``StrataError`` without another participant, with too many participants, or for invalid metadata.
    private static func creation(
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

    /// Returns the current state of a conversation on this device, found by its current or a previous id. Returns nil
    /// if it is not on this device or has not been sent yet.
    public func conversation(_ id: ConversationID) async throws -> Conversation? {
        try await signedIn().read { try $0.conversation(id) }
    }

    /// Changes a conversation. `body` receives the conversation's current id.
    func changeConversation<Value: Sendable>(
        _ id: ConversationID, _ body: @Sendable @escaping (StoreTransaction, ConversationID) throws -> Value
    ) async throws -> Value {
        try await signedIn().change { store in try body(store, try store.reader.resolve(id)) }
    }

    /// Sends a typing signal to the other participants. Can be called for every keystroke. Without a connection nothing
    /// is sent.
    func sendTypingIndicator(_ action: TypingAction, in id: ConversationID) async throws {
        let engine = try signedIn()
        let resolved = try await engine.read { try $0.resolve(id) }
        await engine.typing.sendTypingIndicator(action, in: resolved)
    }
}

extension Conversation {
    // MARK: Messages

    /// Sends a message. The first message of a new conversation also creates the conversation on the server.
    /// - Returns: the message in its state before the server has accepted it.
    /// - Throws: ``StrataError/Code/invalidMessage`` if the message was sent before,
    ///   ``StrataError/Code/userNotAParticipant``, ``StrataError/Code/conversationDeleted``,
    ///   ``StrataError/Code/tooManyParticipants``.
    @discardableResult
    public func send(_ message: NewMessage) async throws -> Message {
        let client = try owner.get()
        let stored = try await client.prepareMessage(message)
        let current = try await client.changeConversation(id) { store, id in
            try store.sendMessage(stored, in: id)
            return id
        }
        await client.engine?.typing.messageSent(in: current)
        guard let sent = try await client.message(message.id) else {
            throw StrataError(.messageDeleted, "The message was deleted.")
        }
        return sent
    }

    /// Marks all messages of the conversation that are on this device as read.
    /// - Returns: the number of messages that were unread.
    @discardableResult
    public func markAllMessagesAsRead() async throws -> Int {
        try await owner.get()
            .changeConversation(id) { store, id in try store.markRead(try store.unreadMessages(in: id), in: id) }
    }

    // MARK: Metadata

    /// Sets the text at a key path, for example `theme.background_color`. All other keys keep their values.
    ///
    /// Metadata are small facts about the conversation. Changes apply per key. If two users set different keys, both
    /// values are kept. If they set the same key, the change that reaches the server last wins.
    /// - Throws: ``StrataError/Code/invalidKey``, ``StrataError/Code/invalidValue``,
    ///   ``StrataError/Code/userNotAParticipant``, ``StrataError/Code/conversationDeleted``.
    public func setMetadata(_ value: String, at keyPath: String) async throws {
        try await patch([MetadataInput.step(.text(value), at: keyPath)])
    }

    /// Sets a group at a key path. It replaces the text or group there.
    /// - Throws: the errors of ``setMetadata(_:at:)-(String,_)``.
    public func setMetadata(_ group: Metadata, at keyPath: String) async throws {
        try await patch([MetadataInput.step(.group(group), at: keyPath)])
    }

    /// Sets these texts.
    /// - Parameter merge: true keeps all other keys. False removes the other keys known to this device; keys that
    ///   another user sets at the same time stay.
    /// - Throws: the errors of ``setMetadata(_:at:)-(String,_)``.
    public func setMetadata(_ metadata: Metadata, merge: Bool) async throws {
        let values = try MetadataInput.values(of: metadata)
        if merge {
            let steps = values.sorted { $0.key < $1.key }
                .map { LocalChange.MetadataStep(path: $0.key, values: [$0.key: $0.value]) }
            try await patch(steps)
        } else {
            try await owner.get()
                .changeConversation(id) { store, id in
                    try store.patchMetadata(try store.replacingSteps(values, in: id), in: id)
                }
        }
    }

    /// Deletes the texts or groups at these key paths. Missing keys are ignored.
    /// - Throws: ``StrataError/Code/invalidKey``, ``StrataError/Code/userNotAParticipant``,
    ///   ``StrataError/Code/conversationDeleted``.
    public func deleteMetadata(at keyPaths: String...) async throws { try await deleteMetadata(at: keyPaths) }

    /// Deletes the texts or groups at these key paths. Missing keys are ignored.
    /// - Throws: the errors of ``deleteMetadata(at:)-(String...)``.
    public func deleteMetadata(at keyPaths: [String]) async throws {
        try await patch(keyPaths.map { LocalChange.MetadataStep(path: try MetadataInput.path($0).dotted, values: nil) })
    }

    private func patch(_ steps: [LocalChange.MetadataStep]) async throws {
        try await owner.get().changeConversation(id) { store, id in try store.patchMetadata(steps, in: id) }
    }

    // MARK: Participants

    /// Adds users to the conversation. They can see all earlier messages. A distinct conversation is no longer distinct
    /// afterwards.
    /// - Throws: ``StrataError/Code/tooManyParticipants``, ``StrataError/Code/userNotAParticipant``,
    ///   ``StrataError/Code/conversationDeleted``.
    public func addParticipants(_ users: Set<UserID>) async throws {
        try await changeParticipants(users, isAdded: true)
    }

    /// Removes users from the conversation. They keep the messages that they have and receive no new ones.
    /// - Throws: ``StrataError/Code/participantNotAParticipant``, ``StrataError/Code/userNotAParticipant``,
    ///   ``StrataError/Code/conversationDeleted``.
    public func removeParticipants(_ users: Set<UserID>) async throws {
        try await changeParticipants(users, isAdded: false)
    }

    private func changeParticipants(_ users: Set<UserID>, isAdded: Bool) async throws {
        let steps = users.sorted().map { LocalChange.ParticipantStep(user: $0, isAdded: isAdded) }
        try await owner.get().changeConversation(id) { store, id in try store.changeParticipants(steps, in: id) }
    }

    // MARK: Deletion

    /// Deletes the conversation and its messages. If it was deleted for this user only, the next message restores it.
    /// - Throws: ``StrataError/Code/conversationAlreadyDeleted``, ``StrataError/Code/userNotAParticipant``.
    public func delete(_ mode: DeletionMode) async throws {
        try await owner.get().changeConversation(id) { store, id in try store.deleteConversation(id, mode: mode) }
    }

    /// Leaves the conversation and removes it from all devices of the user.
    /// - Throws: ``StrataError/Code/conversationAlreadyDeleted``, ``StrataError/Code/userNotAParticipant``.
    public func leave() async throws {
        try await owner.get()
            .changeConversation(id) { store, id in try store.deleteConversation(id, mode: .myDevices, leaves: true) }
    }

    // MARK: Typing and refresh

    /// Sends a typing signal to the other participants. Can be called for every keystroke: calls are merged. After 10 s
    /// without a call the client sends `pause`, and after 10 s more `finish`.
    public func sendTypingIndicator(_ action: TypingAction) async throws {
        try await owner.get().sendTypingIndicator(action, in: id)
    }

    /// Returns the current state of the conversation; nil if it was deleted.
    public func refreshed() async throws -> Conversation? { try await owner.get().conversation(id) }
}
