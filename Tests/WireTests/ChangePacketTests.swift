// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

struct ChangePacketTests {
    static let conversationObject =
        #"{"type":"Conversation","id":"layer:///conversations/\#(conversationUUID)","url":"https://chat.example.org/conversations/\#(conversationUUID)"}"#
    static let messageObject =
        #"{"type":"Message","id":"layer:///messages/\#(messageUUID)","url":"https://chat.example.org/messages/\#(messageUUID)"}"#

    /// Returns the packets that `reader` is sent for a change.
    private func packets(
        _ content: Change.Content, for reader: UserID = ben.userID, version: WireVersion = .v3,
        counts: [UserID: UserCounts] = [:],
        includesCounts: Bool = true, by renderer: Renderer = renderer
    ) -> [JSONValue] {
        let change = sampleChange(content, counts: counts)
        let variant = Variant(of: change, for: reader, version: version, includesCounts: includesCounts)
        return renderer.tails(for: change, variant: variant).map { packet($0, reader: reader) }
    }
    private func conversationUpdate(_ data: String) -> JSONValue {
        changePacket(#"{"operation":"update","object":\#(Self.conversationObject),"position":7,"data":\#(data)}"#)
    }

    @Test("a new conversation has the same packet for all users, without messages")
    func conversationCreated() {
        let expected = changePacket(
            """
            {"operation":"create","object":\(Self.conversationObject),"position":7,"data":
             {"id":"layer:///conversations/\(conversationUUID)","url":"https://chat.example.org/conversations/\(conversationUUID)",
              "messages_url":"https://chat.example.org/conversations/\(conversationUUID)/messages","created_at":"2018-05-04T09:30:00.125Z",
              "participants":[\(ObjectTests.anaJSON),\(ObjectTests.benJSON)],"distinct":true,"metadata":{"trip":{"city":"Porto"}},
              "delivery_receipts":true,"read_receipts":true,"position":4,"epoch":"e1",
              "last_message":null,"unread_message_count":0,"total_message_count":0}}
            """)
        #expect(packets(.conversationCreated(sampleConversation())) == [expected])
        #expect(packets(.conversationCreated(sampleConversation()), for: ana.userID, version: .v2) == [expected])
        #expect(packets(.conversationCreated(nil)).isEmpty)
    }

    @Test("remaining and removed participants receive the changes, with the identities of added ones")
    func participantsChanged() {
        let content = Change.Content.participantsChanged(
            added: [cleo], removed: [ana.userID], distinctCleared: true, conversation: nil)
        let cleoJSON =
            #"{"id":"layer:///identities/cleo","url":"https://chat.example.org/identities/cleo","user_id":"cleo","display_name":null,"avatar_url":null}"#
        let operations = """
            {"operation":"add","property":"participants","id":"layer:///identities/cleo","value":\(cleoJSON)},
            {"operation":"remove","property":"participants","id":"layer:///identities/ana"},
            {"operation":"set","property":"distinct","value":false}
            """
        // A removed user keeps the last counts, so no counts are sent.
        for reader in [ben, ana] {
            #expect(packets(content, for: reader.userID) == [conversationUpdate("[\(operations)]")])
        }
        let again = Change.Content.participantsChanged(
            added: [], removed: [ana.userID], distinctCleared: false, conversation: nil)
        #expect(
            packets(again) == [
                conversationUpdate(
                    #"[{"operation":"remove","property":"participants","id":"layer:///identities/ana"}]"#)
            ])
    }

    @Test("added participants receive the whole conversation instead")
    func added() {
        let content = Change.Content.participantsChanged(
            added: [cleo], removed: [], distinctCleared: true, conversation: sampleConversation())
        #expect(packets(content, for: cleo.userID).isEmpty)
        #expect(Variant(of: sampleChange(content), for: cleo.userID, version: .v3).needsView)
        #expect(!Variant(of: sampleChange(content), for: ben.userID, version: .v3).needsView)
        // A user who already knows the conversation gets the same packet as others.
        let change = sampleChange(content)
        let known = Variant(of: change, for: cleo.userID, version: .v3, knowsConversation: true)
        #expect(
            known == Variant(of: change, for: ben.userID, version: .v3)
                && !renderer.tails(for: change, variant: known).isEmpty)
        let view = sampleView(lastMessage: sampleMessage())
        let tail = renderer.conversationCreated(view, for: cleo.userID, version: .v2)[0]
        let data = written { renderer.writeConversation(view, for: cleo.userID, version: .v2, into: &$0) }
        let body = packet(tail, reader: cleo.userID)["body"]
        #expect(tail.isShared)
        #expect(body?["operation"] == .string("create"))
        #expect(body?["object"] == json(Self.conversationObject))
        #expect(body?["position"] == .integer(4))
        #expect(body?["data"] == data)
    }

