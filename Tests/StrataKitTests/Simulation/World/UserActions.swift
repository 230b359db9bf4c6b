// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import SeededRandom
import StrataModel

@testable import StrataKit

/// Random actions of users on their devices, through the same calls as the client.
extension SimulatedWorld {
    func act(_ index: Int) {
        let device = devices[index]
        let ids = conversations(of: device)
        guard let id = random.anyOne(of: ids), !random.chance(6) else { return makeConversation(on: device) }
        switch random.int(0..<100) {
        case ..<30: send(in: id, from: device)
        case ..<42: setSteady(in: id, from: device)
        case ..<54: patchMetadata(in: id, from: device)
        case ..<64: changeParticipants(in: id, from: device)
        case ..<78: device.change { store in _ = try store.markRead(try store.unreadMessages(in: id), in: id) }
        case ..<86: deleteMessage(in: id, from: device)
        case ..<90: deleteConversation(id, from: device)
        case ..<94: device.change { try $0.setHistoryGoal(of: id) { _, _, _ in .everything } }
        default: actElsewhere(device.me)
        }
    }

    private func conversations(of device: SimulatedDevice) -> [ConversationID] {
        let ids = try? device.core.read { store in
            try store.db.cachedStatement(sql: "SELECT id FROM conversation WHERE is_visible ORDER BY created_at, id")
                .all([], in: store.db) { ConversationID(rawValue: $0[0]) }
        }
        return ids ?? []
    }

    private func value() -> String { "v\(random.next() % 1_000_000_007)" }

    private func makeConversation(on device: SimulatedDevice) {
        let others = users.filter { $0 != device.me }.shuffled(using: &random)
        let participants = Set(others.prefix(random.int(1...max(1, others.count))) + [device.me]).sorted()
        let new = LocalChange.NewConversation(
            participants: participants, isDistinct: random.chance(60), deliveryReceipts: true, readReceipts: true,
            metadata: random.chance(60) ? ["title": value(), "a.b": value()] : [:])
        note("\(device.name) makes a conversation with \(participants)")
        let metadata = random.chance(40) ? value() : nil
        let message = newMessage()
        device.change { store in
            let known = new.isDistinct ? try store.distinctConversation(of: participants)?.id : nil
            let id = try known ?? store.createDraft(new)
            if let metadata { try store.patchMetadata([.init(path: "a.c", values: ["a.c": metadata])], in: id) }
            try store.sendMessage(message, in: id)
        }
    }

    private func newMessage() -> LocalChange.NewMessage {
        let text = "text \(random.next() % 1000)"
        let parts = (0..<random.int(1...2))
            .map { _ in
                PartRecord(id: random.newUUID(), mimeType: "text/plain", body: Data(text.utf8), size: text.utf8.count)
            }
        return LocalChange.NewMessage(id: MessageID(rawValue: random.newUUID()), parts: parts, notification: nil)
    }

    private func send(in id: ConversationID, from device: SimulatedDevice) {
        for _ in 0..<random.int(1...3) {
            let message = newMessage()
            note("\(device.name) sends \(message.id) in \(id)")
            device.change { try $0.sendMessage(message, in: $0.reader.resolve(id)) }
        }
    }

    private func setSteady(in id: ConversationID, from device: SimulatedDevice) {
        let value = value()
        note("\(device.name) sets steady \(value) in \(id)")
        device.change {
            try $0.patchMetadata([.init(path: DeviceDiary.steadyKey, values: [DeviceDiary.steadyKey: value])], in: id)
        }
    }

    private func patchMetadata(in id: ConversationID, from device: SimulatedDevice) {
        let path = random.anyOne(of: ["title", "a", "a.b", "a.c", "a.d.e", "b"]) ?? "a"
        var steps: [LocalChange.MetadataStep] = []
        switch random.int(0..<4) {
        case 0: steps = [.init(path: path, values: nil)]
        case 1: steps = [.init(path: path, values: ["\(path).x": value(), "\(path).y": value()])]
        case 2: steps = ["b", "a.b"].map { .init(path: $0, values: [$0: value()]) }
        default: steps = [.init(path: path, values: [path: value()])]
        }
        note(
            "\(device.name) patches \(steps.map { "\($0.path)=\(($0.values ?? [:]).sorted { $0.key < $1.key })" }) in \(id)"
        )
        device.change { try $0.patchMetadata(steps, in: id) }
    }

    private func changeParticipants(in id: ConversationID, from device: SimulatedDevice) {
        guard let user = random.anyOne(of: users) else { return }
        let isIn = (try? device.core.read { try $0.conversationRecord(id)?.participants.contains(user) }) ?? false
        note("\(device.name) \(isIn ? "removes" : "adds") \(user) in \(id)")
        device.change { try $0.changeParticipants([.init(user: user, isAdded: !isIn)], in: id) }
    }

    private func deleteMessage(in id: ConversationID, from device: SimulatedDevice) {
        let messages = (try? device.core.read { try $0.messages(in: id).map(\.id) }) ?? []
        guard let message = random.anyOne(of: messages) else { return }
        let mode: DeletionMode = random.chance(70) ? .allParticipants : .myDevices
        note("\(device.name) deletes \(message), \(mode)")
        device.change { try $0.deleteMessage(message, mode: mode) }
    }

    private func deleteConversation(_ id: ConversationID, from device: SimulatedDevice) {
        let mode: DeletionMode = random.chance(25) ? .allParticipants : .myDevices
        let leaves = mode == .myDevices && random.chance(30)
        note("\(device.name) deletes \(id), \(mode) \(leaves)")
        device.change { try $0.deleteConversation(id, mode: mode, leaves: leaves) }
    }

    /// Performs a change by another client of the same user, outside the simulated devices.
    private func actElsewhere(_ user: UserID) {
        let ids = server.database.conversations.values.filter { $0.isTold(to: user) }
            .sorted { $0.id.description < $1.id.description }
        guard let conversation = random.anyOne(of: ids) else { return }
        if random.chance(50) { return server.markAllRead(in: conversation.id, by: user) }
        let own = conversation.messages.filter { $0.sender == user && !$0.isDeleted }
        if let message = random.anyOne(of: own) {
            server.changePart(of: message.id, to: "changed \(random.next() % 1000)")
        }
    }
}

extension SeededGenerator {
    mutating func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }
}
