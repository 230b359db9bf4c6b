// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("people and announcements")
struct PeopleTests {
    private let store: StoreFixture
    private let dora = UserID(trusted: "dora")

    init() throws { store = try StoreFixture() }

    private func identity(_ user: UserID) throws -> Identity { try store.core.read { try $0.identity(user) } }
    private func shown(_ id: AnnouncementID) throws -> Announcement? {
        try store.core.read { reader in try reader.announcementRecord(id).map { try reader.announcement($0) } }
    }

    @Test("a followed user has an identity at once, which is completed later", .proves("IDN-3"))
    func followed() throws {
        let outcome = try store.write { try $0.follow([dora, WireJSON.ana]) }
        #expect(outcome.words == ["identity create"])
        #expect(try !identity(dora).isFollowed)
        #expect(store.pending == [.follow([dora])])
        try store.apply(
            WireJSON.change("create", "Identity", dora.layerID, user: 3, WireJSON.identity(dora, name: "Dora")))
        #expect(try identity(dora).isFollowed && identity(dora).displayName == "Dora")
    }

    @Test("unfollowing removes the identity, except for participants", .proves("IDN-3", "IDN-2", "CONV-43"))
    func unfollowed() throws {
        try store.addConversation(.test(1))
        #expect(try identity(WireJSON.ben).isFollowed)
        try store.write { try $0.follow([dora]) }
        try store.attempt(store.queue[0])
        try store.write { try $0.unfollow([dora, WireJSON.ben]) }
        #expect(store.pending == [.follow([dora]), .unfollow([dora])])
        #expect(try identity(dora) == Identity(userID: dora))
        #expect(try identity(WireJSON.ben).isFollowed)
    }

    @Test("a user who is added to a conversation is followed", .proves("CONV-43"))
    func participantAdded() throws {
        try store.addConversation(.test(1))
        try store.apply(WireJSON.updated(.test(1), at: 2, WireJSON.add(WireJSON.cleo)))
        #expect(try identity(WireJSON.cleo).isFollowed)
    }

    @Test("an update sets members, and one of an older position is skipped")
    func updated() throws {
        let (name, city) = (WireJSON.set("display_name", "Dora"), WireJSON.set("metadata", ["city": "Porto"]))
        try store.apply(WireJSON.change("create", "Identity", dora.layerID, user: 3, WireJSON.identity(dora)))
        let outcome = try store.apply(WireJSON.change("update", "Identity", dora.layerID, user: 5, [name, city]))
        #expect(Set(outcome.words) == ["identity update displayName", "identity update metadata"])
        let old = try store.apply(
            WireJSON.change("update", "Identity", dora.layerID, user: 4, [WireJSON.set("display_name", "Old")]))
        #expect(old.changes.isEmpty)
        #expect(store.core.cursor.userPosition == 5)
    }

    @Test("presence is applied, and stays when the identity arrives without it")
    func presence() throws {
        try store.apply(
            WireJSON.change("create", "Identity", dora.layerID, user: 3, WireJSON.identity(dora)),
            WireJSON.change("update", "Identity", dora.layerID, [WireJSON.set("presence.status", "away")]),
            WireJSON.change("create", "Identity", dora.layerID, user: 4, WireJSON.identity(dora, name: "Dora")))
        #expect(try identity(dora).presenceStatus == .away)
    }

    @Test("the last-seen time changes only when a user goes offline", .proves("PRES-4"))
    func lastSeen() throws {
        let (early, late) = ("2018-05-04T09:20:00.000Z", "2018-05-04T10:00:00.000Z")
        try store.apply(WireJSON.change("create", "Identity", dora.layerID, user: 3, WireJSON.identity(dora)))
        func told(_ status: String, _ time: String) throws -> [String] {
            let operations: JSONValue = [
                WireJSON.set("presence.status", .string(status)), WireJSON.set("presence.last_seen_at", .string(time)),
            ]
            return try store.apply(WireJSON.change("update", "Identity", dora.layerID, operations)).words
        }
        #expect(try told("offline", early) == ["identity update presenceStatus", "identity update lastSeenAt"])
        #expect(try told("available", late) == ["identity update presenceStatus"])
        #expect(try told("available", late).isEmpty)
        #expect(try told("offline", late) == ["identity update presenceStatus", "identity update lastSeenAt"])
    }

