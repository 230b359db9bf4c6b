// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

@testable import StrataKit

extension ModelServer {
    /// The positions of a change in the logs; nil for a log that does not contain it.
    struct Place {
        var position: Int64?
        var userPosition: Int64?
    }

    // MARK: Logs

    /// Commits a change of a conversation, and queues its packets for the participants.
    @discardableResult
    func commit(
        _ content: ModelEntry.Content, in id: ConversationID, also former: [UserID] = [],
        _ mutate: (inout ModelConversation) -> Void = { _ in }
    ) -> Int64 {
        guard var conversation = database.conversations[id] else { return 0 }
        let told = conversation.views.keys.filter { conversation.isTold(to: $0) }
        let entry = ModelEntry(
            number: database.nextNumber(), time: now, position: conversation.head + 1, content: content)
        conversation.log.append(entry)
        mutate(&conversation)
        database.conversations[id] = conversation
        for user in Set(told).union(former).sorted() {
            queue(packets(entry, conversation, for: user, live: true), for: user)
        }
        return entry.position
    }

    /// Commits an entry of a user's own log.
    /// - Parameter told: the packets for the user's sockets, if they differ from those of the entry in its current
    ///   state.
    @discardableResult
    func commit(_ content: ModelUserEntry.Content, of user: UserID, told: [JSONValue]? = nil) -> Int64 {
        let position = Int64(database.users[user]?.log.count ?? 0) + 1
        let entry = ModelUserEntry(number: database.nextNumber(), time: now, position: position, content: content)
        database.users[user]?.log.append(entry)
        queue(told ?? packets(entry, for: user), for: user)
        return position
    }

    /// Restores a hidden conversation.
    private func show(_ id: ConversationID, to user: UserID) {
        guard database.conversations[id]?.views[user]?.isHidden == true else { return }
        database.conversations[id]?.views[user]?.isHidden = false
        commit(.shown(id), of: user)
    }

    // MARK: Creation

    func createConversation(_ data: JSONValue, _ id: ConversationID, by user: UserID) -> Result<JSONValue, Refusal> {
        let name = "conversation \(id)"
        if let known = database.conversations[id] {
            record.answered(name)
            return .failure(
                Refusal(id: "id_in_use", data: known.isSeen(by: user) ? object(known, for: user) : .object([:])))
        }
        let participants = Set(
            (data["participants"].array ?? []).compactMap { UserID(parsing: $0.string ?? "") } + [user]
        )
        .sorted()
        let metadata = Self.texts(data["metadata"], below: "")
        let isDistinct = data["distinct"].bool ?? true
        let same = database.conversations.values.first {
            !$0.isDeleted && $0.isDistinct && $0.participants == participants
        }
        if isDistinct, let same { return found(same.id, metadata, name, by: user) }
        let entry = ModelEntry(number: database.nextNumber(), time: now, position: 1, content: .created)
        var new = ModelConversation(
            id: id, creator: user, createdAt: now, participants: participants, isDistinct: isDistinct,
            metadata: metadata, log: [entry])
        for participant in participants { new.views[participant] = ModelView(joinedAt: 1) }
        database.conversations[id] = new
        for participant in participants { queue(packets(entry, new, for: participant, live: true), for: participant) }
        record.executed(name)
        for value in metadata.values { record.set(value) }
        return .success(object(new, for: user))
    }

    private func found(
        _ id: ConversationID, _ metadata: [String: String], _ name: String, by user: UserID
    ) -> Result<JSONValue, Refusal> {
        show(id, to: user)
        record.answered(name)
        guard let same = database.conversations[id] else { return .failure(Refusal(id: "not_found")) }
        let shown = object(same, for: user)
        return metadata.isEmpty || metadata == same.metadata
            ? .success(shown) : .failure(Refusal(id: "conflict", data: shown))
    }

    func createMessage(_ data: JSONValue, in id: ConversationID, by user: UserID) -> Result<JSONValue, Refusal> {
        guard let message = MessageID(parsing: data["id"].string ?? "") else {
            return .failure(Refusal(id: "invalid_property"))
        }
        let name = "message \(message)"
        if let place = database.places[message], let conversation = database.conversations[place] {
            record.answered(name)
            let known = conversation.message(message).flatMap { conversation.isVisible($0, to: user) ? $0 : nil }
            return .failure(
                Refusal(id: "id_in_use", data: known.map { object($0, in: conversation, for: user) } ?? .object([:])))
        }
        if let refusal = refusal(of: user, in: id) { return .failure(refusal) }
        guard let conversation = database.conversations[id] else { return .failure(Refusal(id: "not_found")) }
        for participant in conversation.participants { show(id, to: participant) }
        let new = ModelMessage(
            id: message, position: conversation.head + 1, sender: user, sentAt: now, parts: data["parts"].array ?? [],
            statuses: Dictionary(conversation.participants.map { ($0, $0 == user ? .read : .sent) }) { $1 })
        database.places[message] = id
        record.executed(name)
        commit(.message(message), in: id) { $0.messages.append(new) }
        return .success(database.conversations[id].map { object(new, in: $0, for: user) } ?? nil)
    }

