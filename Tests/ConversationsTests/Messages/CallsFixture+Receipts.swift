// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about receipts, with model types.
extension CallsFixture {
    func markAllRead(_ id: ConversationID, by actor: String, upTo: Position? = nil) async throws {
        try await call(ConversationsAPI.markAllRead) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.conversationID = Data(id)
            if let upTo { $0.upTo = upTo.rawValue }
        }
    }

    func receipt(_ kind: ReceiptKind, _ message: MessageID, by actor: String) async throws {
        try await call(ConversationsAPI.giveReceipt) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.messageID = Data(message)
            $0.kind = kind.rawValue
        }
    }

    @discardableResult
    func receipts(
        _ kind: ReceiptKind, _ messages: [MessageID], in conversation: ConversationID, by actor: String
    ) async throws -> (ignored: [MessageID], position: Position?) {
        let response = try await call(ConversationsAPI.giveReceipts) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.conversationID = Data(conversation)
            $0.messageIds = messages.map { Data($0) }
            $0.kind = kind.rawValue
        }
        return (
            try response.ignored.map { try MessageID(contract: $0) },
            response.place.hasPosition ? Position(response.place.position) : nil
        )
    }
}
