// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

@testable import StrataCommand

extension ClientReplica {
    /// Applies a packet.
    /// - Returns: The data that must be loaded before the next packet is applied.
    mutating func apply(_ packet: ReceivedPacket) -> [Need] {
        switch packet.type {
        case "change": return change(packet)
        case "operation":
            allRead(packet)
            return []
        case "response":
            answered(packet)
            return []
        case "signal": return []
        default:
            faults.append("a packet of the type \(packet.type)")
            return []
        }
    }

    private mutating func change(_ packet: ReceivedPacket) -> [Need] {
        guard let id = packet.objectID, let type = packet.objectType else {
            faults.append("a change of nothing: \(packet)")
            return []
        }
        defer { if let conversation = packet.conversationID { reached(packet.body["position"].int, in: conversation) } }
        switch (packet.operation, type) {
        case ("create", _):
            guard packet.data["id"].string == id else {
                faults.append("the object created is not the one that is named: \(packet)")
                return []
            }
            return created(type, id, packet)
        case ("update", _): return updated(type, id, packet)
        case ("delete", _): deleted(type, id, packet)
        default: faults.append("a change that is none: \(packet)")
        }
        return []
    }

    private mutating func created(_ type: String, _ id: String, _ packet: ReceivedPacket) -> [Need] {
        switch type {
        case "Conversation":
            take(conversation: packet.data)
            return [.messages(of: id)]
        case "Message": take(message: packet.data)
        case "Identity": identities[id] = packet.data
        case "Announcement": announcements[id] = packet.data
        default: faults.append("a \(type) was created")
        }
        return []
    }

    private mutating func updated(_ type: String, _ id: String, _ packet: ReceivedPacket) -> [Need] {
        switch type {
        case "Conversation":
            guard let held = conversations[id] else { return [.conversation(id)] }
            conversations[id] = patched(held, packet)
            markReadByAdded(packet, in: id)
        // Changes of unknown objects of other types are ignored, as in stock clients.
        case "Message": if let held = messages[id] { messages[id] = patched(held, packet) }
        case "MessagePart": partUpdated(id, packet)
        case "Identity":
            // Objects have neither property: a library keeps its own presence state and does not know blocks.
            let property = packet.data.array?.first?["property"].string ?? ""
            let isElsewhere = property.hasPrefix("presence.") || property == "blocked"
            if !isElsewhere, let held = identities[id] { identities[id] = patched(held, packet) }
        case "Announcement": if let held = announcements[id] { announcements[id] = patched(held, packet) }
        default: faults.append("a \(type) was updated")
        }
        return []
    }

    /// Updates a part, which is kept within its message. The part's id begins with the message's id.
    private mutating func partUpdated(_ id: String, _ packet: ReceivedPacket) {
        guard let end = id.range(of: "/parts/")?.lowerBound, let message = messages[String(id[..<end])] else { return }
        let parts = (message["parts"].array ?? [])
            .map { part in
                part["id"].string == id ? patchedPart(part, packet) : part
            }
        var changed = message
        changed["parts"] = .array(parts)
        messages[String(id[..<end])] = changed
    }

    /// Fills in missing properties before patching. A library's part has all properties, even those that the server did
    /// not write.
    private mutating func patchedPart(_ part: JSONValue, _ packet: ReceivedPacket) -> JSONValue {
        var whole = part
        for property in ["body", "encoding", "content", "updated_at", "mime_type", "size"]
        where part.object?[property] == nil {
            whole[property] = .null
        }
        return patched(whole, packet)
    }

    private mutating func patched(_ object: JSONValue, _ packet: ReceivedPacket) -> JSONValue {
        var found: [JSONValue] = []
        let known = self
        let patch = LayerPatch { id, value in
            if id.hasPrefix("layer:///messages/"), id.contains("/parts/") { return value }
            if known.identities[id] != nil || known.messages[id] != nil { return .string(id) }
            // `layer-patch` 1.1.2 creates the object from the value.
            guard value["id"].string == id else { return .null }
            found.append(value)
            return .string(id)
        }
        do throws(LayerPatch.Inapplicable) {
            let result = try patch.applying(packet.data, to: object)
            for value in found { take(found: value) }
            return result
        } catch {
            let isOld =
                packet.conversationID.map { (packet.body["position"].int ?? 0) <= (positions[$0] ?? 0) } ?? false
            if !isOld { faults.append("\(error): \(packet)") }
            return object
        }
    }

    private mutating func take(found value: JSONValue) {
        if value["parts"].array != nil {
            take(message: value)
        } else if let id = value["id"].string {
            identities[id] = value
        }
    }

    private mutating func deleted(_ type: String, _ id: String, _ packet: ReceivedPacket) {
        switch type {
        case "Conversation":
            if let position = packet.data["from_position"].int, position > 0 {
                forgetMessages(of: id, upTo: position)
            } else {
                conversations[id] = nil
                forgetMessages(of: id)
            }
        case "Message": messages[id] = nil
        case "Identity": identities[id] = nil
        case "Announcement": announcements[id] = nil
        default: faults.append("a \(type) was deleted")
        }
    }

    /// Marks all earlier messages as read by users who were added. No packet announces this for each message.
    private mutating func markReadByAdded(_ packet: ReceivedPacket, in conversation: String) {
        let added = (packet.data.array ?? []).filter { $0["operation"] == "add" && $0["property"] == "participants" }
            .compactMap { $0["id"].string }
        guard !added.isEmpty, let position = packet.body["position"].int else { return }
        for (id, message) in messages
        where message["conversation"]["id"].string == conversation && (message["position"].int ?? 0) < position * 8192 {
            for user in added { messages[id]?["recipient_status"][user] = "read" }
        }
    }

    /// Marks messages up to the packet's position as read by a user (docs/conformance.md §12.5).
    private mutating func allRead(_ packet: ReceivedPacket) {
        guard packet.body["method"].string == "Conversation.mark_all_read", let conversation = packet.objectID,
            let reader = packet.data["identity"]["id"].string, let position = packet.data["position"].int
        else { return faults.append("an operation that is none: \(packet)") }
        for (id, message) in messages
        where message["conversation"]["id"].string == conversation && (message["position"].int ?? 0) <= position {
            var message = message
            message["recipient_status"][reader] = "read"
            messages[id] = message
        }
        reached(packet.body["position"].int, in: conversation)
    }

    private mutating func answered(_ packet: ReceivedPacket) {
        guard packet.body["success"].bool == true, let id = packet.data["id"].string else { return }
        switch packet.body["method"].string {
        case "Conversation.create": if conversations[id] == nil { take(conversation: packet.data) }
        case "Message.create":
            // A message that was deleted together with its conversation in the meantime is not added again.
            if messages[id] == nil, packet.data["conversation"]["id"].string.map({ conversations[$0] != nil }) == true {
                take(message: packet.data)
            }
        default: break
        }
    }
}
