// SPDX-License-Identifier: Apache-2.0
import SeededRandom
import StrataModel
import TestSupport

@testable import Conversations

extension ConversationModel.Operation {
    /// Creates a random operation, usually about recent messages, so that operations interfere. It never removes the
    /// last participant.
    init(about model: ConversationModel, of users: [String], _ random: inout SeededGenerator) {
        let count = model.messages.count
        let message = max(0, count - 1 - Int.random(in: 0..<12, using: &random))
        let other = users.randomElement(using: &random) ?? "ana"
        switch count == 0 ? 0 : Int.random(in: 0..<100, using: &random) {
        case 0..<32: self = .send(MessageID(rawValue: .init(seededBy: &random)))
        case 32..<42: self = .receipt(.delivery, message: message)
        case 42..<60: self = .receipt(.read, message: message)
        case 60..<64: self = .markAllRead(upTo: nil)
        case 64..<69: self = .markAllRead(upTo: Position(Int64.random(in: 0...model.head.rawValue + 2, using: &random)))
        case 69..<75: self = .deleteMessage(message, .allParticipants)
        case 75..<83: self = .deleteMessage(message, .myDevices)
        case 83..<85: self = .deleteConversation(leave: false, upTo: nil)
        case 85..<87:
            // Usually a recent position, so that some messages are hidden and some are kept.
            let upTo = Position(max(0, model.head.rawValue - Int64.random(in: -1...20, using: &random)))
            self = .deleteConversation(
                leave: Int.random(in: 0..<6, using: &random) == 0 && model.participants.count > 1, upTo: upTo)
        case 87..<88 where model.participants.count > 1: self = .deleteConversation(leave: true, upTo: nil)
        case 88..<91 where model.participants.count > 1: self = .remove(other)
        default: self = .add(other)
        }
    }

    /// Returns true if `user` is not a participant after the operation, requested by them or not.
    func puts(out user: String, askedBy actor: String) -> Bool {
        switch self {
        case .remove(let other): other == user
        case .deleteConversation(let leave, _): leave && actor == user
        default: false
        }
    }
}

extension CallsFixture {
    /// Carries out an operation. Message indices refer to `model`.
    func perform(
        _ operation: ConversationModel.Operation, by user: String, in id: ConversationID, _ model: ConversationModel
    ) async throws {
        switch operation {
        case .send(let message): try await send(id, by: user, id: message)
        case .receipt(let kind, let index): try await receipt(kind, model.messages[index].id, by: user)
        case .markAllRead(let upTo): try await markAllRead(id, by: user, upTo: upTo)
        case .deleteMessage(let index, let mode): try await delete(model.messages[index].id, by: user, mode)
        case .deleteConversation(let leave, let upTo):
            try await delete(id, by: user, .myDevices, leave: leave, upTo: upTo)
        case .add(let other): try await patch(id, by: user, [add(other)])
        case .remove(let other): try await patch(id, by: user, [remove(other)])
        }
    }
}
