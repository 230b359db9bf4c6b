// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire
import Testing

/// Objects rendered for apps' own servers, in each version.
struct ServerObjectTests {
    private static let base = "https://chat.example.org/apps/\(partUUID)"
    private let conversationURL = "\(base)/conversations/\(conversationUUID)"

    private func server(_ version: ServerVersion, reader: UserID? = nil) -> ServerRenderer {
        let path = "/apps/\(partUUID)"
        return ServerRenderer(
            renderer.withBasePath(reader.map { "\(path)/users/\($0.percentEncoded)" } ?? path), version: version,
            reader: reader)
    }

    private func message(
        _ version: ServerVersion, _ form: ServerRenderer.Form, _ message: Message = sampleMessage(),
        reader: UserID? = nil
    ) -> JSONValue {
        written { server(version, reader: reader).writeMessage(message, form: form, into: &$0) }
    }

    private func names(of value: JSONValue?) -> [String] { value?.objectValue?.map(\.name) ?? [] }

    // MARK: Conversations

    @Test("a conversation of 1.x has participant ids, and since 2.0 identities", arguments: ServerVersion.allCases)
    func conversation(_ version: ServerVersion) {
        let value = written { server(version).writeConversation(sampleConversation(), into: &$0) }
        let participants =
            version < .v2
            ? #"["ana","ben.o"]"#
            : """
            [{"id":"layer:///identities/ana","url":"\(Self.base)/users/ana/identity","user_id":"ana","display_name":"Ana Silva","avatar_url":null},
             {"id":"layer:///identities/ben.o","url":"\(Self.base)/users/ben.o/identity","user_id":"ben.o","display_name":"Ben \\"B\\" Okoye",
              "avatar_url":"https://cdn.example.org/b.png"}]
            """
        #expect(
            value
                == json(
                    """
                    {"id":"layer:///conversations/\(conversationUUID)","url":"\(conversationURL)","messages_url":"\(conversationURL)/messages",
                     "created_at":"2018-05-04T09:30:00.125Z","participants":\(participants),"distinct":true,"metadata":{"trip":{"city":"Porto"}}}
                    """))
    }

    @Test(
        "a user's view has last message, unread count and URLs below the user; a former participant sees no participants"
    )
    func userView() {
        let view = written {
            server(.v1, reader: ben.userID).writeConversation(sampleView(lastMessage: sampleMessage()), into: &$0)
        }
        #expect(view["url"] == .string("\(Self.base)/users/ben.o/conversations/\(conversationUUID)"))
        #expect(view["unread_message_count"] == .integer(3) && view["last_message"]?["is_unread"] == .bool(true))
        #expect(
            view["last_message"]?["receipts_url"]
                == .string("\(Self.base)/users/ben.o/messages/\(messageUUID)/receipts"))
        let left = written {
            server(.v1, reader: ben.userID).writeConversation(sampleView(isParticipant: false), into: &$0)
        }
        #expect(left["participants"] == .array([]) && left["last_message"] == .null)
    }

    // MARK: Messages

    @Test("a creation answer in 1.x has only members that apply to a new message, and parts as sent")
    func created1() {
        for version in [ServerVersion.v1, .v1_1] {
            #expect(
                message(version, .created)
                    == json(
                        """
                        {"id":"layer:///messages/\(messageUUID)","url":"\(Self.base)/messages/\(messageUUID)",
                         "conversation":{"id":"layer:///conversations/\(conversationUUID)","url":"\(conversationURL)"},
                         "parts":[{"mime_type":"text/plain","body":"Train leaves at 8"}],"sent_at":"2018-05-04T09:30:00.125Z",
                         "sender":{"user_id":"ana"},"recipient_status":{"ana":"read","ben.o":"sent"}}
                        """))
        }
    }

    @Test("a creation answer in 3.0 has a channel and part ids, and in 2.0 no channel")
    func created3() {
        let parts = """
            [{"id":"layer:///messages/\(messageUUID)/parts/\(partUUID)","mime_type":"text/plain","body":"Train leaves at 8","encoding":null,"content":null}]
            """
        let value = message(.v3, .created)
        #expect(
            names(of: value) == [
                "id", "url", "conversation", "channel", "parts", "sent_at", "sender", "recipient_status",
            ])
        #expect(value["url"] == .string("\(conversationURL)/messages/\(messageUUID)") && value["channel"] == .null)
        #expect(value["parts"] == json(parts))
        #expect(names(of: message(.v2, .created)) == names(of: value).filter { $0 != "channel" })
        #expect(message(.v2, .created)["parts"] == json(parts))
    }

    @Test("a read answer in 1.x has every member, null without a value")
    func read1() {
        #expect(
            message(.v1, .read)
                == json(
                    """
                    {"id":"layer:///messages/\(messageUUID)","url":"\(conversationURL)/messages/\(messageUUID)","receipts_url":null,"position":null,
                     "conversation":{"id":"layer:///conversations/\(conversationUUID)","url":"\(conversationURL)"},
                     "parts":[{"id":"layer:///messages/\(messageUUID)/parts/0","mime_type":"text/plain","body":"Train leaves at 8","encoding":null,
                       "content":null}],
                     "sent_at":"2018-05-04T09:30:00.125Z","sender":{"user_id":"ana","name":null},
                     "recipient_status":{"ana":"read","ben.o":"sent"},"received_at":null,"is_unread":null,"notification":null}
                    """))
    }

    @Test("a read answer in 3.0 has every member, and parts with URLs")
    func read3() {
        let url = "\(conversationURL)/messages/\(messageUUID)"
        #expect(
            message(.v3, .read)
                == json(
                    """
                    {"id":"layer:///messages/\(messageUUID)","url":"\(url)","receipts_url":null,"position":24576,
                     "conversation":{"id":"layer:///conversations/\(conversationUUID)","url":"\(conversationURL)"},
                     "parts":[{"id":"layer:///messages/\(messageUUID)/parts/\(partUUID)","url":"\(url)/parts/\(partUUID)","message_url":"\(url)",
                       "mime_type":"text/plain","body":"Train leaves at 8","encoding":null,"content":null,"updated_at":null}],
                     "sent_at":"2018-05-04T09:30:00.125Z",
                     "sender":{"id":"layer:///identities/ana","url":"\(Self.base)/users/ana/identity","user_id":"ana","display_name":"Ana Silva",
                       "avatar_url":null},
                     "recipient_status":{"layer:///identities/ana":"read","layer:///identities/ben.o":"sent"},
                     "received_at":null,"is_unread":null,"notification":null,"reply_to":null,"updated_at":null}
                    """))
        let absent = Set(["reply_to", "updated_at"])
        #expect(names(of: message(.v2, .read)) == names(of: message(.v3, .read)).filter { !absent.contains($0) })
    }

    @Test("an event has no members of a single user, and in 1.x equals a read answer")
    func event() {
        let expected = ["id", "url", "position", "conversation", "parts", "sent_at", "sender", "recipient_status"]
        for version in [ServerVersion.v2, .v3] { #expect(names(of: message(version, .event)) == expected) }
        #expect(
            names(of: message(.v3, .event)["parts"]?[0]) == ["id", "url", "mime_type", "body", "encoding", "content"])
        #expect(message(.v1, .event) == message(.v1, .read))
    }

    @Test("a sender with only a name has no id since 2.0, and is a name in 1.x")
    func named() {
        var named = sampleMessage()
        named.sender = .name("Concierge")
        let identity = json(
            #"{"id":null,"url":null,"user_id":null,"display_name":"Concierge","avatar_url":null,"name":"Concierge"}"#)
        for version in [ServerVersion.v2, .v3] {
            for form in [ServerRenderer.Form.created, .read, .event] {
                #expect(message(version, form, named)["sender"] == identity)
            }
        }
        #expect(message(.v1, .created, named)["sender"] == json(#"{"name":"Concierge"}"#))
        #expect(message(.v1, .read, named)["sender"] == json(#"{"user_id":null,"name":"Concierge"}"#))
        let client = written { renderer.writeMessage(named, for: ben.userID, version: .v3, into: &$0) }
        #expect(client["sender"] == identity && client["is_unread"] == .bool(true))
    }

    @Test("the server sees every recipient's status, in conversations of any size")
    func statuses() {
        var large = sampleMessage(
            recipients: (0..<40)
                .map { .init(userID: UserID(trusted: "u\(10 + $0)"), status: .delivered, shownStatus: .sent) })
        large.receiptPolicy = [.noDelivery]
        let statuses = message(.v3, .read, large)["recipient_status"]
        #expect(names(of: statuses).count == 40)
        #expect(statuses?["layer:///identities/u10"] == .string("delivered"))
        let seen = message(.v1, .read, large, reader: UserID(trusted: "u11"))["recipient_status"]
        #expect(seen == json(#"{"u11":"delivered"}"#))
    }

    @Test("a sender who is not a participant is no recipient, in large conversations too")
    func bot() {
        var large = sampleMessage(
            recipients: (0..<40).map { .init(userID: UserID(trusted: "u\(10 + $0)"), status: .sent) })
        large.sender = .user(BasicIdentity(userID: UserID(trusted: "bot"), displayName: "Bot"))
        let client = written { renderer.writeMessage(large, for: UserID(trusted: "u11"), version: .v3, into: &$0) }
        #expect(client["recipient_status"] == json(#"{"layer:///identities/u11":"sent"}"#))
    }

    // MARK: Parts

    @Test("encoded text is returned as text, and other content stays encoded")
    func encoded() {
        let parts = [
            MessagePart(id: uuid(partUUID), mimeType: "image/png", body: "w6k=", encoding: "base64", size: 2),
            MessagePart(id: uuid(messageUUID), mimeType: "image/png", body: "/9j/4A==", encoding: "base64", size: 4),
        ]
        let value = message(.v3, .read, sampleMessage(parts: parts))["parts"]
        #expect(value?[0]?["body"] == .string("é") && value?[0]?["encoding"] == .null)
        #expect(value?[1]?["body"] == .string("/9j/4A==") && value?[1]?["encoding"] == .string("base64"))
        let bare = message(.v1, .created, sampleMessage(parts: parts))["parts"]
        #expect(
            names(of: bare?[0]) == ["mime_type", "body"] && names(of: bare?[1]) == ["mime_type", "body", "encoding"])
    }

    @Test("encoded text is returned as text in the answer to an announcement", arguments: ServerVersion.allCases)
    func encodedAnnouncement(_ version: ServerVersion) {
        let parts = [
            MessagePart(id: uuid(partUUID), mimeType: "text/plain", body: "w6k=", encoding: "base64", size: 2),
            MessagePart(id: uuid(messageUUID), mimeType: "image/png", body: "/9j/4A==", encoding: "base64", size: 4),
        ]
        let sent = written {
            renderer.writeSentAnnouncement(
                AnnouncementID(rawValue: uuid(messageUUID)), sender: .user(ana), recipients: [ben.userID],
                sentAt: created, parts: parts,
                version: version, into: &$0)
        }
        #expect(
            sent["parts"]?[0]?["body"] == .string("é")
                && sent["parts"]?[0]?["encoding"] == (version < .v2 ? nil : .null))
        #expect(
            sent["parts"]?[1]?["body"] == .string("/9j/4A==") && sent["parts"]?[1]?["encoding"] == .string("base64"))
        let message = message(version, .created, sampleMessage(parts: parts))["parts"]
        #expect(
            names(of: sent["parts"]?[0]) == names(of: message?[0])
                && names(of: sent["parts"]?[1]) == names(of: message?[1]))
    }

    @Test("rich content is described with the server's URL for a fresh download URL")
    func content() {
        let id = ContentID(rawValue: uuid(messageUUID))
        let part = MessagePart(id: uuid(partUUID), mimeType: "video/mp4", body: nil, size: 5000, contentID: id)
        for version in ServerVersion.allCases {
            let value = message(version, .read, sampleMessage(parts: [part]))["parts"]?[0]
            #expect(
                value?["content"]
                    == json(
                        """
                        {"id":"layer:///content/\(messageUUID)","size":5000,"download_url":"https://chat.example.org/d/\(messageUUID)",
                         "refresh_url":"\(conversationURL)/content/\(messageUUID)","expiration":"2018-05-04T09:30:00.125Z"}
                        """))
            #expect(value?["body"] == .null)
        }
        #expect(
            names(of: message(.v1, .created, sampleMessage(parts: [part]))["parts"]?[0]) == ["mime_type", "content"])
    }

    // MARK: Failures

    @Test("an error contains the server's object", arguments: ServerVersion.allCases)
    func failure(_ version: ServerVersion) {
        let failure = Failure(.conflict, "There is one.", detail: .conversation(sampleView()))
        let value = written { server(version).writeFailure(failure, into: &$0) }
        #expect(value["id"] == .string("conflict") && value["code"] == .integer(108))
        #expect(value["url"] == .string("https://chat.example.org/docs/errors#conflict"))
        #expect(value["data"] == written { server(version).writeConversation(sampleConversation(), into: &$0) })
        let plain = written { server(version).writeFailure(.missing("parts"), into: &$0) }
        #expect(plain["data"] == json(#"{"property":"parts"}"#))
        let gone = written { server(version).writeFailure(Failure(.objectDeleted, "Gone."), into: &$0) }
        #expect(gone["code"] == .integer(103) && gone["data"] == nil, "nothing to say is no data")
    }
}
