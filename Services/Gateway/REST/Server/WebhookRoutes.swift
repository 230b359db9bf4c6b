// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// Routes by which an app's own server manages its webhooks.
struct WebhookRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let webhooks = routes.server("/webhooks")
        webhooks.on(.post, use: create)
        webhooks.on(.get, use: list)
        webhooks.on(.get, ":id", use: load)
        webhooks.on(.delete, ":id", use: delete)
        webhooks.on(.post, ":id/activate") { (id: WebhookID, context) throws(Failure) in
            try await answer(id, by: WebhooksAPI.activateWebhook, in: context)
        }
        webhooks.on(.post, ":id/deactivate") { (id: WebhookID, context) throws(Failure) in
            try await answer(id, by: WebhooksAPI.deactivateWebhook, in: context)
        }
        webhooks.on(.get, ":id/deliveries", use: deliveries)
        webhooks.on(.post, ":id/deliveries/:event/redeliver", use: redeliver)
    }

    private func create(_ body: WebhookBody, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let webhook = try await services.createWebhook(body, for: context.server, trace: context.request.trace)
        return .json(.created) { renderer(for: context).writeWebhook(webhook, into: &$0) }
    }

    private func list(in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let webhooks = try await services.listWebhooks(of: context.app, trace: context.request.trace)
        return .list(webhooks, total: webhooks.count) { renderer(for: context).writeWebhook($0, into: &$1) }
    }

    private func load(_ id: WebhookID, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await answer(id, by: WebhooksAPI.getWebhook, in: context)
    }

    private func answer(
        _ id: WebhookID, by endpoint: Endpoint<ProtoWebhookRequest, ProtoWebhook>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let webhook = try await services.webhook(id, of: context.app, by: endpoint, trace: context.request.trace)
        return .json { renderer(for: context).writeWebhook(webhook, into: &$0) }
    }

    private func delete(_ id: WebhookID, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await services.deleteWebhook(id, of: context.app, trace: context.request.trace)
        return .noContent
    }

    private func deliveries(_ id: WebhookID, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let deliveries = try await services.webhookDeliveries(id, of: context.app, trace: context.request.trace)
        return .list(deliveries, total: deliveries.count) { renderer(for: context).writeDelivery($0, into: &$1) }
    }

    private func redeliver(_ asked: Redelivery, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await services.redeliver(asked.event, to: asked.webhook, of: context.app, trace: context.request.trace)
        return RESTAnswer(status: .accepted)
    }
}

private struct Redelivery: RESTRequest {
    let webhook: WebhookID
    let event: UUID

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        webhook = try WebhookID(request, in: context, for: services)
        guard let event = context.parameters.get("event").flatMap({ UUID(uuidString: $0) }) else {
            throw .notFound("delivery")
        }
        self.event = event
    }
}

extension WebhookID: RESTRequest {
    /// Creates the id from a UUID, or from the whole id escaped to one segment of the path.
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        guard let app = context.server?.app, let text = context.parameters.get("id"),
            let id = WebhookID(parsing: text.removingPercentEncoding ?? text, in: app)
        else { throw .notFound("webhook") }
        self = id
    }
}

extension WebhookBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try WebhookBody(try await request.object(context))
    }
}
