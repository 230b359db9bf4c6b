// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOHTTP1
import StrataModel
import StrataWire

/// Sends test events, so that an operator sees the answer of a webhook's receiver. A test is not recorded, and changes
/// neither the webhook nor its deliveries.
struct WebhookTester: Sendable {
    /// The answer of a receiver.
    struct Answer: Sendable {
        /// The HTTP status; nil: there was no answer.
        let status: Int?
        /// The time from the beginning of the request to the answer or the failure.
        let latency: Duration
        /// The reason why the receiver did not accept the event; nil: it did.
        let fault: ReceiverFault?
    }

    private let sender: HTTPSender
    private let secrets: HookSecrets
    private let settings: WebhooksSettings
    private let renderer: Renderer
    private let room = VerificationRoom()

    /// The time limit of a test, because the operator waits for its result.
    private static let longest = Duration.seconds(9)

    init(sender: HTTPSender, secrets: HookSecrets, settings: WebhooksSettings) {
        (self.sender, self.secrets, self.settings) = (sender, secrets, settings)
        renderer = Renderer(baseURL: settings.publicURL, webSocketURL: settings.publicURL)
    }

    /// Sends an event of the type `Test` to a hook of any status, and returns the answer.
    /// - Throws: `rate_limit_exceeded` if too many tests are in progress; `invalid_operation` if the hook's secret
    ///   cannot be decrypted; `invalid_property` if the operator has forbidden the target; `service_unavailable` if the
    ///   receiver was not called.
    func test(_ hook: Hook) async throws(Failure) -> Answer {
        let webhook = hook.webhook
        let target = try TargetURL(webhook.targetURL, allowsHTTP: settings.allowsHTTP)
        guard let key = try? secrets.open(hook.sealedSecret, of: webhook.id, in: webhook.app) else {
            throw Failure(.invalidOperation, "The secret of the webhook cannot be decrypted.")
        }
        guard room.begin(webhook.id, of: webhook.app, at: target.authority) else {
            throw Failure(.rateLimitExceeded, "Too many tests are in progress, please try again.")
        }
        defer { room.end(webhook.id, of: webhook.app, at: target.authority) }
        let microseconds = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let event = WebhookEvent(
            id: UUID(), kind: .test, createdAt: Timestamp(microseconds: microseconds), actor: nil, content: .nothing)
        return try await send(
            EventRequest(event, to: webhook, signedWith: key, renderer: renderer), to: target, webhook)
    }

    private func send(
        _ request: EventRequest, to target: TargetURL, _ webhook: Webhook
    ) async throws(Failure) -> Answer {
        let begun = ContinuousClock.now
        do throws(HTTPSender.Problem) {
            let answer = try await sender.send(
                .POST, target.text, to: target, of: webhook.app, headers: request.headers, body: request.body,
                limit: Self.longest)
            let isAccepted = (200..<300).contains(answer.status)
            return Answer(
                status: answer.status, latency: .now - begun,
                fault: isAccepted ? nil : .status(answer.status, answer.reason))
        } catch {
            guard case .failed(let reason) = error else { throw .unavailable }
            return Answer(status: nil, latency: .now - begun, fault: .clause(reason))
        }
    }
}
