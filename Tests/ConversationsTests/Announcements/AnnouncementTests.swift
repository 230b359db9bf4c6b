// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct AnnouncementTests {
        @Test("an announcement reaches each recipient's list and log, and no other user's")
        func send() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                let first = try await calls.announce(["ana", "ben", "ana"])
                let second = try await calls.announce(["ana"], from: "Boss")
                let list = try await calls.announcements(of: "ana")
                #expect(list.map(\.id) == [second, first] && list.map(\.sender) == [.name("Boss"), .name("Support")])
                #expect(list.allSatisfy { $0.status == .sent && $0.parts.count == 1 })
                #expect(try await calls.announcements(of: "ben").map(\.id) == [first])
                #expect(try await calls.announcements(of: "cleo").isEmpty)
                let told = try calls.notices("ana")
                    .compactMap { if case .change(let change) = $0 { change } else { nil } }
                #expect(told.map(\.content) == list.reversed().map { .announced($0) })
                #expect(try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges == told)
                #expect(try await calls.announcements(of: "ana", from: second).map(\.id) == [first])
                #expect(
                    try await calls.refusal { try await calls.announcements(of: "ana", from: .random()) }?.detail
                        == .property("from_id"))
                // A repetition notifies no user again.
                #expect(try await calls.refusal { try await calls.announce(["ana"], id: first) }?.code == .idInUse)
                #expect(try calls.notices("ana").count == 2)
                #expect(try await calls.refusal { try await calls.announce([]) }?.detail == .property("recipients"))
            }
        }

        @Test("an error names an unknown or suspended app, and the database is unchanged")
        func unknownApp() async throws {
            try await CallsFixture.run { calls in
                #expect(try await calls.refusal { try await calls.announce(["ana"]) }?.code == .invalidAppID)
                try await calls.register(suspended: true)
                #expect(try await calls.refusal { try await calls.announce(["ana"]) }?.code == .appSuspended)
                #expect(try await calls.announcements(of: "ana").isEmpty && calls.notices("ana").isEmpty)
            }
        }

        @Test("announcement receipts move forward, and only their reader receives each change, once")
        func receipts() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                let id = try await calls.announce(["ana", "ben"])
                for kind in [ReceiptKind.delivery, .delivery, .read, .delivery, .read] {
                    try await calls.receipt(kind, id, by: "ana")
                }
                #expect(try await calls.announcements(of: "ana").first?.status == .read)
                #expect(try await calls.announcements(of: "ben").first?.status == .sent)
                let told = try calls.notices("ana").dropFirst()
                    .compactMap { if case .change(let change) = $0 { change.content } else { nil } }
                #expect(told == [.announcementStatus(id, .delivered), .announcementStatus(id, .read)])
                #expect(try calls.notices("ben").count == 1)
                #expect(try await calls.refusal { try await calls.receipt(.read, id, by: "cleo") }?.code == .notFound)
            }
        }

        @Test("an announcement that one user deletes stays for other users, and only that user's log has the deletion")
        func remove() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                let id = try await calls.announce(["ana", "ben"])
                try await calls.removeAnnouncement(id, by: "ana")
                #expect(try await calls.announcements(of: "ana").isEmpty)
                #expect(try await calls.announcements(of: "ben").count == 1)
                #expect(
                    try await calls.refusal { try await calls.removeAnnouncement(id, by: "ana") }?.code == .notFound)
                #expect(try await calls.refusal { try await calls.receipt(.read, id, by: "ana") }?.code == .notFound)
                let log = try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges
                #expect(
                    log.map(\.content) == [.obsolete, .announcementDeleted(id)]
                        && log.map(\.position.rawValue) == [1, 2])
            }
        }
    }
}
