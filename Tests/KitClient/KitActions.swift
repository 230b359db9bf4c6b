// SPDX-License-Identifier: Apache-2.0

package import StrataKit

/// The actions of commands, executed with StrataKit.
package struct KitActions: Sendable {
    /// Receives the ids of the objects that a change concerns, before the change is made.
    package typealias Beginning = ([String]) -> Void

    let client: StrataClient
    /// The folder of the client's store.
    let folder: String

    package init(_ client: StrataClient, folder: String) { (self.client, self.folder) = (client, folder) }

    /// Executes an action.
    /// - Returns: the ids of the objects concerned, as far as the client assigns or selects them.
    package func execute(_ action: KitCommand.Action, begins: Beginning = { _ in }) async throws -> [String] {
        switch action {
        case .signIn(let token): try await client.authenticate(identityToken: token)
        case .connect: await connect()
        case .disconnect: await client.disconnect()
        case .create, .send, .edit: return try await write(action, begins)
        case .set, .unset, .merge, .replace: try await changeMetadata(action)
        case .add, .remove, .toggle: try await changeParticipants(action)
        case .read, .readOne, .readAll: return try await read(action, begins)
        case .delete, .deleteOne, .deleteConversation, .leave: return try await delete(action, begins)
        case .limitFiles(let room): try FileSizeLimit.set(room: room, beyond: folder)
        case .state: break
        }
        return []
    }

    /// Begins to connect, without waiting for the first attempt, which takes long if answers are lost.
    private func connect() async {
        Task { try await client.connect() }
        while await client.connectionState == .disconnected { await Task.yield() }
    }

    private func write(_ action: KitCommand.Action, _ begins: Beginning) async throws -> [String] {
        switch action {
        case .create(let others, let isDistinct, let texts, let text):
            let chat = try await client.newConversation(
                with: Set(others.map { UserID(trusted: $0) }),
                options: .init(isDistinct: isDistinct, metadata: Metadata(texts: texts)))
            let message = try client.newMessage(parts: [.text(text)])
            begins([chat.id.layerID, message.id.layerID])
            try await chat.send(message)
            return [chat.id.layerID, message.id.layerID]
        case .send(let id, let text):
            let (chat, message) = (try await conversation(id), try client.newMessage(parts: [.text(text)]))
            begins([message.id.layerID])
            try await chat.send(message)
            return [message.id.layerID]
        case .edit(let id, let index, let text):
            let me = await client.authenticatedUser?.userID
            let messages = try await messages(id).filter { $0.sender.userID == me }.selecting(index)
            begins(messages.map(\.id.layerID))
            for message in messages { try await message.setParts([.text(text)]) }
            return messages.map(\.id.layerID)
        default: return []
        }
    }

    private func changeMetadata(_ action: KitCommand.Action) async throws {
        switch action {
        case .set(let id, let path, let value): try await conversation(id).setMetadata(value, at: path)
        case .unset(let id, let path): try await conversation(id).deleteMetadata(at: path)
        case .merge(let id, let texts): try await conversation(id).setMetadata(Metadata(texts: texts), merge: true)
        case .replace(let id, let texts): try await conversation(id).setMetadata(Metadata(texts: texts), merge: false)
        default: break
        }
    }

    private func changeParticipants(_ action: KitCommand.Action) async throws {
        switch action {
        case .add(let id, let user): try await conversation(id).addParticipants([UserID(trusted: user)])
        case .remove(let id, let user): try await conversation(id).removeParticipants([UserID(trusted: user)])
        case .toggle(let id, let name, let leaves):
            let (chat, user) = (try await conversation(id), UserID(trusted: name))
            guard chat.participantIDs.contains(user) else { return try await chat.addParticipants([user]) }
            if await client.authenticatedUser?.userID != user || leaves { try await chat.removeParticipants([user]) }
        default: break
        }
    }

    private func read(_ action: KitCommand.Action, _ begins: Beginning) async throws -> [String] {
        let chosen: [Message]
        switch action {
        case .read(let id): chosen = Array(try await messages(id).filter(\.isUnread).prefix(3))
        case .readOne(let id, let index): chosen = try await messages(id).selecting(index)
        case .readAll(let id):
            try await conversation(id).markAllMessagesAsRead()
            return []
        default: return []
        }
        begins(chosen.map(\.id.layerID))
        try await client.markAsRead(chosen)
        return chosen.map(\.id.layerID)
    }

    private func delete(_ action: KitCommand.Action, _ begins: Beginning) async throws -> [String] {
        let (chosen, mode): ([Message], DeletionMode)
        switch action {
        case .delete(let id):
            let me = await client.authenticatedUser?.userID
            let last = try await messages(id).last { $0.sender.userID == me && $0.failure == nil }
            (chosen, mode) = (last.map { [$0] } ?? [], .allParticipants)
        case .deleteOne(let id, let index, let wanted):
            (chosen, mode) = (try await messages(id).selecting(index), wanted)
        case .deleteConversation(let id, let mode):
            try await conversation(id).delete(mode)
            return []
        case .leave(let id):
            try await conversation(id).leave()
            return []
        default: return []
        }
        begins(chosen.map(\.id.layerID))
        for message in chosen { try await message.delete(mode) }
        return chosen.map(\.id.layerID)
    }

    private func conversation(_ id: String) async throws -> StrataKit.Conversation {
        guard let known = ConversationID(parsing: id), let found = try await client.conversation(known) else {
            throw KitSessionError("\(id) is not on this device")
        }
        return found
    }

    private func messages(_ id: String) async throws -> [Message] { try await client.messages(in: conversation(id).id) }
}

extension [Message] {
    /// Returns the message at an index that may exceed their number; nothing if there are none.
    fileprivate func selecting(_ index: Int) -> [Message] { isEmpty ? [] : [self[index % count]] }
}

extension Metadata {
    /// Creates metadata from texts by their key paths.
    fileprivate init(texts: [String: String]) {
        let groups = Dictionary(grouping: texts) { String($0.key.prefix { $0 != "." }) }
        self.init(
            Dictionary(
                uniqueKeysWithValues: groups.map { key, members in
                    if let text = texts[key] { return (key, .text(text)) }
                    let below = members.map { (String($0.key.dropFirst(key.count + 1)), $0.value) }
                    return (key, .group(Metadata(texts: Dictionary(uniqueKeysWithValues: below))))
                }))
    }
}
