// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension StrataClient {
    /// Waits until a conversation is on this device. For one that was just made elsewhere, for example by the app's own server, and of which this device has the
    /// id only.
    /// - Throws: ``StrataError/Code/asyncTimeout``; ``StrataError/Code/notAuthenticated`` if no user is signed in, or the session is not the current one any
    ///   more; `CancellationError`.
    public func waitForCreation(of id: ConversationID, timeout: Duration) async throws -> Conversation {
        try await wait(timeout, ask: { await $0.load(.conversation(id)) }, find: { try $0.conversation(id) })
    }

    /// Waits until a message is on this device.
    /// - Throws: as ``waitForCreation(of:timeout:)-(ConversationID,_)``.
    public func waitForCreation(of id: MessageID, timeout: Duration) async throws -> Message {
        try await wait(timeout, ask: { await $0.fetch(id) }, find: { try $0.message(id) })
    }

    /// Waits until an announcement is on this device.
    /// - Throws: as ``waitForCreation(of:timeout:)-(ConversationID,_)``.
    public func waitForCreation(of id: AnnouncementID, timeout: Duration) async throws -> Announcement {
        try await wait(timeout) { try $0.shownAnnouncement(id) }
    }

    /// Waits until this device has what the operator says of a user. That comes for users whom this user follows, as all participants of their conversations.
    /// - Throws: as ``waitForCreation(of:timeout:)-(ConversationID,_)``.
    public func waitForCreation(of user: UserID, timeout: Duration) async throws -> Identity {
        try await wait(timeout) { store in
            guard let record = try store.identityRecord(user), record.isFull else { return nil }
            return StoreReader.identity(record)
        }
    }

    /// - Parameter ask: asks the server for what is not on this device.
    private func wait<Value: Sendable>(
        _ timeout: Duration, ask: @Sendable (SyncEngine) async -> Void = { _ in }, find: @Sendable @escaping (StoreReader) throws -> Value?
    ) async throws -> Value {
        let engine = try signedIn()
        let changes = engine.dependencies.link.changes.subscribe()
        if let found = try await engine.read(find) { return found }
        await ask(engine)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                for await _ in changes { if let found = try await engine.read(find) { return found } }
                try Task.checkCancellation()
                throw StrataError(.notAuthenticated, "The session is not the current one any more.")
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            guard let found = try await group.next() ?? nil else {
                throw StrataError(.asyncTimeout, "The object did not come within \(timeout).")
            }
            return found
        }
    }
}
