// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

struct WebhookScene {
    /// Two instances with a short retry schedule, so that a failing receiver shows all its effects quickly. The
    /// schedule is long enough for both instances to reread the list of hooks.
    static let size = Cluster.Size(
        webhooks: 2,
        settings: [
            "STRATA_WEBHOOKS_ALLOW_HTTP": "true", "STRATA_WEBHOOKS_ALLOW_PRIVATE": "127.0.0.0/8",
            "STRATA_WEBHOOKS_TIMEOUT": "5s",
            "STRATA_WEBHOOKS_RETRY_AFTER": "100ms,200ms,300ms", "STRATA_WEBHOOKS_RETRY_EVERY": "4s",
            "STRATA_WEBHOOKS_RETRY_FOR": "4s",
        ])

    static let allEvents: JSONValue = [
        "Message.created", "Message.updated", "Message.deleted", "MessagePart.created", "MessagePart.updated",
        "MessagePart.deleted",
        "Receipt.created",
        "Conversation.created", "Conversation.updated", "Conversation.deleted", "Participation.created",
        "Participation.deleted",
    ]

    /// A secret with the default minimum length.
    static let secret = "0123456789abcdef"

    let cluster: Cluster
    let receiver: WebhookReceiver
    let server: AppServer

    func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> RESTResponse {
        try await server.call(method, "/webhooks\(path)", body)
    }

    func register(
        _ path: String, version: String = "3.0", events: JSONValue = WebhookScene.allEvents, url: String? = nil
    ) async throws -> String {
        try await server.register([
            "version": .string(version), "target_url": .string(url ?? receiver.url(path)), "events": events,
            "secret": .string(Self.secret), "config": ["place": "test"],
        ])
    }

    @discardableResult
    func reach(_ status: String, _ id: String) async throws -> JSONValue {
        let deadline = ContinuousClock.now + Waiting.limit
        while .now < deadline {
            let webhook = try await call("GET", "/\(id)").json
            if webhook["status"].string == status { return webhook }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw UnexpectedAnswer("webhook \(id) is not \(status)", #fileID, #line)
    }

    func active(
        _ path: String, version: String = "3.0", events: JSONValue = WebhookScene.allEvents
    ) async throws -> String {
        let id = try await register(path, version: version, events: events)
        try await server.awaitActive(webhook: id)
        return id
    }

    static func with(_ size: Cluster.Size = WebhookScene.size, _ body: (WebhookScene) async throws -> Void) async throws
    {
        try await Cluster.with(size) { cluster in
            let receiver = try await WebhookReceiver.start()
            let scene = WebhookScene(cluster: cluster, receiver: receiver, server: AppServer(try await cluster.app()))
            do {
                try await body(scene)
            } catch {
                await receiver.stop()
                throw error
            }
            await receiver.stop()
        }
    }
}
