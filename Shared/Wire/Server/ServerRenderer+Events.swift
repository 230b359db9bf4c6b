// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel

extension ServerRenderer {
    /// Writes the body for a webhook. The text equals `JSON.stringify(JSON.parse(body))`, over which some receivers
    /// verify the signature.
    /// - Parameter config: the webhook's config, omitted if empty.
    public func writeEvent(
        _ event: WebhookEvent, for version: WebhookVersion, config: [String: String], into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("event")
        writer.beginObject()
        if version == .v1 {
            writer.key("created_at")
            writer.timestamp(event.createdAt)
            writer.key("type")
            writer.string(event.kind.name(in: version))
            writer.key("id")
            writer.string(event.id.lowercaseText)
            writeFirstActor(of: event, into: &writer)
        } else {
            writer.key("id")
            writer.string(event.id.lowercaseText)
            writer.key("type")
            writer.string(event.kind.name(in: version))
            writer.key("created_at")
            writer.timestamp(event.createdAt)
        }
        writer.endObject()
        if version != .v1, let actor = event.actor {
            writer.key("actor")
            writeIdentity(actor, into: &writer)
        }
        writeContent(of: event, for: version, into: &writer)
        if !config.isEmpty {
            writer.key("config")
            renderer.writeConfig(config, into: &writer)
        }
        writer.endObject()
    }

    /// Writes the actor for 1.0: a user, or the name under which the app's own server sent a message.
    private func writeFirstActor(of event: WebhookEvent, into writer: inout JSONWriter) {
        if let actor = event.actor {
            writer.key("actor")
            writer.beginObject()
            writer.key("user_id")
            writer.string(actor.userID.rawValue)
            writer.endObject()
        } else if event.kind == .messageCreated, case .message(let message) = event.content,
            case .name(let name) = message.sender
        {
            writer.key("actor")
            writer.beginObject()
            writer.key("name")
            writer.string(name)
            writer.endObject()
        }
    }

    private func writeContent(of event: WebhookEvent, for version: WebhookVersion, into writer: inout JSONWriter) {
        switch event.content {
        case .message(let message):
            writer.key("message")
            writeMessage(message, form: .event, into: &writer)
        case .part(let part, let message):
            writer.key("part")
            if let index = message.parts.firstIndex(where: { $0.id == part }) {
                writePart(at: index, of: message, form: .event, into: &writer)
            } else {
                writer.beginObject()
                writer.key("id")
                writer.string("\(message.id.layerID)/parts/\(part.lowercaseText)")
                writer.key("url")
                writer.string("\(url(of: message.id, in: message.conversationID))/parts/\(part.lowercaseText)")
                writer.endObject()
            }
            writeReference(to: message, into: &writer)
            writer.key("conversation")
            writeReference(to: message.conversationID, into: &writer)
        case .receipts(let status, let first, let last, let conversation):
            writer.key("receipt")
            writer.beginObject()
            writer.key("type")
            writer.string(status == .read ? "Read" : "Delivered")
            writer.key("positions")
            writer.beginObject()
            writer.key("from")
            writer.int(first.wireValue)
            writer.key("to")
            writer.int(last.wireValue)
            writer.endObject()
            writer.endObject()
            writer.key("conversation")
            writeReference(to: conversation, into: &writer)
        case .conversation(let conversation, let effects):
            if let effects, version != .v1 {
                writer.key("changes")
                writeChanges(effects, into: &writer)
            }
            writer.key("conversation")
            writeConversation(conversation, into: &writer)
        case .participation(let users, let conversation):
            if version != .v1 {
                writer.key("changes")
                writer.beginArray()
                for user in users {
                    writer.beginObject()
                    writer.key("id")
                    writer.string(user.userID.layerID)
                    writer.endObject()
                }
                writer.endArray()
            }
            writer.key("conversation")
            writeConversation(conversation, into: &writer)
        case .push(let push):
            writer.key("push")
            writePush(push, into: &writer)
        case .nothing: break
        }
    }

    /// Writes effects as operations of a patch.
    private func writeChanges(_ effects: [MetadataEffect], into writer: inout JSONWriter) {
        writer.beginArray()
        for effect in effects {
            writer.beginObject()
            writer.key("operation")
            writer.string(effect.value == nil ? "delete" : "set")
            writer.key("property")
            writer.string("metadata.\(effect.path.dotted)")
            if let value = effect.value {
                writer.key("value")
                writer.string(value)
            }
            writer.endObject()
        }
        writer.endArray()
    }

    private func writePush(_ push: WebhookEvent.Push, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("id")
        writer.string(push.id.lowercaseText)
        writer.key("recipient")
        writeIdentity(BasicIdentity(userID: push.user), into: &writer)
        writer.key("badge")
        if let badge = push.badge { writer.int(badge) } else { writer.null() }
        writer.key("notification")
        writer.raw(push.notification)
        writer.key("tokens")
        writer.raw(push.tokens)
        if let conversation = push.conversation {
            writer.key("conversation")
            writeReference(to: conversation, into: &writer)
            if let message = push.message {
                writer.key("message")
                writer.beginObject()
                writer.key("id")
                writer.string(message.layerID)
                writer.key("url")
                writer.string(url(of: message, in: conversation))
                writer.endObject()
            }
        }
        writer.endObject()
    }

    private func writeReference(to message: Message, into writer: inout JSONWriter) {
        writer.key("message")
        writer.beginObject()
        writer.key("id")
        writer.string(message.id.layerID)
        writer.key("url")
        writer.string(url(of: message.id, in: message.conversationID))
        writer.endObject()
    }
}
