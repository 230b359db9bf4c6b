// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

extension GatewayServices {
    /// The time limit of a call. The webhooks service may call a receiver.
    private var patience: Duration { .seconds(12) }

    private func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, with request: Request, trace: TraceID
    ) async throws(Failure) -> Response {
        guard let webhooks else { throw .unavailable }
        return try await webhooks.call(endpoint, with: request, for: .within(patience, trace: trace))
    }

    private func request(_ id: WebhookID, of app: AppID, event: UUID? = nil) -> ProtoWebhookRequest {
        .with {
            $0.appID = Data(app)
            $0.id = Data(id)
            if let event { $0.eventID = Data(uuid: event) }
        }
    }

    func createWebhook(_ body: WebhookBody, for server: ServerCaller, trace: TraceID) async throws(Failure) -> Webhook {
        let request = ProtoCreateWebhookRequest.with {
            $0.appID = Data(server.app)
            $0.tokenID = Data(uuid: server.token)
            $0.id = Data(WebhookID.random())
            $0.version = body.version.rawValue
            $0.targetURL = body.targetURL
            $0.events = body.events
            $0.secret = body.secret
            $0.config = body.config
        }
        let answer = try await call(WebhooksAPI.createWebhook, with: request, trace: trace)
        return try Self.converted { try Webhook(answer) }
    }

    func listWebhooks(of app: AppID, trace: TraceID) async throws(Failure) -> [Webhook] {
        let answer = try await call(WebhooksAPI.listWebhooks, with: .with { $0.appID = Data(app) }, trace: trace)
        return try Self.converted { try answer.webhooks.map { try Webhook($0) } }
    }

    /// Returns a webhook after applying the operation of `endpoint`.
    func webhook(
        _ id: WebhookID, of app: AppID,
        by endpoint: Endpoint<ProtoWebhookRequest, ProtoWebhook> = WebhooksAPI.getWebhook,
        trace: TraceID
    ) async throws(Failure) -> Webhook {
        let answer = try await call(endpoint, with: request(id, of: app), trace: trace)
        return try Self.converted { try Webhook(answer) }
    }

    func deleteWebhook(_ id: WebhookID, of app: AppID, trace: TraceID) async throws(Failure) {
        _ = try await call(WebhooksAPI.deleteWebhook, with: request(id, of: app), trace: trace)
    }

    func webhookDeliveries(_ id: WebhookID, of app: AppID, trace: TraceID) async throws(Failure) -> [WebhookDelivery] {
        let answer = try await call(WebhooksAPI.listWebhookDeliveries, with: request(id, of: app), trace: trace)
        return try Self.converted { try answer.deliveries.map { try WebhookDelivery($0) } }
    }

    func redeliver(_ event: UUID, to id: WebhookID, of app: AppID, trace: TraceID) async throws(Failure) {
        _ = try await call(WebhooksAPI.redeliverWebhook, with: request(id, of: app, event: event), trace: trace)
    }
}
