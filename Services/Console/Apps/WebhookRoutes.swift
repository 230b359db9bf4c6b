// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Hummingbird
import RPC
import StrataModel
import SwiftProtobuf

/// Tests of webhooks. Everything else about webhooks goes through the Server API.
struct WebhookRoutes: ConsoleFeature {
    /// Nil: the deployment has no webhooks service.
    let webhooks: RPCClient?

    private struct Answer: Encodable {
        let status: Int
        let latencyMs: Int
        let error: String?
    }

    func add(to routes: ConsoleRoutes) {
        routes.change(.post, "/api/apps/:app/webhooks/:webhook/test") { _, context in
            let (app, id) = (try context.app, try context.uuid("webhook", what: "webhook"))
            return AuditedChange(action: "webhook_test", app: app, target: id.lowercaseText) {
                guard let webhooks else { throw Failure.unavailable }
                let request = ProtoWebhookRequest.with {
                    $0.appID = Data(app)
                    $0.id = Data(uuid: id)
                }
                let answer = try await webhooks.call(
                    WebhooksAPI.testWebhook, with: request, for: .within(.seconds(70)))
                return .json(
                    Answer(
                        status: Int(answer.status), latencyMs: Int(answer.latencyMs),
                        error: answer.error.isEmpty ? nil : answer.error))
            }
        }
    }
}
