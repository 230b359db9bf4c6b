// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import SeededRandom
import StrataModel

@testable import StrataKit

extension ModelServer {
    /// Makes a socket live without a replay. It receives the changes of the last seconds.
    func goLive(_ number: Int) {
        guard let socket = sockets[number] else { return }
        tell(number, since: socket.openedAt - Self.openingMargin)
        sockets[number]?.isLive = true
    }

    func replay(from text: String, on number: Int, _ request: JSONValue) {
        if random.chance(faults.failedReplay) || sockets[number]?.isLive == true {
            return respond(request, success: false, Self.error("service_unavailable"), to: number)
        }
        let time = Self.microseconds(text) ?? 0
        let isComplete = time <= now && !random.chance(faults.incompleteReplay)
        if isComplete { tell(number, since: time - Self.replayMargin) }
        sockets[number]?.isLive = true
        respond(request, success: true, ["complete": .bool(isComplete), "epoch": .string(epoch)], to: number)
    }

    /// The state of a conversation during a replay, from the user's point of view.
    private struct ConversationProgress {
        var isMember = false
        var isHidden = false
        var needsShowing = false
        /// The position up to which the sent object contains changes.
        var shownAt: Int64 = 0
        var owesSummary = false
    }

    private enum Item {
        case change(ModelEntry, ConversationID)
        case own(ModelUserEntry)

        var number: Int {
            switch self {
            case .change(let entry, _): entry.number
            case .own(let entry): entry.number
            }
        }
        var time: Int64 {
            switch self {
            case .change(let entry, _): entry.time
            case .own(let entry): entry.time
            }
        }
    }

    private func items(for user: UserID) -> [Item] {
        let changes = database.conversations.values.filter { $0.views[user] != nil }
            .flatMap { conversation in conversation.log.map { Item.change($0, conversation.id) } }
        return (changes + (database.users[user]?.log ?? []).map { Item.own($0) }).sorted { $0.number < $1.number }
    }

    private func tell(_ number: Int, since: Int64) {
        guard let user = sockets[number]?.user else { return }
        var progress: [ConversationID: ConversationProgress] = [:]
        for item in items(for: user) {
            let packets: [JSONValue]
            switch item {
            case .change(let entry, let id):
                packets = tell(
                    entry, id, to: user, &progress[id, default: ConversationProgress()], isDue: entry.time >= since)
            case .own(let entry):
                packets = tell(
                    entry, to: user, &progress[entry.content.conversation, default: ConversationProgress()],
                    isDue: entry.time >= since)
            }
            for packet in packets { deliver(packet, to: number, at: item.time) }
        }
        for (id, reached) in progress.sorted(by: { $0.key.description < $1.key.description }) where reached.owesSummary
        {
            guard let conversation = database.conversations[id], conversation.isSeen(by: user) else { continue }
            let position = conversation.views[user]?.left?.position ?? conversation.head
            deliver(
                update(conversation, ["position": .integer(position)], counts(of: conversation, for: user)), to: number)
        }
    }

    private func tell(
        _ entry: ModelEntry, _ id: ConversationID, to user: UserID, _ progress: inout ConversationProgress, isDue: Bool
    ) -> [JSONValue] {
        guard let conversation = database.conversations[id] else { return [] }
        let isArrival: Bool
        let isDeparture: Bool
        switch entry.content {
        case .created: (isArrival, isDeparture) = (!isLate(user, in: conversation), false)
        case .participants(let added, let removed, _):
            (isArrival, isDeparture) = (added.contains(user), removed.contains(user))
        default: (isArrival, isDeparture) = (false, false)
        }
        let wasMember = progress.isMember
        if isArrival { (progress.isMember, progress.isHidden) = (true, false) }
        defer {
            if isDeparture { (progress.isMember, progress.needsShowing) = (false, true) }
        }
        guard isDue, wasMember || isArrival, !progress.isHidden else { return [] }
        return told(entry, conversation, to: user, &progress, isArrival: isArrival)
    }

    /// Returns true if the user was not among the first participants.
    private func isLate(_ user: UserID, in conversation: ModelConversation) -> Bool {
        for entry in conversation.log {
            guard case .participants(let added, let removed, _) = entry.content else { continue }
            if removed.contains(user) { return false }
            if added.contains(user) { return true }
        }
        return false
    }

    private func told(
        _ entry: ModelEntry, _ conversation: ModelConversation, to user: UserID, _ progress: inout ConversationProgress,
        isArrival: Bool
    ) -> [JSONValue] {
        if conversation.isDeleted {
            if case .deleted = entry.content { return packets(entry, conversation, for: user, live: false) }
            return []
        }
        progress.owesSummary = true
        let isContained = entry.position <= progress.shownAt
        var told: [JSONValue] = []
        if isArrival {
            guard conversation.isSeen(by: user) else { return [] }
            told.append(created(conversation, for: user, ["position": .integer(entry.position)]))
            progress.shownAt = conversation.views[user]?.left?.position ?? conversation.head
            progress.needsShowing = false
            if case .created = entry.content { return told }
            return told + additions(entry, conversation, to: user)
        }
        switch entry.content {
        case .participants where isContained: return additions(entry, conversation, to: user)
        case .metadata where isContained: return []
        default: return packets(entry, conversation, for: user, live: false)
        }
    }

    /// Returns the additions of current participants, for a change that is already contained in the sent object.
    private func additions(_ entry: ModelEntry, _ conversation: ModelConversation, to user: UserID) -> [JSONValue] {
        guard case .participants(let added, _, _) = entry.content, conversation.views[user]?.isIn == true else {
            return []
        }
        let present = added.filter { conversation.participants.contains($0) }
        guard !present.isEmpty else { return [] }
        var reduced = entry
        reduced.content = .participants(added: present, removed: [], clearsDistinct: false)
        return packets(reduced, conversation, for: user, live: false)
    }

    private func tell(
        _ entry: ModelUserEntry, to user: UserID, _ progress: inout ConversationProgress, isDue: Bool
    ) -> [JSONValue] {
        switch entry.content {
        case .hidden: (progress.isHidden, progress.needsShowing) = (true, true)
        case .shown: progress.isHidden = false
        default: break
        }
        guard isDue else { return [] }
        progress.owesSummary = true
        if let conversation = database.conversations[entry.content.conversation], conversation.isSeen(by: user) {
            switch entry.content {
            case .hidden, .shown: progress.shownAt = conversation.views[user]?.left?.position ?? conversation.head
            default: break
            }
        }
        return packets(entry, for: user)
    }
}
