// SPDX-License-Identifier: Apache-2.0
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