    @Test(
        "without a connection the user's own presence appears offline, and others keep their last status",
        .proves("PRES-4"))
    func presenceEnded() throws {
        for user in [WireJSON.ana, dora] {
            try store.apply(WireJSON.change("create", "Identity", user.layerID, WireJSON.identity(user)))
            try store.apply(
                WireJSON.change("update", "Identity", user.layerID, [WireJSON.set("presence.status", "busy")]))
        }
        #expect(try store.write { try $0.presenceEnded() }.words == ["identity update presenceStatus"])
        #expect(try identity(WireJSON.ana).presenceStatus == .offline)
        #expect(try identity(dora).presenceStatus == .busy)
        #expect(try store.write { try $0.presenceEnded() }.changes.isEmpty)
    }

    @Test("an unknown user has an identity with only a user id", .proves("IDN-4"))
    func unknown() throws {
        #expect(try identity(dora) == Identity(userID: dora))
        try store.write { try $0.follow([dora]) }
        #expect(try identity(dora) == Identity(userID: dora))
    }

    @Test("an unfollowed user is known only as a participant")
    func deleted() throws {
        try store.addConversation(.test(1))
        for (place, user) in [dora, WireJSON.ben].enumerated() {
            let position = Int64(2 * place)
            try store.apply(
                WireJSON.change(
                    "create", "Identity", user.layerID, user: position + 1, WireJSON.identity(user, name: "Name")))
            try store.apply(WireJSON.change("delete", "Identity", user.layerID, user: position + 2, [:]))
        }
        #expect(try identity(dora).displayName == nil)
        #expect(try identity(WireJSON.ben).displayName == "Name" && !identity(WireJSON.ben).isFollowed)
    }

    @Test("an announcement is in no conversation and is never among messages", .proves("ANN-1"))
    func announcementApart() throws {
        try store.addConversation(.test(1))
        try store.addMessages(2...2, in: .test(1))
        let id = AnnouncementID.test(1)
        try store.apply(WireJSON.change("create", "Announcement", id.layerID, user: 3, WireJSON.announcement(id)))
        #expect(try store.core.read { try $0.ids(Query<Announcement>()) } == [id])
        #expect(try store.core.read { try $0.ids(Query<Message>()) } == [.test(2)])
        #expect(try store.messages(in: .test(1)) == [.test(2)])
        #expect(try store.conversation(.test(1))?.totalMessageCount == 1)
    }

    @Test("an announcement arrives, is read and is deleted", .proves("ANN-2", "CHG-2"))
    func announcement() throws {
        let id = AnnouncementID.test(1)
        let created = try store.apply(
            WireJSON.change("create", "Announcement", id.layerID, user: 3, WireJSON.announcement(id)))
        #expect(created.words == ["announcement create"])
        let read = try store.write { try $0.markAnnouncementRead(id) }
        #expect(read.value && read.words == ["announcement update isUnread"])
        #expect(try !store.write { try $0.markAnnouncementRead(id) }.value)
        #expect(try store.write { try $0.deleteAnnouncement(id) }.words == ["announcement delete"])
        try store.write { try $0.deleteAnnouncement(id) }
        #expect(store.pending == [.markAnnouncementRead(id), .deleteAnnouncement(id)])
    }

    @Test(
        "a refused announcement change is reverted, and an answered one ends with its position",
        .proves("OFF-6", "OFF-8"))
    func announcementAnswered() throws {
        let id = AnnouncementID.test(1)
        try store.apply(WireJSON.change("create", "Announcement", id.layerID, user: 3, WireJSON.announcement(id)))
        try store.write { try $0.deleteAnnouncement(id) }
        #expect(try store.refuse(store.queue[0]).words == ["announcement create"])
        try store.write { _ = try $0.markAnnouncementRead(id) }
        try store.succeed(store.queue[0], user: 4)
        #expect(store.queue.count == 1)
        #expect(try shown(id)?.isUnread == false)
        let status = WireJSON.status("read", of: WireJSON.ana)
        let outcome = try store.write { store in
            try store.applyPacket(WireJSON.change("update", "Announcement", id.layerID, user: 4, [status]))
            try store.finishOperations(in: [], open: nil)
        }
        #expect(outcome.changes.isEmpty && store.queue.isEmpty)
        #expect(try shown(id)?.isUnread == false)
    }
}
