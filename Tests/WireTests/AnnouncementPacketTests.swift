// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel
import Testing

@testable import StrataWire

@Suite struct AnnouncementPacketTests {
    private let id = AnnouncementID(rawValue: uuid(messageUUID))

    private func announcement(
        _ sender: MessageSender = .name("Support"), status: RecipientStatus = .sent
    ) -> Announcement {
        Announcement(
            id: id, position: Position(3), sender: sender, sentAt: created,
            parts: [MessagePart(id: uuid(partUUID), mimeType: "text/plain", body: "news", size: 4)], status: status,
            notification: #"{"text":"n"}"#)
    }

    private func packets(_ content: UserChange.Content) -> [JSONValue] {
        let change = UserChange(
            appID: AppID(rawValue: uuid(partUUID)), user: ben.userID, position: Position(3), createdAt: created,
            content: content)
        return renderer.tails(for: change, version: .v3).map { packet($0) }
    }

    @Test("an announcement is a message without a conversation, with only its reader's status")
    func object() {
        let value = written { renderer.writeAnnouncement(announcement(), for: ben.userID, version: .v3, into: &$0) }
        #expect(value["id"] == .string("layer:///announcements/\(messageUUID)") && value["conversation"] == .null)
        #expect(
            value["sender"]
                == json(
                    #"{"id":null,"url":null,"user_id":null,"display_name":"Support","avatar_url":null,"name":"Support"}"#
                ))
        #expect(
            value["recipient_status"] == json(#"{"layer:///identities/ben.o":"sent"}"#)
                && value["is_unread"] == .bool(true))
        #expect(value["parts"]?[0]?["id"] == .string("layer:///announcements/\(messageUUID)/parts/\(partUUID)"))
        #expect(value["receipts_url"] == .string("https://chat.example.org/announcements/\(messageUUID)/receipts"))
        #expect(value["position"] == .integer(24_576) && value["notification"] == nil)
        let read = written {
            renderer.writeAnnouncement(
                announcement(.user(ana), status: .read), for: ben.userID, version: .v2, into: &$0)
        }
        #expect(read["is_unread"] == .bool(false) && read["sender"]?["user_id"] == .string("ana"))
        #expect(read["parts"]?[0]?["id"] == .string("layer:///announcements/\(messageUUID)/parts/0"))
    }

    @Test("packets of the user's own log create, read and remove an announcement")
    func packetsOfIt() {
        let created = packets(.announced(announcement()))
        #expect(created.count == 1 && created[0]["body"]?["operation"] == .string("create"))
        #expect(
            created[0]["body"]?["object"]?["type"] == .string("Announcement")
                && created[0]["body"]?["user_position"] == .integer(3))
        #expect(created[0]["body"]?["data"]?["notification"] == json(#"{"text":"n"}"#))
        #expect(
            packets(.announcementStatus(id, .read)).map { $0["body"]?["data"] } == [
                json(#"[{"operation":"set","property":"recipient_status.layer:///identities/ben\\.o","value":"read"}]"#)
            ])
        #expect(packets(.announcementDeleted(id)).map { $0["body"]?["data"] } == [json(#"{"mode":"my_devices"}"#)])
        #expect(packets(.obsolete).isEmpty)
    }

    @Test("a follow is the creation of an identity, an unfollow its deletion")
    func following() {
        let followed = packets(.followed(Identity(basic: ana)))
        #expect(followed.map { $0["body"]?["operation"] } == [.string("create")])
        #expect(followed[0]["body"]?["data"] == written { renderer.writeIdentity(Identity(basic: ana), into: &$0) })
        let unfollowed = packets(.unfollowed(ana.userID))
        #expect(
            unfollowed.map { $0["body"]?["operation"] } == [.string("delete")]
                && unfollowed[0]["body"]?["data"] == .null)
        #expect(
            packets(.identityChanged(Identity(basic: ana)))[0]["body"]?["object"]?["id"]
                == .string("layer:///identities/ana"))
    }

    @Test("a block is a property of the other's identity, sent only to the user who blocks")
    func blocking() {
        let changed = packets(.blocksChanged(blocked: [ana.userID], unblocked: [UserID(trusted: "cleo")]))
        #expect(
            changed.map { $0["body"]?["object"]?["id"] } == [
                .string("layer:///identities/ana"), .string("layer:///identities/cleo"),
            ])
        #expect(
            changed.map { $0["body"]?["data"] } == [
                json(#"[{"operation":"set","property":"blocked","value":true}]"#),
                json(#"[{"operation":"set","property":"blocked","value":false}]"#),
            ])
        #expect(
            changed.allSatisfy {
                $0["body"]?["operation"] == .string("update") && $0["body"]?["user_position"] == .integer(3)
            })
        #expect(packets(.blockedBy(ana.userID, isBlocked: true)).isEmpty)
    }

    @Test("client requests about devices and following are validated")
    func bodies() throws {
        let body = try PushTokenBody(
            json(#"{"token":"t","type":"apns","device_id":"d","apns_bundle_id":"b","ios_version":null}"#))
        #expect(body.token == "t" && body.deviceID == "d" && body.apnsBundleID == "b" && body.iosVersion == nil)
        let wrong: [(String, Failure.Code, String)] = [
            (#"{"type":"apns","device_id":"d"}"#, .missingProperty, "token"),
            (#"{"token":"t","device_id":"d"}"#, .missingProperty, "type"),
            (#"{"token":"t","type":"apns"}"#, .missingProperty, "device_id"),
            (#"{"token":"t","type":"x","device_id":"d"}"#, .invalidProperty, "type"),
            (#"{"token":"","type":"gcm","device_id":"d"}"#, .invalidProperty, "token"),
            (#"{"token":"t","type":"gcm","device_id":7}"#, .invalidProperty, "device_id"),
        ]
        for (text, code, property) in wrong {
            let found = failure { _ = try PushTokenBody(json(text)) }
            #expect(found?.code == code && found?.property == property, "\(text)")
        }
        #expect(try FollowBody(json(#"["ana","layer:///identities/ben.o","ana"]"#)).users == [ana.userID, ben.userID])
        #expect(
            try FollowBody(json(#"["100%","a%2Fb"]"#), from: .server).users == [
                UserID(trusted: "100%"), UserID(trusted: "a%2Fb"),
            ])
        #expect(failure { _ = try FollowBody(json(#"["100%"]"#)) }?.property == "user_ids.0")
        #expect(failure { _ = try FollowBody(json(#"["ana",1]"#)) }?.property == "user_ids.1")
        #expect(failure { _ = try FollowBody(json(#"{"a":1}"#)) }?.code == .invalidRequest)
    }
}
