// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel

extension Renderer {
    /// Writes a webhook for its app's own server, without the secret. The renderer must be one for paths below
    /// `/apps/:app`.
    public func writeWebhook(_ webhook: Webhook, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("id")
        writer.string(webhook.id.layerID(in: webhook.app))
        writer.key("url")
        writer.string("\(baseURL)/webhooks/\(webhook.id)")
        writer.key("version")
        writer.string(webhook.version.rawValue)
        writer.key("target_url")
        writer.string(webhook.targetURL)
        writer.key("events")
        writer.beginArray()
        for event in webhook.events { writer.string(event) }
        writer.endArray()
        writer.key("status")
        writer.string(webhook.status.rawValue)
        if let reason = webhook.statusReason {
            writer.key("status_reason")
            writer.string(reason)
        }
        writer.key("created_at")
        writer.timestamp(webhook.createdAt)
        writer.key("config")
        writeConfig(webhook.config, into: &writer)
        writer.endObject()
    }

    /// Writes an attempt to deliver an event.
    public func writeDelivery(_ delivery: WebhookDelivery, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("event_id")
        writer.string(delivery.event.lowercaseText)
        writer.key("event_type")
        writer.string(delivery.type)
        writer.key("created_at")
        writer.timestamp(delivery.createdAt)
        writer.key("attempted_at")
        writer.timestamp(delivery.attemptedAt)
        writer.key("attempt")
        writer.int(delivery.attempt)
        writer.key("delivered")
        writer.bool(delivery.isDelivered)
        writer.key("response_status")
        if let status = delivery.responseStatus { writer.int(status) } else { writer.null() }
        writer.key("latency_ms")
        writer.int(
            delivery.latency.components.seconds * 1000 + delivery.latency.components.attoseconds / 1_000_000_000_000_000
        )
        writer.key("error")
        writer.string(delivery.error)
        writer.endObject()
    }

    /// Writes the entries of a webhook's config in the order of ``KeyOrder/javaScript``.
    func writeConfig(_ config: [String: String], into writer: inout JSONWriter) {
        writer.beginObject()
        for (name, value) in KeyOrder.javaScript.sorted(config) {
            writer.key(escaping: name)
            writer.string(value)
        }
        writer.endObject()
    }
}
