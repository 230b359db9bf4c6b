// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// A conversation reconstructed from packets: its creation and every later change. Changes can be applied again, in
/// order, with the same result.
struct ConversationReplica: Sendable, Equatable {
    private(set) var metadata: JSONValue = [:]
    private(set) var participants: Set<String> = []
    private(set) var unread = 0
    private(set) var total = 0

    /// Creates a replica from the server's representation of the conversation.
    init(_ conversation: JSONValue) {
        metadata = Self.withoutEmpty(conversation["metadata"])
        participants = Set((conversation["participants"].array ?? []).compactMap { $0["id"].string })
        unread = conversation["unread_message_count"].int ?? 0
        total = conversation["total_message_count"].int ?? 0
    }

    /// Describes the differences from another replica; empty if they are equal.
    func differences(from other: ConversationReplica) -> String {
        var words: [String] = []
        if metadata != other.metadata { words.append("metadata \(metadata) instead of \(other.metadata)") }
        if participants != other.participants {
            words.append("participants \(participants.sorted()) instead of \(other.participants.sorted())")
        }
        if unread != other.unread { words.append("\(unread) unread instead of \(other.unread)") }
        if total != other.total { words.append("\(total) messages instead of \(other.total)") }
        return words.joined(separator: ", ")
    }

    /// Applies a packet about the conversation. A replica exists between its creation and its deletion.
    static func apply(_ packet: ReceivedPacket, to replica: inout ConversationReplica?) {
        guard packet.objectType == "Conversation" else { return }
        switch packet.operation {
        case "create": replica = ConversationReplica(packet.data)
        case "update": replica?.applyOperations(packet.data)
        case "delete": replica = nil
        default: break
        }
    }

    mutating func applyOperations(_ operations: JSONValue) {
        for operation in operations.array ?? [] {
            let path = (operation["property"].string ?? "").split(separator: ".").map(String.init)
            switch path.first {
            case "metadata": applyMetadata(operation, at: path.dropFirst())
            case "participants": applyParticipant(operation)
            case "unread_message_count": unread = operation["value"].int ?? unread
            case "total_message_count": total = operation["value"].int ?? total
            default: break
            }
        }
    }

    private mutating func applyMetadata(_ operation: JSONValue, at path: ArraySlice<String>) {
        let value = operation["operation"].string == "delete" ? JSONValue.null : operation["value"]
        metadata = Self.withoutEmpty(Self.setting(path, to: value, in: metadata))
    }

    private mutating func applyParticipant(_ operation: JSONValue) {
        guard let id = operation["id"].string else { return }
        if operation["operation"].string == "remove" { participants.remove(id) } else { participants.insert(id) }
    }

    private static func setting(_ path: ArraySlice<String>, to value: JSONValue, in tree: JSONValue) -> JSONValue {
        guard let key = path.first else { return value.isNull ? [:] : value }
        var members = tree.object ?? [:]
        if path.count == 1 {
            if value.isNull { members.removeValue(forKey: key) } else { members[key] = value }
        } else {
            members[key] = setting(path.dropFirst(), to: value, in: members[key] ?? [:])
        }
        return .object(members)
    }

    /// Removes empty objects, because an empty object equals an absent one.
    private static func withoutEmpty(_ tree: JSONValue) -> JSONValue {
        guard let members = tree.object else { return tree }
        let kept = members.mapValues(withoutEmpty).filter { $0.value.object?.isEmpty != true }
        return .object(kept)
    }
}