    @Test("metadata changes are operations on paths, and an emptied tree is an empty object")
    func metadataChanged() {
        let effects = [
            MetadataEffect(path: MetadataPath(trusted: "old.key"), value: nil),
            MetadataEffect(path: MetadataPath(trusted: "trip.city"), value: "Por\"to"),
        ]
        #expect(
            packets(.metadataChanged(effects)) == [
                conversationUpdate(
                    #"[{"operation":"delete","property":"metadata.old.key"},{"operation":"set","property":"metadata.trip.city","value":"Por\"to"}]"#
                )
            ])
        #expect(
            packets(.metadataChanged([MetadataEffect(path: .root, value: nil)])) == [
                conversationUpdate(#"[{"operation":"set","property":"metadata","value":{}}]"#)
            ])
    }

    @Test("a conversation deletion applies to all users")
    func conversationDeleted() {
        #expect(
            packets(.conversationDeleted) == [
                changePacket(
                    #"{"operation":"delete","object":\#(Self.conversationObject),"position":7,"data":{"mode":"all_participants","from_position":null}}"#
                )
            ])
    }

    @Test("a message packet precedes its conversation's update, with counts", arguments: WireVersion.allCases)
    func messageCreatedForRecipient(version: WireVersion) {
        let message = sampleMessage(notification: #"{"text":"hi"}"#)
        let plain = ObjectTests.messageJSON(version: version)
        let notified = ObjectTests.messageJSON(notification: #","notification":{"text":"hi"}"#, version: version)
        #expect(
            packets(.messageCreated(id: messageID, ordinal: 1, message), version: version) == [
                changePacket(
                    #"{"operation":"create","object":\#(Self.messageObject),"position":7,"data":\#(notified)}"#),
                conversationUpdate(
                    """
                    [{"operation":"set","property":"last_message","id":"layer:///messages/\(messageUUID)","value":\(plain)},
                     {"operation":"set","property":"unread_message_count","value":3},{"operation":"set","property":"total_message_count","value":12}]
                    """),
            ])
    }

    @Test("senders see their message as read, without notification and unread count")
    func messageCreatedForSender() {
        let message = sampleMessage(notification: #"{"text":"hi"}"#)
        let plain = ObjectTests.messageJSON(unread: false)
        #expect(
            packets(.messageCreated(id: messageID, ordinal: 1, message), for: ana.userID) == [
                changePacket(#"{"operation":"create","object":\#(Self.messageObject),"position":7,"data":\#(plain)}"#),
                conversationUpdate(
                    """
                    [{"operation":"set","property":"last_message","id":"layer:///messages/\(messageUUID)","value":\(plain)},
                     {"operation":"set","property":"total_message_count","value":12}]
                    """),
            ])
    }

    @Test("a replay has no counts, and only the deletion of a deleted message")
    func messageCreatedInReplay() {
        let replayed = packets(.messageCreated(id: messageID, ordinal: 1, sampleMessage()), includesCounts: false)
        #expect(replayed.count == 2)
        #expect(replayed.last?["body"]?["data"]?.arrayValue?.count == 1)
        #expect(packets(.messageCreated(id: messageID, ordinal: 1, nil)).isEmpty)
    }

    @Test("a thousand recipients of one status share a rendering, separate from the sender's and other versions'")
    func sharing() {
        let users = (1000..<2000).map { UserID(trusted: "user\($0)") }
        let message = sampleMessage(
            recipients: [.init(userID: ana.userID, status: .read)]
                + users.map { Message.Recipient(userID: $0, status: .sent) })
        let change = sampleChange(.messageCreated(id: messageID, ordinal: 1, message))
        #expect(Set(users.map { Variant(of: change, for: $0, version: .v3) }).count == 1)
        #expect(
            Set(users.flatMap { user in WireVersion.allCases.map { Variant(of: change, for: user, version: $0) } })
                .count == 2)
        #expect(Variant(of: change, for: ana.userID, version: .v3) != Variant(of: change, for: users[0], version: .v3))
        #expect(
            Variant(of: change, for: users[0], version: .v3)
                != Variant(of: change, for: users[0], version: .v3, includesCounts: false))
    }

    @Test("a shared packet of a large conversation has a gap for each reader's own status")
    func largeConversation() {
        let many = (10..<40).map { Message.Recipient(userID: UserID(trusted: "user.\($0)é"), status: .sent) }
        let message = sampleMessage(recipients: [.init(userID: ana.userID, status: .read)] + many, notification: "{}")
        let change = sampleChange(.messageCreated(id: messageID, ordinal: 1, message))
        for recipient in many {
            let variant = Variant(of: change, for: recipient.userID, version: .v3)
            let tails = renderer.tails(for: change, variant: variant)
            #expect(tails.map(\.isShared) == [false, false])
            #expect(tails.map(\.needsCounts) == [false, true])
            let sent = tails.map { packet($0, reader: recipient.userID) }
            let expected = written {
                renderer.writeMessage(message, for: recipient.userID, version: .v3, withNotification: true, into: &$0)
            }
            #expect(sent[0]["body"]?["data"] == expected)
            let last = written { renderer.writeMessage(message, for: recipient.userID, version: .v3, into: &$0) }
            #expect(sent[1]["body"]?["data"]?[0]?["value"] == last)
            #expect(sent[1]["body"]?["data"]?[1]?["value"] == .integer(3))
        }
    }

    @Test("receipts are sent per message, with escaped dots in ids, followed by only the reader's count")
    func receipts() {
        let other = MessageID(rawValue: uuid(partUUID))
        let receipts = [
            Change.Receipt(user: ben.userID, messageID: messageID, ordinal: 1, status: .read, sender: ana.userID),
            Change.Receipt(user: cleo.userID, messageID: other, ordinal: 2, status: .delivered, sender: ana.userID),
            Change.Receipt(user: cleo.userID, messageID: messageID, ordinal: 1, status: .delivered, sender: ana.userID),
        ]
        let conversation = #"{"id":"layer:///conversations/\#(conversationUUID)"}"#
        let first = changePacket(
            #"""
            {"operation":"update","object":\#(Self.messageObject),"position":7,"conversation":\#(conversation),"data":
             [{"operation":"set","property":"recipient_status.layer:///identities/ben\\.o","value":"read"},
              {"operation":"set","property":"recipient_status.layer:///identities/cleo","value":"delivered"}]}
            """#)
        let counts = [ben.userID: UserCounts(excluded: 1, hidden: 0, position: Position(7))]
        let forBen = packets(.receipts(receipts), for: ben.userID, counts: counts)
        #expect(forBen.count == 3)
        #expect(forBen.first == first)
        #expect(forBen[1]["body"]?["object"]?["id"] == .string("layer:///messages/\(partUUID)"))
        #expect(
            forBen.last == conversationUpdate(#"[{"operation":"set","property":"unread_message_count","value":3}]"#))
        #expect(packets(.receipts(receipts), for: cleo.userID, counts: counts) == Array(forBen.prefix(2)))
        #expect(packets(.receipts(receipts), for: ben.userID).count == 3)
        #expect(packets(.receipts(receipts), for: ben.userID, includesCounts: false).count == 2)
    }

    @Test("a read of all messages is an operation, followed by the reader's count")
    func allRead() {
        let operation = json(
            """
            {"type":"operation","counter":9,"timestamp":"2018-05-04T09:30:00.125Z","body":{"method":"Conversation.mark_all_read",
             "object":\(Self.conversationObject),"position":7,"data":{"position":40960,"identity":{"id":"layer:///identities/ben.o"}}}}
            """)
        let content = Change.Content.allRead(user: ben.userID, upTo: Position(5), audience: nil)
        #expect(
            packets(content, for: ben.userID) == [
                operation, conversationUpdate(#"[{"operation":"set","property":"unread_message_count","value":3}]"#),
            ])
        #expect(packets(content, for: ana.userID) == [operation])
        #expect(packets(content, for: ben.userID, includesCounts: false) == [operation])
    }

    @Test("a message deletion is followed by counts and the last message for each user")
    func messageDeleted() {
        let deleted = MessageID(rawValue: uuid(partUUID))
        let conversation = #"{"id":"layer:///conversations/\#(conversationUUID)"}"#
        let goes = changePacket(
            """
            {"operation":"delete","object":{"type":"Message","id":"layer:///messages/\(partUUID)","url":"https://chat.example.org/messages/\(partUUID)"},
             "position":7,"conversation":\(conversation),"data":{"mode":"all_participants"}}
            """)
        let counts =
            #"{"operation":"set","property":"unread_message_count","value":3},{"operation":"set","property":"total_message_count","value":12}"#
        let set = #"{"operation":"set","property":"last_message","id":"layer:///messages/\#(messageUUID)","value":"#
        let none = #"{"operation":"set","property":"last_message","value":null}"#

        let unchanged = Change.Content.messageDeleted(
            id: deleted, ordinal: 2, lastMessage: .init(changed: false, message: nil))
        #expect(packets(unchanged) == [goes, conversationUpdate("[\(counts)]")])
        #expect(packets(unchanged, includesCounts: false) == [goes])

        let empty = Change.Content.messageDeleted(
            id: deleted, ordinal: 2, lastMessage: .init(changed: true, message: nil))
        #expect(packets(empty) == [goes, conversationUpdate("[\(none),\(counts)]")])
        #expect(packets(empty, includesCounts: false) == [goes, conversationUpdate("[\(none)]")])

        let other = Change.LastMessage(changed: true, message: sampleMessage(), overrides: [cleo.userID: nil])
        let replaced = Change.Content.messageDeleted(id: deleted, ordinal: 2, lastMessage: other)
        #expect(
            packets(replaced, for: ben.userID) == [
                goes, conversationUpdate("[\(set)\(ObjectTests.messageJSON())},\(counts)]"),
            ])
        #expect(
            packets(replaced, for: ana.userID) == [
                goes, conversationUpdate("[\(set)\(ObjectTests.messageJSON(unread: false))},\(counts)]"),
            ])
        #expect(packets(replaced, for: cleo.userID) == [goes, conversationUpdate("[\(none),\(counts)]")])

        let hidden = Change.LastMessage(changed: false, message: nil, overrides: [ben.userID: sampleMessage()])
        let forBen = packets(
            .messageDeleted(id: deleted, ordinal: 2, lastMessage: hidden), for: ben.userID, version: .v2)
        #expect(forBen == [goes, conversationUpdate("[\(set)\(ObjectTests.messageJSON(version: .v2))},\(counts)]")])
    }

    @Test("a replay ends with current counts")
    func numbers() {
        let tail = renderer.countsChanged(conversationID, at: Position(7))
        #expect(tail.needsCounts)
        #expect(
            packet(tail, unread: 0, total: 1_000_000)
                == conversationUpdate(
                    #"[{"operation":"set","property":"unread_message_count","value":0},{"operation":"set","property":"total_message_count","value":1000000}]"#
                ))
    }

    @Test("the texts contain no white space between tokens", arguments: WireVersion.allCases)
    func compact(version: WireVersion) {
        let change = sampleChange(.messageCreated(id: messageID, ordinal: 1, sampleMessage(parts: [])))
        for tail in renderer.tails(for: change, variant: Variant(of: change, for: ben.userID, version: version)) {
            let text = String(buffer: tail.text)
            #expect(!text.contains(", ") && !text.contains(": ") && !text.contains("\n"))
            #expect(text.hasPrefix(#"{"operation":""#))
        }
    }

    @Test(
        "heads and gaps of all lengths equal their announced length",
        arguments: [0, 9, 10, 99, 100, 12_345, .max] as [Int64])
    func lengths(number: Int64) {
        for content in [
            Change.Content.messageCreated(id: messageID, ordinal: 1, sampleMessage()), .conversationDeleted,
            .allRead(user: ben.userID, upTo: Position(1), audience: nil),
        ] {
            let change = sampleChange(content)
            for tail in renderer.tails(for: change, variant: Variant(of: change, for: ben.userID, version: .v3)) {
                let value = packet(tail, counter: number, unread: number, total: number)
                #expect(value["counter"] == .integer(number))
            }
        }
    }
}
