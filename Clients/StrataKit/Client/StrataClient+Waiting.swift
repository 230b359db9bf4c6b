// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension StrataClient {
    /// Waits until a conversation is on this device. Useful for a conversation that was created elsewhere, for example
    /// by the app's own server, when this device knows only the id.
    /// - Throws: ``StrataError/Code/asyncTimeout``; ``StrataError/Code/notAuthenticated`` if no user is signed in, or
    ///   another session became the current one; `CancellationError`.
    public func waitForCreation(of id: ConversationID, timeout: Duration) async throws -> Conversation {
        try await wait(timeout, ask: { await $0.load(.conversation(id)) }, find: { try $0.conversation(id) })
    }

    /// Waits until a message is on this device.
    /// - Throws: the errors of ``waitForCreation(of:timeout:)-(ConversationID,_)``.
    public func waitForCreation(of id: MessageID, timeout: Duration) async throws -> Message {
        try await wait(timeout, ask: { await $0.fetch(id) }, find: { try $0.message(id) })
    }

    /// Waits until an announcement is on this device.
    /// - Throws: the errors of ``waitForCreation(of:timeout:)-(ConversationID,_)``.
    public func waitForCreation(of id: AnnouncementID, timeout: Duration) async throws -> Announcement {
        try await wait(timeout) { try $0.shownAnnouncement(id) }
    }

    /// Waits until this device has the full identity of a user, as the operator defined it. The server sends it for
    /// users whom this user follows; all participants of the user's conversations are followed.
    /// - Throws: the errors of ``waitForCreation(of:timeout:)-(ConversationID,_)``.
    public func waitForCreation(of user: UserID, timeout: Duration) async throws -> Identity {
        try await wait(timeout) { store in
            guard let record = try store.identityRecord(user), record.isFull else { return nil }
            return StoreReader.identity(record)
        }
    }

    /// Waits until `find` returns a value, and checks after each change of the store.
    /// - Parameter ask: requests an object that is not on this device from the server.
    private func wait<Value: Sendable>(
        _ timeout: Duration, ask: @Sendable (SyncEngine) async -> Void = { _ in },
        find: @Sendable @escaping (StoreReader) throws -> Value?
    ) async throws -> Value {
        let engine = try signedIn()
        let changes = engine.dependencies.link.changes.subscribe()
        if let found = try await engine.read(find) { return found }
        await ask(engine)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                for await _ in changes { if let found = try await engine.read(find) { return found } }
                try Task.checkCancellation()
                throw StrataError(.notAuthenticated, "The session is no longer the current one.")
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            guard let found = try await group.next() ?? nil else {
                throw StrataError(.asyncTimeout, "The object did not arrive within \(timeout).")
            }
            return found
        }
    }
}
