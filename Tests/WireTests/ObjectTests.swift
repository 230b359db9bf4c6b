// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

struct ObjectTests {
    static let anaJSON =
        #"{"id":"layer:///identities/ana","url":"https://chat.example.org/identities/ana","user_id":"ana","display_name":"Ana Silva","avatar_url":null}"#
    static let benJSON =
        #"{"id":"layer:///identities/ben.o","url":"https://chat.example.org/identities/ben.o","user_id":"ben.o","display_name":"Ben \"B\" Okoye","avatar_url":"https://cdn.example.org/b.png"}"#

    static func messageJSON(
        unread: Bool = true, status: String = #""layer:///identities/ana":"read","layer:///identities/ben.o":"sent""#,
        notification: String = "",
        version: WireVersion = .v3
    ) -> String {
        let part =
            version == .v3
            ? """
            {"id":"layer:///messages/\(messageUUID)/parts/\(partUUID)","url":"https://chat.example.org/messages/\(messageUUID)/parts/\(partUUID)",
             "message_url":"https://chat.example.org/messages/\(messageUUID)","mime_type":"text/plain","body":"Train leaves at 8","size":17}
            """
            : """
            {"id":"layer:///messages/\(messageUUID)/parts/0","mime_type":"text/plain","body":"Train leaves at 8","size":17}
            """
        return """
            {"id":"layer:///messages/\(messageUUID)","url":"https://chat.example.org/messages/\(messageUUID)",
             "receipts_url":"https://chat.example.org/messages/\(messageUUID)/receipts","position":24576,
             "conversation":{"id":"layer:///conversations/\(conversationUUID)","url":"https://chat.example.org/conversations/\(conversationUUID)"},
             "parts":[\(part)],"sent_at":"2018-05-04T09:30:00.125Z","updated_at":null,"sender":\(anaJSON),"is_unread":\(unread),
             "recipient_status":{\(status)}\(notification)}
            """
    }

    @Test("a message has a rendering for its recipient, in both versions", arguments: WireVersion.allCases)
    func message(version: WireVersion) {
        let value = written { renderer.writeMessage(sampleMessage(), for: ben.userID, version: version, into: &$0) }
        #expect(value == json(Self.messageJSON(version: version)))
    }

    @Test("the reader determines whether a message is unread")
    func unread() {
        let read = sampleMessage(recipients: [
            .init(userID: ana.userID, status: .read), .init(userID: ben.userID, status: .read),
        ])
        for (message, reader, expected) in [
            (sampleMessage(), ana, false), (sampleMessage(), ben, true), (sampleMessage(), cleo, false),
            (read, ben, false),
        ] {
            let value = written { renderer.writeMessage(message, for: reader.userID, version: .v3, into: &$0) }
            #expect(value["is_unread"] == .bool(expected))
        }
    }