    /// Returns the reason why a user cannot change a conversation; nil if they can.
    func refusal(of user: UserID, in id: ConversationID) -> Refusal? {
        guard let conversation = database.conversations[id], !conversation.isDeleted,
            let view = conversation.views[user]
        else {
            return Refusal(id: "not_found")
        }
        return view.isIn ? nil : Refusal(id: "access_denied")
    }

    // MARK: Changes of conversations

    func patch(_ operations: [JSONValue], in id: ConversationID, by user: UserID) -> Result<Place, Refusal> {
        if let refusal = refusal(of: user, in: id) { return .failure(refusal) }
        var place = Place()
        let people = operations.filter { $0["property"].string == "participants" }
        if !people.isEmpty { place.position = changeParticipants(people, in: id) }
        let metadata = operations.filter { $0["property"].string?.hasPrefix("metadata") == true }
        if !metadata.isEmpty { place.position = patchMetadata(metadata, in: id) ?? place.position }
        return .success(place)
    }

    private func patchMetadata(_ operations: [JSONValue], in id: ConversationID) -> Int64? {
        guard var metadata = database.conversations[id]?.metadata else { return nil }
        let before = metadata
        var effects: [JSONValue] = []
        for operation in operations {
            let path = String((operation["property"].string ?? "").dropFirst("metadata.".count))
            let isDeletion = operation["operation"].string == "delete"
            let values = isDeletion ? nil : Self.texts(operation["value"], below: path)
            for value in values?.values ?? [:].values { record.set(value) }
            let old = metadata
            metadata.applyMetadataStep(.init(path: path, values: values))
            if metadata != old { effects.append(isDeletion ? Self.emptied(path, by: metadata) : operation) }
        }
        guard metadata != before || !effects.isEmpty else { return nil }
        return commit(.metadata(effects), in: id) { $0.metadata = metadata }
    }

    /// Returns the deletion of the highest group that a deletion has emptied.
    private static func emptied(_ path: String, by metadata: [String: String]) -> JSONValue {
        var keys = path.split(separator: ".")
        while keys.count > 1 {
            let parent = keys.dropLast().joined(separator: ".")
            if metadata.keys.contains(where: { $0.hasPrefix(parent + ".") }) { break }
            keys.removeLast()
        }
        return ["operation": "delete", "property": .string("metadata." + keys.joined(separator: "."))]
    }

    func changeParticipants(_ operations: [JSONValue], in id: ConversationID) -> Int64? {
        guard let conversation = database.conversations[id] else { return nil }
        var participants = Set(conversation.participants)
        for operation in operations {
            guard let user = UserID(parsing: operation["id"].string ?? "") else { continue }
            if operation["operation"].string == "add" { participants.insert(user) } else { participants.remove(user) }
        }
        let old = Set(conversation.participants)
        let (added, removed) = (participants.subtracting(old).sorted(), old.subtracting(participants).sorted())
        guard !added.isEmpty || !removed.isEmpty else { return nil }
        let position = conversation.head + 1
        commit(.participants(added: added, removed: removed, clearsDistinct: conversation.isDistinct), in: id) {
            Self.move(&$0, added, removed, at: position, participants.sorted())
        }
        guard let changed = database.conversations[id] else { return nil }
        for user in added { queue([created(changed, for: user, ["position": .integer(position)])], for: user) }
        return position
    }

    private static func move(
        _ conversation: inout ModelConversation, _ added: [UserID], _ removed: [UserID], at position: Int64,
        _ participants: [UserID]
    ) {
        conversation.participants = participants
        conversation.isDistinct = false
        for user in removed {
            conversation.views[user]?.isIn = false
            conversation.views[user]?.left = (position, conversation.metadata, false)
        }
        for user in added {
            var view = conversation.views[user] ?? ModelView(joinedAt: position)
            (view.isIn, view.left, view.joinedAt, view.isHidden) = (true, nil, position, false)
            conversation.views[user] = view
            for index in conversation.messages.indices where conversation.messages[index].sender != user {
                conversation.messages[index].statuses[user] = .read
            }
        }
    }
}
