// SPDX-License-Identifier: Apache-2.0
import FanOut
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// Routes for announcements, which only the app's own server sends (docs/conformance.md §9).
struct AnnouncementRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let announcements = routes.signedIn("/announcements")
        announcements.on(.get, use: list)
        announcements.on(.get, ":id", use: load)
        announcements.on(.post, ":id/receipts", use: giveReceipt)
        announcements.on(.delete, ":id", use: delete)
    }

    private func list(
        _ asked: ListRequest<PageQuery<AnnouncementID>>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let page = try await services.announcements(
            pageSize: asked.query.pageSize, from: asked.query.fromID, for: context.call)
        let renderer = self.renderer(for: context)
        return try await .list(
            page.objects, headers: headers(of: page, in: context, list: "/announcements", query: asked.text),
            to: context
        ) {
            renderer.writeAnnouncement($0, for: context.reader, version: context.version, into: &$1)
        }
    }

    private func load(_ id: AnnouncementID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let announcement = try await services.announcement(id, for: context.call)
        return .json {
            renderer(for: context)
                .writeAnnouncement(announcement, for: context.reader, version: context.version, into: &$0)
        }
    }

    private func giveReceipt(
        _ asked: ObjectRequest<AnnouncementID, ReceiptBody>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.giveReceipt(asked.id, kind: asked.content.kind, for: context.call))
    }

    private func delete(_ id: AnnouncementID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.deleteAnnouncement(id, for: context.call))
    }
}

/// Routes by which an app's own server sends announcements and notifications (docs/server-api.md).
struct ServerAnnouncementRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        routes.server("/announcements").on(.post, use: announce)
        routes.server("/notifications").on(.post, use: notify)
    }

    private func announce(_ asked: AnnounceRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let (id, body) = (asked.id, asked.body)
        let sent = try await services.announce(
            body, as: id, in: context.app, named: context.idempotencyKey, trace: context.request.trace)
        return .json(.accepted) {
            renderer(for: context)
                .writeSentAnnouncement(
                    id, sender: sent.sender, recipients: body.recipients, sentAt: sent.sentAt, parts: sent.parts,
                    version: context.version, into: &$0)
        }
    }

    private func notify(_ body: NotificationBody, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await services.notify(body, in: context.app, as: context.idempotencyKey, trace: context.request.trace)
        return RESTAnswer(status: .accepted)
    }
}

/// A request to send an announcement. The id makes it repeatable.
private struct AnnounceRequest: RESTRequest {
    let id: AnnouncementID
    let body: AnnouncementBody

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        let given = try CreationID(request, in: context, for: services).id
        // With an idempotency key, a repetition has the same id.
        let server = context.server.map { UserKey(app: $0.app, user: .appServer) }
        let named = server.flatMap { server in context.idempotencyKey.map { $0.derivedID(by: server, "announcement") } }
        body = try AnnouncementBody(
            try await request.object(context), version: context.serverVersion ?? .v3,
            partsLimit: services.settings.objects.parts)
        id =
            given.map { AnnouncementID(rawValue: $0) } ?? body.id ?? named.map { AnnouncementID(rawValue: $0) }
            ?? .random()
    }
}

extension NotificationBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try NotificationBody(try await request.object(context))
    }
}
