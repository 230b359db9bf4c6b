// SPDX-License-Identifier: Apache-2.0

import Contracts
import FoundationEssentials
import NetKit
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

/// Handles the calls by which an app's own server administers its webhooks.
struct WebhookHandler: CallHandler {
    let store: HookStore
    let verifier: Verifier
    let tester: WebhookTester
    let secrets: HookSecrets
    let settings: WebhooksSettings

    func register(on router: inout CallRouter) {
        router.register(WebhooksAPI.createWebhook) { try await create($0, deadline: $1.deadline) }
        router.register(WebhooksAPI.listWebhooks) { try await list($0, deadline: $1.deadline) }
        router.register(WebhooksAPI.getWebhook) {
            ProtoWebhook(try await find(try Named($0), deadline: $1.deadline).webhook)
        }
        router.register(WebhooksAPI.activateWebhook) { try await activate(try Named($0), deadline: $1.deadline) }
        router.register(WebhooksAPI.deactivateWebhook) { try await deactivate(try Named($0), deadline: $1.deadline) }
        router.register(WebhooksAPI.deleteWebhook) { try await delete(try Named($0), deadline: $1.deadline) }
        router.register(WebhooksAPI.listWebhookDeliveries) {
            try await deliveries(try Named($0), deadline: $1.deadline)
        }
        router.register(WebhooksAPI.redeliverWebhook) { request, context in
            guard let event = UUID(contract: request.eventID) else {
                throw ContractViolation("WebhookRequest.event_id")
            }
            return try await redeliver(event, of: try Named(request), deadline: context.deadline)
        }
        router.register(WebhooksAPI.testWebhook) { try await test(try Named($0), deadline: $1.deadline) }
    }

    private struct Named {
        let app: AppID
        let id: WebhookID

        init(_ request: ProtoWebhookRequest) throws(ContractViolation) {
            app = try AppID(contract: request.appID)
            id = try WebhookID(contract: request.id)
        }
    }

    private func find(_ named: Named, deadline: ContinuousClock.Instant) async throws(Failure) -> Hook {
        guard let hook = try await store.hook(ReadHooks(app: named.app, id: named.id), deadline: deadline) else {
            throw .notFound("webhook")
        }
        return hook
    }

    func create(_ request: ProtoCreateWebhookRequest, deadline: ContinuousClock.Instant) async throws -> ProtoWebhook {
        guard let version = WebhookVersion(rawValue: request.version) else {
            throw ContractViolation("CreateWebhookRequest.version")
        }
        _ = try TargetURL(request.targetURL, allowsHTTP: settings.allowsHTTP)
        guard request.secret.utf8.count >= settings.secretMinBytes else {
            throw Failure.invalid("secret", reason: "must have at least \(settings.secretMinBytes) bytes")
        }
        var kinds: [WebhookEventKind] = []
        for name in request.events {
            guard let named = WebhookEventKind.kinds(named: name, in: version) else {
                throw Failure.invalid("events", reason: "has an element that is not the name of an event")
            }
            kinds += named.filter { !kinds.contains($0) }
        }
        let webhook = Webhook(
            id: try WebhookID(contract: request.id), app: try AppID(contract: request.appID), version: version,
            targetURL: request.targetURL,
            events: request.events, config: request.config, status: .unverified, statusReason: nil,
            createdAt: Timestamp(microseconds: 0))
        let token = request.tokenID.isEmpty ? nil : UUID(contract: request.tokenID)
        guard token != nil || request.tokenID.isEmpty else { throw ContractViolation("CreateWebhookRequest.token_id") }
        let sealed = try secrets.seal(request.secret, of: webhook.id, in: webhook.app)
        let config = String(decoding: try JSONEncoder().encode(request.config), as: UTF8.self)
        let hook = try await store.create(
            CreateHook(
                webhook: webhook, sealedSecret: sealed, kinds: kinds, config: config, limit: settings.perApp,
                lease: verifier.lease,
                token: token),
            deadline: deadline)
        // The answer does not wait for the receiver. If this instance is killed, another one verifies the hook.
        if hook.webhook.status == .unverified { Task { _ = try? await verifier.verify(hook) } }
        return ProtoWebhook(hook.webhook)
    }

    private func list(
        _ request: ProtoListWebhooksRequest, deadline: ContinuousClock.Instant
    ) async throws -> ProtoListWebhooksResponse {
        let hooks = try await store.hooks(
            ReadHooks(app: try AppID(contract: request.appID), id: nil), deadline: deadline)
        return .with { $0.webhooks = hooks.map { ProtoWebhook($0.webhook) } }
    }

    private func activate(_ named: Named, deadline: ContinuousClock.Instant) async throws -> ProtoWebhook {
        let begun = try await store.hook(
            BeginActivation(app: named.app, id: named.id, lease: verifier.lease), deadline: deadline)
        guard let begun else { throw Failure.notFound("webhook") }
        let verified = try await verifier.verify(begun)
        return ProtoWebhook((verified ?? begun).webhook)
    }

    private func deactivate(_ named: Named, deadline: ContinuousClock.Instant) async throws -> ProtoWebhook {
        let query = DeactivateHook(app: named.app, id: named.id, reason: "Deactivated by the app's server")
        guard let hook = try await store.hook(query, deadline: deadline) else { throw Failure.notFound("webhook") }
        return ProtoWebhook(hook.webhook)
    }

    private func delete(_ named: Named, deadline: ContinuousClock.Instant) async throws -> ProtoEmpty {
        guard try await store.outcome(DeleteHook(app: named.app, id: named.id), deadline: deadline) != nil else {
            throw Failure.notFound("webhook")
        }
        return ProtoEmpty()
    }

    private func deliveries(
        _ named: Named, deadline: ContinuousClock.Instant
    ) async throws -> ProtoListWebhookDeliveriesResponse {
        _ = try await find(named, deadline: deadline)
        let deliveries = try await store.deliveries(of: named.id, in: named.app, deadline: deadline)
        return .with { $0.deliveries = deliveries.map { ProtoWebhookDelivery($0) } }
    }

    private func redeliver(_ event: UUID, of named: Named, deadline: ContinuousClock.Instant) async throws -> ProtoEmpty
    {
        switch try await store.outcome(
            RedeliverEvent(app: named.app, id: named.id, event: event, limit: HookStore.mostAgain), deadline: deadline)
        {
        case "ok": return ProtoEmpty()
        case "inactive": throw Failure(.invalidOperation, "The webhook is not active.")
        case "too_many":
            throw Failure(
                .invalidOperation,
                "The webhook has the maximum of \(HookStore.mostAgain) events waiting to be sent again.")
        default: throw Failure.notFound("delivery")
        }
    }

    private func test(
        _ named: Named, deadline: ContinuousClock.Instant
    ) async throws -> ProtoTestWebhookResponse {
        let answer = try await tester.test(try await find(named, deadline: deadline))
        return .with {
            $0.status = UInt32(clamping: answer.status ?? 0)
            $0.latencyMs = UInt32(clamping: answer.latency.wholeMilliseconds)
            $0.error = answer.fault?.description ?? ""
        }
    }
}
