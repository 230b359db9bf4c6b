// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataCommand
import Synchronization
import TestCluster

/// The app's own server: it uses the Server API, and receives messages through a webhook.
final class DegradedServer: Sendable {
    /// Settings that allow receivers on this machine without TLS, and that shorten the retry delays.
    static let settings = [
        "STRATA_WEBHOOKS_ALLOW_HTTP": "true", "STRATA_WEBHOOKS_ALLOW_PRIVATE": "127.0.0.0/8",
        "STRATA_WEBHOOKS_TIMEOUT": "1s",
        "STRATA_WEBHOOKS_RETRY_AFTER": "100ms,500ms,1s", "STRATA_WEBHOOKS_RETRY_EVERY": "1s",
        "STRATA_WEBHOOKS_RETRY_FOR": "1h",
    ]

    private static let path = "/messages"

    private let server: AppServer
    private let webhook: String
    private let receiver: WebhookReceiver
    /// The messages whose sending was acknowledged.
    private let accepted = Mutex<Set<String>>([])

    private init(_ server: AppServer, webhook: String, _ receiver: WebhookReceiver) {
        (self.server, self.webhook, self.receiver) = (server, webhook, receiver)
    }

    /// Registers the webhook. It becomes active later.
    static func start(_ app: TestApp) async throws -> DegradedServer {
        let (server, receiver) = (AppServer(app), try await WebhookReceiver.start())
        let webhook = try await server.register([
            "version": "3.0", "target_url": .string(receiver.url(path)), "events": ["Message.created"],
            "secret": "of a test's receiver",
        ])
        return DegradedServer(server, webhook: webhook, receiver)
    }

    /// Waits until the webhook is active. From then on all events are recorded for it.
    func awaitActive() async throws { try await server.awaitActive(webhook: webhook) }

    /// - Parameter path: The path below `/apps/:app`.
    func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> RESTResponse {
        try await server.call(method, path, body)
    }

    func send(_ text: String, as user: TestUser, to conversation: Conversation) async throws -> RESTResponse {
        var message = TestUser.message(text)
        message["sender_id"] = .string(user.identity)
        return noted(try await call("POST", conversation.path + "/messages", message))
    }

    /// Notes the answer to a sent message. If the message was accepted, the webhook must deliver it eventually.
    func noted(_ answer: RESTResponse) -> RESTResponse {
        if answer.isSuccess, let message = Self.message(of: answer) { accepted.withLock { _ = $0.insert(message) } }
        return answer
    }

    func isDelivered(messageOf answer: RESTResponse, within limit: Duration) async -> Bool {
        guard let message = Self.message(of: answer) else { return false }
        let deadline = ContinuousClock.now + limit
        while !delivered.contains(message) {
            guard ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(20))) != nil else {
                return false
            }
        }
        return true
    }

    func undelivered(within limit: Duration) async -> Set<String> {
        let (all, deadline) = (accepted.withLock { $0 }, ContinuousClock.now + limit)
        while true {
            let undelivered = all.subtracting(delivered)
            if undelivered.isEmpty || ContinuousClock.now >= deadline { return undelivered }
            guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { return undelivered }
        }
    }

    func stop() async { await receiver.stop() }

    private var delivered: Set<String> { Set(receiver.events(at: Self.path).compactMap(\.id)) }

    private static func message(of answer: RESTResponse) -> String? {
        answer.json["id"].string?.split(separator: "/").last.map { $0.lowercased() }
    }
}
