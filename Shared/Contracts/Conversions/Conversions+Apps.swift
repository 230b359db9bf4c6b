// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel

extension Webhook {
    /// Creates a webhook.
    /// - Throws: ``ContractViolation`` naming the invalid field.
    public init(_ proto: ProtoWebhook) throws(ContractViolation) {
        guard let version = WebhookVersion(rawValue: proto.version) else { throw ContractViolation("Webhook.version") }
        guard let status = Status(rawValue: proto.status) else { throw ContractViolation("Webhook.status") }
        self.init(
            id: try WebhookID(contract: proto.id), app: try AppID(contract: proto.appID), version: version,
            targetURL: proto.targetURL,
            events: proto.events, config: proto.config, status: status,
            statusReason: proto.hasStatusReason ? proto.statusReason : nil,
            createdAt: Timestamp(microseconds: proto.createdAt))
    }
}

extension ProtoWebhook {
    /// Creates the message for a webhook, without the secret, which the model does not contain.
    public init(_ webhook: Webhook) {
        self.init()
        id = Data(webhook.id)
        appID = Data(webhook.app)
        version = webhook.version.rawValue
        targetURL = webhook.targetURL
        events = webhook.events
        config = webhook.config
        status = webhook.status.rawValue
        if let reason = webhook.statusReason { statusReason = reason }
        createdAt = webhook.createdAt.microseconds
    }
}

extension WebhookDelivery {
    /// Creates a delivery.
    /// - Throws: ``ContractViolation`` unless the event's id has 16 bytes.
    public init(_ proto: ProtoWebhookDelivery) throws(ContractViolation) {
        guard let event = UUID(contract: proto.eventID) else { throw ContractViolation("WebhookDelivery.event_id") }
        self.init(
            event: event, type: proto.eventType, createdAt: Timestamp(microseconds: proto.createdAt),
            attemptedAt: Timestamp(microseconds: proto.attemptedAt), attempt: Int(proto.attempt),
            isDelivered: proto.isDelivered,
            responseStatus: proto.responseStatus == 0 ? nil : Int(proto.responseStatus),
            latency: .milliseconds(Int64(proto.latencyMs)),
            error: proto.hasError ? proto.error : nil)
    }
}

extension ProtoWebhookDelivery {
    /// Creates the message for a delivery.
    public init(_ delivery: WebhookDelivery) {
        self.init()
        eventID = Data(uuid: delivery.event)
        eventType = delivery.type
        createdAt = delivery.createdAt.microseconds
        attemptedAt = delivery.attemptedAt.microseconds
        attempt = UInt32(clamping: delivery.attempt)
        isDelivered = delivery.isDelivered
        responseStatus = UInt32(clamping: delivery.responseStatus ?? 0)
        let (seconds, attoseconds) = delivery.latency.components
        latencyMs = UInt32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        if let error = delivery.error { self.error = error }
    }
}

extension ProtoMetadataIndex {
    /// Creates the message for an index.
    public init(_ index: MetadataIndex) {
        self.init()
        path = index.path.dotted
        isReady = index.readyAt != nil
        createdAt = index.createdAt.microseconds
        if let readyAt = index.readyAt { self.readyAt = readyAt.microseconds }
    }
}

extension MetadataIndex {
    /// Creates an index. The path was validated when the app created it.
    public init(_ proto: ProtoMetadataIndex) {
        self.init(
            path: MetadataPath(trusted: proto.path), createdAt: Timestamp(microseconds: proto.createdAt),
            readyAt: proto.hasReadyAt ? Timestamp(microseconds: proto.readyAt) : nil)
    }
}

extension ProtoFindConversationsRequest {
    /// The condition on the metadata; nil if the request contains no known condition.
    public var modelCondition: MetadataCondition? {
        get {
            let test: MetadataCondition.Test? =
                switch condition {
                case .equal(let text): .equals(text)
                case .prefix(let text): .hasPrefix(text)
                case .exists: .exists
                case nil: nil
                }
            return test.map { MetadataCondition(path: MetadataPath(trusted: path), test: $0) }
        }
        set {
            path = newValue?.path.dotted ?? ""
            condition =
                switch newValue?.test {
                case .equals(let text): .equal(text)
                case .hasPrefix(let text): .prefix(text)
                case .exists: .exists(true)
                case nil: nil
                }
        }
    }
}