    @Test("a notification is shown only on request, and only to those who have not read the message")
    func notification() {
        let message = sampleMessage(notification: #"{"text":"hi"}"#)
        #expect(
            written { renderer.writeMessage(message, for: ben.userID, version: .v3, into: &$0) }["notification"] == nil)
        let shown = written {
            renderer.writeMessage(message, for: ben.userID, version: .v3, withNotification: true, into: &$0)
        }
        #expect(shown == json(Self.messageJSON(notification: #","notification":{"text":"hi"}"#)))
        #expect(
            written {
                renderer.writeMessage(message, for: ana.userID, version: .v3, withNotification: true, into: &$0)
            }["notification"] == nil)
    }

    @Test("all parts are shown verbatim, numbered in 2.0 and named in 3.0")
    func parts() {
        let second = uuid(conversationUUID)
        let parts = [
            MessagePart(
                id: uuid(partUUID), mimeType: "application/x+json;role=root", body: "{\"a\":\"é\n\"}", size: 10),
            MessagePart(id: second, mimeType: "image/png", body: "AAEC", encoding: "base64", size: 3),
            MessagePart(id: uuid(messageUUID), mimeType: "x/y", body: nil, size: 0),
        ]
        let message = sampleMessage(parts: parts)
        let v2 = written { renderer.writeMessage(message, for: ben.userID, version: .v2, into: &$0) }["parts"]
        #expect(
            v2
                == json(
                    """
                    [{"id":"layer:///messages/\(messageUUID)/parts/0","mime_type":"application/x+json;role=root","body":"{\\"a\\":\\"é\\n\\"}","size":10},
                     {"id":"layer:///messages/\(messageUUID)/parts/1","mime_type":"image/png","body":"AAEC","encoding":"base64","size":3},
                     {"id":"layer:///messages/\(messageUUID)/parts/2","mime_type":"x/y","size":0}]
                    """))
        let v3 = written { renderer.writeMessage(message, for: ben.userID, version: .v3, into: &$0) }["parts"]
        #expect(v3?[1]?["id"] == .string("layer:///messages/\(messageUUID)/parts/\(conversationUUID)"))
        #expect(v3?[1]?["url"] == .string("https://chat.example.org/messages/\(messageUUID)/parts/\(conversationUUID)"))
    }

    @Test("the sender in a large conversation sees all statuses, others only the sender's and their own")
    func largeConversation() {
        let many = (10..<40).map { Message.Recipient(userID: UserID(trusted: "user\($0)"), status: .delivered) }
        let message = sampleMessage(recipients: [.init(userID: ana.userID, status: .read)] + many)
        let forSender = written { renderer.writeMessage(message, for: ana.userID, version: .v3, into: &$0) }[
            "recipient_status"]
        #expect(forSender?.objectValue?.count == 31)
        let forOther = written {
            renderer.writeMessage(message, for: UserID(trusted: "user17"), version: .v3, into: &$0)
        }["recipient_status"]
        #expect(forOther == json(#"{"layer:///identities/ana":"read","layer:///identities/user17":"delivered"}"#))
        let forStranger = written { renderer.writeMessage(message, for: cleo.userID, version: .v3, into: &$0) }[
            "recipient_status"]
        #expect(forStranger == json(#"{"layer:///identities/ana":"read"}"#))
        let small = sampleMessage(recipients: Array(message.recipients.prefix(25)))
        let all = written { renderer.writeMessage(small, for: UserID(trusted: "user17"), version: .v3, into: &$0) }[
            "recipient_status"]
        #expect(all?.objectValue?.count == 25)
    }

    @Test("a conversation has a rendering for its participants")
    func conversation() {
        let value = written {
            renderer.writeConversation(
                sampleView(lastMessage: sampleMessage()), for: ben.userID, version: .v2, into: &$0)
        }
        #expect(
            value
                == json(
                    """
                    {"id":"layer:///conversations/\(conversationUUID)","url":"https://chat.example.org/conversations/\(conversationUUID)",
                     "messages_url":"https://chat.example.org/conversations/\(conversationUUID)/messages","created_at":"2018-05-04T09:30:00.125Z",
                     "participants":[\(Self.anaJSON),\(Self.benJSON)],"distinct":true,"metadata":{"trip":{"city":"Porto"}},
                     "delivery_receipts":true,"read_receipts":true,"position":4,"epoch":"e1",
                     "last_message":\(Self.messageJSON(version: .v2)),"unread_message_count":3,"total_message_count":4}
                    """))
    }

    @Test("required members are never null, and a user who left sees no participants")
    func conversationEdges() {
        let value = written {
            renderer.writeConversation(
                sampleView(isParticipant: false, metadata: nil), for: ben.userID, version: .v3, into: &$0)
        }
        #expect(value["participants"] == .array([]))
        #expect(value["metadata"] == .object([]))
        #expect(value["last_message"] == .null)
        #expect(value["unread_message_count"] == .integer(3))
    }

    @Test("a full identity has all members, the metadata sorted")
    func identity() {
        let identity = Identity(
            basic: ana, firstName: "Ana", emailAddress: "a@b.c", kind: .bot, metadata: ["z": "1", "a": "\""])
        #expect(
            written { renderer.writeIdentity(identity, into: &$0) }
                == json(
                    """
                    {"id":"layer:///identities/ana","url":"https://chat.example.org/identities/ana","user_id":"ana","display_name":"Ana Silva",
                     "avatar_url":null,"first_name":"Ana","last_name":null,"phone_number":null,"email_address":"a@b.c","public_key":null,
                     "type":"bot","identity_type":"bot","metadata":{"a":"\\"","z":"1"}}
                    """))
        let present = written {
            renderer.writeIdentity(identity, presence: Presence(status: .away, lastSeenAt: created), into: &$0)
        }
        #expect(present["presence"] == json(#"{"status":"away","last_seen_at":"2018-05-04T09:30:00.125Z"}"#))
        #expect(written { renderer.writeIdentity(Identity(basic: cleo), into: &$0) }["metadata"] == .object([]))
    }

    @Test("unusual user ids are encoded in ids and URLs, and literal in user_id")
    func oddUser() {
        let value = written {
            renderer.writeBasicIdentity(BasicIdentity(userID: UserID(trusted: "a/b \"é")), into: &$0)
        }
        #expect(value["id"] == .string("layer:///identities/a%2Fb%20%22%C3%A9"))
        #expect(value["url"] == .string("https://chat.example.org/identities/a%2Fb%20%22%C3%A9"))
        #expect(value["user_id"] == .string("a/b \"é"))
    }

    @Test("every failure has all members, and its data is an object")
    func failures() {
        for code in Failure.Code.allCases {
            let value = written {
                renderer.writeFailure(Failure(code, "Why \"so\"?"), for: nil, version: .v3, into: &$0)
            }
            #expect(
                value
                    == json(
                        """
                        {"id":"\(code.id)","code":\(code.rawValue),"message":"Why \\"so\\"?","url":"https://chat.example.org/docs/errors#\(code.id)","data":{}}
                        """))
        }
    }

    @Test("a failure's data names its subject")
    func failureDetails() {
        func data(_ detail: Failure.Detail, for reader: UserID? = ben.userID) -> JSONValue? {
            written {
                renderer.writeFailure(Failure(.conflict, "x", detail: detail), for: reader, version: .v3, into: &$0)
            }["data"]
        }
        #expect(data(.property("parts.0.mime_type")) == json(#"{"property":"parts.0.mime_type"}"#))
        #expect(data(.header("Accept")) == json(#"{"header":"Accept"}"#))
        #expect(data(.nonce("n")) == json(#"{"nonce":"n"}"#))
        #expect(data(.message(sampleMessage())) == json(Self.messageJSON()))
        #expect(
            data(.conversation(sampleView()))
                == written { renderer.writeConversation(sampleView(), for: ben.userID, version: .v3, into: &$0) })
        #expect(data(.message(sampleMessage()), for: nil) == .object([]))
        #expect(data(.conversation(sampleView()), for: nil) == .object([]))
    }

    @Test("URLs are built from a base with or without a trailing slash")
    func urls() {
        let renderer = Renderer(baseURL: "https://h:8443/chat/", webSocketURL: "wss://h:8443/chat//")
        #expect(renderer.baseURL == "https://h:8443/chat")
        #expect(
            renderer.linkHeader
                == "<https://h:8443/chat/nonces>; rel=nonces, <https://h:8443/chat/sessions>; rel=sessions, "
                + "<https://h:8443/chat/conversations>; rel=conversations, <https://h:8443/chat/content>; rel=content, <wss://h:8443/chat>; rel=websocket"
        )
        #expect(renderer.url(of: conversationID) == "https://h:8443/chat/conversations/\(conversationUUID)")
        #expect(renderer.url(of: messageID) == "https://h:8443/chat/messages/\(messageUUID)")
        #expect(renderer.url(of: UserID(trusted: "a b")) == "https://h:8443/chat/identities/a%20b")
        let value = written { renderer.writeMessage(sampleMessage(), for: ben.userID, version: .v3, into: &$0) }
        #expect(value["url"] == .string("https://h:8443/chat/messages/\(messageUUID)"))
    }

    @Test(
        "the version is parsed from an Accept header",
        arguments: [
            ("application/vnd.layer+json; version=3.0", WireVersion.v3),
            ("application/vnd.layer+json;version=2.0", .v2),
            ("application/vnd.layer+json; charset=utf-8; version=\"3.0\"", .v3),
            ("text/html, Application/vnd.layer+JSON ; Version = 2.0 , */*", .v2),
            ("application/vnd.layer+json; version=1.0, application/vnd.layer+json; version=3.0", .v3),
            ("application/vnd.layer+json", nil),
            ("application/vnd.layer+json; version=1.0", nil), ("application/vnd.layer+json; version=3", nil),
            ("application/json; version=3.0", nil),
            ("", nil),
            ("*/*", nil), (";;,,=;", nil),
        ] as [(String, WireVersion?)])
    func accept(header: String, version: WireVersion?) {
        #expect(WireVersion(accept: header) == version)
    }

    @Test(
        "the Server API has two more versions, whose objects equal those of 2.0",
        arguments: [
            ("application/vnd.layer+json; version=1.0", ServerVersion.v1, WireVersion.v2),
            ("application/vnd.layer+json;version=\"1.1\"", .v1_1, .v2),
            ("application/vnd.layer+json ; version = 2.0", .v2, .v2),
            ("application/vnd.layer+json; version=3.0", .v3, .v3),
            ("application/vnd.layer+json; version=4.0", nil, nil), ("application/json", nil, nil),
        ] as [(String, ServerVersion?, WireVersion?)])
    func acceptOfServer(header: String, version: ServerVersion?, objects: WireVersion?) {
        #expect(ServerVersion(accept: header) == version)
        #expect(ServerVersion(accept: header)?.clientVersion == objects)
        // Webhooks have no version 1.1.
        #expect(ServerVersion(accept: header, isOfWebhooks: true) == (version == .v1_1 ? nil : version))
    }

    @Test("objects for an app's own server have URLs below another path, and errors do not")
    func below() {
        let renderer = Renderer(baseURL: "https://chat.test/", webSocketURL: "wss://chat.test")
            .withBasePath("/apps/a/users/u")
        var writer = JSONWriter()
        renderer.writeBasicIdentity(BasicIdentity(userID: UserID(trusted: "x/y")), into: &writer)
        let identity = String(buffer: writer.buffer)
        #expect(identity.contains("\"https://chat.test/apps/a/users/u/identities/x%2Fy\""))
        writer = JSONWriter()
        renderer.writeFailure(.unavailable, for: nil, version: .v3, into: &writer)
        #expect(String(buffer: writer.buffer).contains("\"https://chat.test/docs/errors#service_unavailable\""))
        #expect(renderer.linkHeader.contains("<https://chat.test/conversations>"))
        #expect(
            renderer.nextPage(ofList: "/conversations", query: nil, after: "c")
                .contains("https://chat.test/apps/a/users/u/conversations?"))
    }

    @Test("the version equals that of the subprotocol")
    func subprotocols() {
        #expect(WireVersion(subprotocol: "layer-2.0") == .v2)
        #expect(WireVersion(subprotocol: "layer-3.0") == .v3)
        #expect(WireVersion(subprotocol: "layer-1.0") == nil)
        for version in WireVersion.allCases { #expect(WireVersion(subprotocol: version.subprotocol) == version) }
    }
}
