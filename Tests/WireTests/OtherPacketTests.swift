// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

struct OtherPacketTests {
    private static let benObject =
        #"{"type":"Identity","id":"layer:///identities/ben.o","url":"https://chat.example.org/identities/ben.o"}"#

    private func packets(_ content: UserChange.Content, version: WireVersion = .v3) -> [JSONValue] {
        let change = UserChange(
            appID: AppID(rawValue: uuid(partUUID)), user: ben.userID, position: Position(11), createdAt: created,
            content: content)
        let tails = renderer.tails(for: change, version: version)
        #expect(tails.allSatisfy { $0.isShared && !$0.needsCounts })
        return tails.map { packet($0) }
    }

    @Test("a conversation hidden on the user's devices disappears completely, or up to a position")
    func conversationHidden() {
        let object = ChangePacketTests.conversationObject
        #expect(
            packets(.conversationHidden(conversationID, upTo: Position(2), wholly: true)) == [
                changePacket(
                    #"{"operation":"delete","object":\#(object),"user_position":11,"data":{"mode":"my_devices","from_position":null}}"#
                )
            ])
        #expect(
            packets(.conversationHidden(conversationID, upTo: Position(2), wholly: false)) == [
                changePacket(
                    #"{"operation":"delete","object":\#(object),"user_position":11,"data":{"mode":"my_devices","from_position":16384}}"#
                )
            ])
    }

    @Test("a restored conversation is created with the user's view", arguments: WireVersion.allCases)
    func conversationShown(version: WireVersion) {
        let view = sampleView(lastMessage: sampleMessage())
        let shown = packets(.conversationShown(view), version: version)
        #expect(shown.count == 1)
        #expect(shown.first?["body"]?["operation"] == .string("create"))
        #expect(
            shown.first?["body"]?["data"]
                == written { renderer.writeConversation(view, for: ben.userID, version: version, into: &$0) })
        #expect(packets(.conversationShown(nil)).isEmpty)
    }

    @Test("a message hidden on the user's devices disappears, and the conversation is updated for that user")
    func messageHidden() {
        let goes = { (conversation: String) in
            changePacket(
                #"{"operation":"delete","object":\#(ChangePacketTests.messageObject),"user_position":11\#(conversation),"data":{"mode":"my_devices"}}"#
            )
        }
        #expect(packets(.messageHidden(messageID, view: nil)) == [goes("")])
        let named = #","conversation":{"id":"layer:///conversations/\#(conversationUUID)"}"#
        let hidden = packets(.messageHidden(messageID, view: sampleView()))
        #expect(hidden.first == goes(named))
        #expect(
            hidden.last
                == changePacket(
                    """
                    {"operation":"update","object":\(ChangePacketTests.conversationObject),"user_position":11,"data":
                     [{"operation":"set","property":"last_message","value":null},{"operation":"set","property":"unread_message_count","value":3},
                      {"operation":"set","property":"total_message_count","value":4}]}
                    """))
        let other = packets(
            .messageHidden(MessageID(rawValue: uuid(partUUID)), view: sampleView(lastMessage: sampleMessage())),
            version: .v2)
        #expect(other.last?["body"]?["data"]?[0]?["id"] == .string("layer:///messages/\(messageUUID)"))
        #expect(other.last?["body"]?["data"]?[0]?["value"] == json(ObjectTests.messageJSON(version: .v2)))
    }

    @Test("messages hidden up to a position disappear, and the remaining counts follow")
    func messagesHidden() {
        let object = ChangePacketTests.conversationObject
        let goes =
            #"{"operation":"delete","object":\#(object),"user_position":11,"data":{"mode":"my_devices","from_position":16384}}"#
        let counts =
            #"{"operation":"set","property":"unread_message_count","value":3},{"operation":"set","property":"total_message_count","value":4}"#
        func left(_ operations: String) -> String {
            #"{"operation":"update","object":\#(object),"user_position":11,"data":[\#(operations)]}"#
        }
        #expect(
            packets(.messagesHidden(upTo: Position(2), view: sampleView(lastMessage: sampleMessage())))
                == [changePacket(goes), changePacket(left(counts))])
        #expect(
            packets(.messagesHidden(upTo: Position(2), view: sampleView()))
                == [
                    changePacket(goes),
                    changePacket(left(#"{"operation":"set","property":"last_message","value":null},"# + counts)),
                ])
    }

    @Test("a former participant loses messages and conversations that are deleted for all")
    func formerDeletions() {
        let named = #","conversation":{"id":"layer:///conversations/\#(conversationUUID)"}"#
        let goes = changePacket(
            #"{"operation":"delete","object":\#(ChangePacketTests.messageObject),"user_position":11\#(named),"data":{"mode":"all_participants"}}"#
        )
        #expect(packets(.messageDeleted(messageID, in: conversationID, view: nil)) == [goes])
        let told = packets(.messageDeleted(messageID, in: conversationID, view: sampleView()))
        #expect(told.first == goes && told.last == packets(.messageHidden(messageID, view: sampleView())).last)
        let object = ChangePacketTests.conversationObject
        #expect(
            packets(.conversationDeleted(conversationID)) == [
                changePacket(
                    #"{"operation":"delete","object":\#(object),"user_position":11,"data":{"mode":"all_participants","from_position":null}}"#
                )
            ])
    }

    @Test("an identity update has everything, or the differences")
    func identityChanged() {
        let identity = Identity(basic: ben, metadata: ["team": "blue"])
        let all = packets(.identityChanged(identity))
        #expect(all.first?["body"]?["user_position"] == .integer(11))
        #expect(
            all.first?["body"]?["data"]
                == json(
                    #"""
                    [{"operation":"set","property":"display_name","value":"Ben \"B\" Okoye"},
                     {"operation":"set","property":"avatar_url","value":"https://cdn.example.org/b.png"},
                     {"operation":"set","property":"first_name","value":null},{"operation":"set","property":"last_name","value":null},
                     {"operation":"set","property":"phone_number","value":null},{"operation":"set","property":"email_address","value":null},
                     {"operation":"set","property":"public_key","value":null},{"operation":"set","property":"type","value":"user"},
                     {"operation":"set","property":"identity_type","value":"user"},
                     {"operation":"set","property":"metadata","value":{"team":"blue"}}]
                    """#))
        var before = identity
        before.firstName = "Ben"
        #expect(
            packet(renderer.identityUpdated(identity, from: before))
                == changePacket(
                    #"{"operation":"update","object":\#(Self.benObject),"data":[{"operation":"set","property":"first_name","value":null}]}"#
                ))
    }

    @Test("presence is sent as two leaves")
    func presence() {
        #expect(
            packet(renderer.presenceChanged(ben.userID, to: Presence(status: .away, lastSeenAt: created)))
                == changePacket(
                    """
                    {"operation":"update","object":\(Self.benObject),"data":[{"operation":"set","property":"presence.status","value":"away"},
                     {"operation":"set","property":"presence.last_seen_at","value":"2018-05-04T09:30:00.125Z"}]}
                    """))
        let sync = written { writer in
            renderer.writePresenceChanges(
                [
                    (ben.userID, Presence(status: .offline, lastSeenAt: nil)),
                    (ana.userID, Presence(status: .busy, lastSeenAt: nil)),
                ],
                into: &writer)
        }
        #expect(sync["changes"]?.arrayValue?.count == 2)
        #expect(
            sync["changes"]?[0]
                == json(
                    """
                    {"operation":"update","object":\(Self.benObject),"data":[{"operation":"set","property":"presence.status","value":"offline"},
                     {"operation":"set","property":"presence.last_seen_at","value":null}]}
                    """))
        #expect(written { renderer.writePresenceChanges([], into: &$0) } == json(#"{"changes":[]}"#))
    }

    @Test("a typing signal has its sender", arguments: TypingAction.allCases)
    func typing(action: TypingAction) {
        #expect(
            packet(renderer.typing(conversationID, sender: ana, action: action), counter: 21)
                == json(
                    """
                    {"type":"signal","counter":21,"timestamp":"2018-05-04T09:30:00.125Z","body":{"type":"typing_indicator",
                     "object":\(ChangePacketTests.conversationObject),"data":{"sender":\(ObjectTests.anaJSON),"action":"\(action.rawValue)"}}}
                    """))
    }

    @Test("responses repeat the request's id and always have data")
    func responses() {
        let success = renderer.response(to: "r\"7", method: "Counter.read") { writer in
            writer.beginObject()
            writer.key("counter")
            writer.int(3)
            writer.endObject()
        }
        #expect(
            packet(success, counter: 4)
                == json(
                    #"""
                    {"type":"response","counter":4,"timestamp":"2018-05-04T09:30:00.125Z",
                     "body":{"request_id":"r\"7","method":"Counter.read","success":true,"data":{"counter":3}}}
                    """#))
        #expect(
            packet(renderer.response(to: "r8", method: "Presence.subscribe"))["body"]
                == json(#"{"request_id":"r8","method":"Presence.subscribe","success":true,"data":{}}"#))
        let refusal = Failure(.idInUse, "Taken.", detail: .message(sampleMessage()))
        let refused = packet(
            renderer.response(to: "r9", method: "Message.create", failure: refusal, for: ben.userID, version: .v2))[
                "body"]
        #expect(refused?["success"] == .bool(false))
        #expect(refused?["data"]?["id"] == .string("id_in_use"))
        #expect(refused?["data"]?["data"] == json(ObjectTests.messageJSON(version: .v2)))
    }
}
