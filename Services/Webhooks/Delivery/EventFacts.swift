// SPDX-License-Identifier: Apache-2.0

import Contracts
import FoundationEssentials
import NIOCore
import StrataModel
import StrataWire
import SwiftProtobuf

/// Decodes the recorded data of an event (Shared/Schema, webhooks).
struct EventFacts {
    /// Invalid recorded data. It indicates a bug in Strata.
    struct Malformed: Error {
        let member: String
    }

    private let facts: JSONValue
    private let parts: [UInt8]?
    private let subject: UUID

    init(_ event: RecordedEvent) throws {
        facts = try JSONReader.parse(event.facts)
        parts = event.parts
        subject = event.subject
    }

    static func event(_ recorded: RecordedEvent) throws -> WebhookEvent {
        guard let kind = WebhookEventKind(rawValue: recorded.kind) else { throw Malformed(member: "kind") }
        let facts = try EventFacts(recorded)
        return WebhookEvent(
            id: recorded.id, kind: kind, createdAt: recorded.createdAt,
            actor: facts.facts["actor"]?.stringValue.map { facts.identity(UserID(trusted: $0)) },
            content: try facts.content(of: kind))
    }

    private func content(of kind: WebhookEventKind) throws -> WebhookEvent.Content {
        switch kind {
        case .messageCreated, .messageUpdated, .messageDeleted, .messageDelivered, .messageRead: .message(try message())
        case .partCreated, .partUpdated, .partDeleted: .part(try uuid(facts["part"], "part"), of: try message())
        case .receiptCreated:
            .receipts(
                try integer(facts["status"], "status") == 2 ? .read : .delivered,
                from: Position(try integer(facts["from"], "from")),
                to: Position(try integer(facts["to"], "to")), in: ConversationID(rawValue: subject))
        case .conversationCreated, .conversationUpdated, .conversationDeleted, .participantsUpdated:
            .conversation(try conversation(), effects: kind == .conversationUpdated ? try effects() : nil)
        case .participationCreated, .participationDeleted:
            .participation(
                try texts(facts["users"], "users").map { identity(UserID(trusted: $0)) }, in: try conversation())
        case .push: .push(try push())
        case .test: throw Malformed(member: "kind")
        }
    }

    private func message() throws -> StrataModel.Message {
        guard let message = facts["message"] else { throw Malformed(member: "message") }
        let sender = message["sender"]?.stringValue ?? ""
        let users = message["recipients"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let statuses = message["statuses"]?.arrayValue?.compactMap(\.integerValue) ?? []
        let stored = try parts.map {
            try ProtoMessageParts(serializedBytes: $0).parts
                .map { part throws(ContractViolation) in try MessagePart(part) }
        }
        return StrataModel.Message(
            id: MessageID(rawValue: try uuid(message["message_id"], "message_id")),
            conversationID: ConversationID(rawValue: subject),
            position: Position(try integer(message["position"], "position")),
            ordinal: try integer(message["ordinal"], "ordinal"),
            sender: sender.isEmpty
                ? .name(message["sender_name"]?.stringValue ?? "") : .user(identity(UserID(trusted: sender))),
            sentAt: Timestamp(microseconds: try integer(message["sent_at"], "sent_at")), parts: stored ?? [],
            // The lower two bits are the status. The higher bits control what other participants are shown.
            recipients: zip(users, statuses)
                .map {
                    StrataModel.Message.Recipient(
                        userID: UserID(trusted: $0), status: RecipientStatus(rawValue: Int($1 & 3)) ?? .sent)
                },
            notification: nil, updatedAt: message["updated_at"]?.integerValue.map { Timestamp(microseconds: $0) },
            receiptPolicy: ReceiptPolicy(
                rawValue: Int32(truncatingIfNeeded: message["receipt_policy"]?.integerValue ?? 0)))
    }

    private func conversation() throws -> Conversation {
        guard let conversation = facts["conversation"] else { throw Malformed(member: "conversation") }
        // The metadata is missing if the tree is too large.
        let leaves = try conversation["metadata"]?.arrayValue?
            .map { pair in
                guard let path = pair[0]?.stringValue, let value = pair[1]?.stringValue else {
                    throw Malformed(member: "metadata")
                }
                return MetadataLeaf(path: MetadataPath(trusted: path), value: value)
            }
        return Conversation(
            id: ConversationID(rawValue: subject),
            createdAt: Timestamp(microseconds: try integer(conversation["created_at"], "created_at")),
            isDistinct: conversation["is_distinct"]?.boolValue ?? false,
            participants: try texts(conversation["participants"], "participants").map { identity(UserID(trusted: $0)) },
            metadata: leaves.map { MetadataTree(leaves: $0) }, position: Position(0), epoch: "")
    }

    private func effects() throws -> [MetadataEffect] {
        try (facts["effects"]?.arrayValue ?? [])
            .map { pair in
                guard let path = pair[0]?.stringValue else { throw Malformed(member: "effects") }
                return MetadataEffect(path: MetadataPath(trusted: path), value: pair[1]?.stringValue)
            }
    }

    private func push() throws -> WebhookEvent.Push {
        guard let user = facts["user"]?.stringValue else { throw Malformed(member: "user") }
        return WebhookEvent.Push(
            id: try uuid(facts["push"], "push"), user: UserID(trusted: user),
            badge: facts["badge"]?.integerValue.map { Int($0) },
            notification: text(facts["notification"] ?? .null), tokens: text(facts["tokens"] ?? .array([])),
            conversation: try facts["conversation_id"]?.stringValue
                .map { ConversationID(rawValue: try uuid(.string($0), "conversation_id")) },
            message: try facts["message_id"]?.stringValue
                .map { MessageID(rawValue: try uuid(.string($0), "message_id")) })
    }

    // MARK: Values

    private func identity(_ user: UserID) -> BasicIdentity {
        let known = facts["identities"]?[user.rawValue]
        return BasicIdentity(
            userID: user, displayName: known?["display_name"]?.stringValue, avatarURL: known?["avatar_url"]?.stringValue
        )
    }

    private func uuid(_ value: JSONValue?, _ member: String) throws -> UUID {
        guard let uuid = value?.stringValue.flatMap({ UUID(uuidString: $0) }) else { throw Malformed(member: member) }
        return uuid
    }

    private func integer(_ value: JSONValue?, _ member: String) throws -> Int64 {
        guard let integer = value?.integerValue else { throw Malformed(member: member) }
        return integer
    }

    private func texts(_ value: JSONValue?, _ member: String) throws -> [String] {
        guard let elements = value?.arrayValue else { throw Malformed(member: member) }
        return elements.compactMap(\.stringValue)
    }

    private func text(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.javaScript(value)
        return String(buffer: writer.buffer)
    }
}
