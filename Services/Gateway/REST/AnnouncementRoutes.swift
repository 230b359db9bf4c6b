// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import Model
import Wire

/// Announcements, which only the application's own server sends (spec 9).
extension RESTRouter {
    func registerAnnouncements(on router: RESTRoutes) {
        on(router, .get, "/announcements", .signedIn) { request, context throws(Failure) in
            let query = try PageQuery<AnnouncementID>(parameter: Self.parameter(request))
            let reader = try context.reader()
            let (page, total) = try await services.announcements(pageSize: query.pageSize, from: query.fromID, try context.call())
            return try await .list(page, total: total, to: context) {
                services.renderer.write($0, for: reader, version: context.version, into: &$1)
            }
        }
        on(router, .get, "/announcements/:id", .signedIn) { _, context throws(Failure) in
            let announcement = try await services.announcement(try context.announcementID(), try context.call())
            let reader = try context.reader()
            return .json { services.renderer.write(announcement, for: reader, version: context.version, into: &$0) }
        }
        on(router, .post, "/announcements/:id/receipts", .signedIn) { request, context throws(Failure) in
            let body = try ReceiptBody(try await json(request))
            try await services.giveReceipt(try context.announcementID(), kind: body.kind, try context.call())
            return .noContent
        }
        on(router, .delete, "/announcements/:id", .signedIn) { _, context throws(Failure) in
            try await services.deleteAnnouncement(try context.announcementID(), try context.call())
            return .noContent
        }
    }
}

extension RESTContext {
    fileprivate func announcementID() throws(Failure) -> AnnouncementID { try id("id", what: "announcement") }
}
