// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("queries for announcements")
struct AnnouncementQueryTests {
    static let rows: [PropertyRow<Announcement>] = [
        .init("identifier", .lists, Example.announcement(1), equal: "1"),
        .init("position", .order, Int64(1), equal: "1", greater: "2"),
        .init("sentAt", .order, Example.date(20), equal: "2", less: "1"),
        .init("receivedAt", .order, Example.date(11), equal: "1", greater: "2"),
        .init("isSent", .equality, true, equal: "1 2"),
        .init("isUnread", .equality, false, equal: "2"),
        .init("sender.userID", .lists, Example.user("ana"), equal: "1", absent: "2"),
        .init("sender.displayName", .lists, "System", equal: "2"),
        .init("parts.MIMEType", .lists, "image/png", equal: "2"),
        .init("parts.size", .numbers, 2, equal: "1", greater: "2"),
        .init("parts.transferStatus", .lists, 3, equal: "2"),
    ]

    @Test("each property takes its operators and no others", .proves("QRY-2", "QRY-4"), arguments: rows)
    func properties(row: PropertyRow<Announcement>) throws { try row.check() }

    @Test("an announcement is in no conversation", .proves("ANN-1"))
    func conversation() {
        expectStrataError(.unqueryableProperty) {
            _ = try Query<Announcement>.Predicate.where("conversation", .isEqualTo, nil)
        }
    }

    @Test("each property can be sorted by", arguments: rows.filter { !$0.name.hasPrefix("parts.") }.map(\.name))
    func sorting(name: String) throws {
        let query = Query<Announcement>(sortBy: [try .init(name, ascending: true)])
        #expect(try QueryStore().labels(query) == ["1", "2"])
    }

    @Test("a pending deletion excludes an announcement from queries", .proves("QRY-1"))
    func hidden() throws {
        #expect(try QueryStore().list(Query<Announcement>()) == ["1", "2"])
        #expect(try QueryStore().list(Query<Announcement>(where: { $0.id == Example.announcement(3) })) == [])
    }
}

@Suite("queries for identities")
struct IdentityQueryTests {
    static let rows: [PropertyRow<Identity>] = [
        .init("identifier", .lists, Example.user("ana").layerID, equal: "ana"),
        .init("userID", .lists, "ana", equal: "ana"),
        .init("displayName", .text, "Ana", equal: "ana", absent: "me"),
        .init("firstName", .text, "Ana", equal: "ana", absent: "me"),
        .init("lastName", .text, "López", equal: "ana", absent: "me"),
        .init("emailAddress", .text, "ana@example.com", equal: "ana", absent: "me"),
        .init("phoneNumber", .lists, "+51", equal: "ana", absent: "me"),
        .init("avatarImageURL", .lists, "https://example.com/ana", equal: "ana", absent: "me"),
        .init("publicKey", .lists, "key", equal: "ana", absent: "me"),
        .init("followed", .lists, true, equal: "ana"),
        .init("blocked", .lists, true, equal: "ben"),
        .init("presenceStatus", .lists, PresenceStatus.available, equal: "ana", absent: "ben"),
        .init("lastSeenAt", .order, Example.date(100), equal: "ana", greater: "ben", absent: "me"),
        .init("metadata", .equality, ["team": "blue"], equal: "ben"),
        .init("metadata.team", .lists, "red", equal: "ana", absent: "me"),
        .init("metadata.office.city", .lists, "Lima", equal: "ana", absent: "ben me"),
    ]

    @Test(
        "each property takes its operators and no others", .proves("QRY-2", "QRY-4", "QRY-9", "QRY-11"), arguments: rows
    )
    func properties(row: PropertyRow<Identity>) throws { try row.check() }

    @Test(
        "% is any run of characters and _ one, and letters of ASCII match in either case", .proves("QRY-9"),
        arguments: [
            ("a%", "ana"), ("%N%", "ana ben"), ("_en", "ben"), ("_", ""), ("", ""), ("%", "ana ben"), ("ANA", "ana"),
            ("a'%", ""),
        ])
    func like(pattern: String, expected: String) throws {
        let query = Query<Identity>(where: { $0.displayName.isLike(pattern) })
        #expect(try QueryStore().list(query).joined(separator: " ") == expected)
    }

    @Test("letters beyond ASCII match in the same case only", .proves("QRY-9"))
    func likeBeyondASCII() throws {
        #expect(try QueryStore().list(Query<Identity>(where: { $0.lastName.isLike("L_PEZ") })) == ["ana"])
        #expect(try QueryStore().list(Query<Identity>(where: { $0.lastName.isLike("LÓPEZ") })) == [])
    }

    @Test("a text that names no presence status is refused")
    func unknownStatus() {
        expectStrataError(.unsupportedPredicate) {
            _ = try Query<Identity>.Predicate.where("presenceStatus", .isEqualTo, "asleep")
        }
    }
}
