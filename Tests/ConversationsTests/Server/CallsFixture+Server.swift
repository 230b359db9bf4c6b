// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import Foundation
import RPC
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls of an app's own server. It has the empty string as its user id.
extension CallsFixture {
    private func request(
        _ conversation: ConversationID, by actor: String, name: String?, _ text: String, id: MessageID,
        parts: [ProtoMessagePart]?
    ) -> ProtoSendMessageRequest {
        .with {
            $0.appID = Data(app)
            $0.actor = actor
            $0.byServer = true
            if let name { $0.senderName = name }
            $0.conversationID = Data(conversation)
            $0.id = Data(id)
            $0.parts = parts ?? [ProtoMessagePart(.text(text))]
        }
    }

    /// Sends a message for a user or a bot, or under a name.
    @discardableResult
    func sendByServer(
        _ conversation: ConversationID, by actor: String = "", name: String? = nil, _ text: String = "hello",
        id: MessageID = .random(),
        parts: [ProtoMessagePart]? = nil
    ) async throws -> StrataModel.Message {
        try StrataModel.Message(
            await call(
                ConversationsAPI.sendMessage, request(conversation, by: actor, name: name, text, id: id, parts: parts)
            )
            .message)
    }

    func delay(
        _ conversation: ConversationID, by actor: String = "", name: String? = nil, _ text: String = "later",
        id: MessageID = .random(),
        milliseconds: Int64, typing: Int64 = 0, parts: [ProtoMessagePart]? = nil
    ) async throws {
        try await call(ConversationsAPI.scheduleMessage) {
            $0.message = request(conversation, by: actor, name: name, text, id: id, parts: parts)
            $0.delayMs = milliseconds
            $0.typingMs = typing
        }
    }

    /// Creates a user whose identity is marked as a bot.
    func bot(_ name: String) async throws {
        try await execute(
            """
            INSERT INTO conversations.identity (app_id, user_id, display_name, is_bot) VALUES ('\(app)', '\(name)', 'Bot', true)
            ON CONFLICT (app_id, user_id) DO UPDATE SET is_bot = true
            """)
    }

    /// A worker that sends delayed messages, as a separate instance of the service.
    var delayedMessages: DelayedMessages { messageWorker() }

    /// A worker that sends delayed messages and receives the signals of this fixture's calls.
    func messageWorker(longestPause: Duration = DelayedMessages.longestPause) -> DelayedMessages {
        let logger = ServiceFixture.quietLogger
        let publisher = Publisher(logger: logger) { [published] in published.record($0, $1) }
        return DelayedMessages(
            ServiceContext(
                database: database, directory: IdentityDirectory(database: database), publisher: publisher,
                epoch: EpochSource(database: database),
                participantsLimit: Self.participantsLimit, signals: signals),
            longestPause: longestPause, logger: logger)
    }
}
