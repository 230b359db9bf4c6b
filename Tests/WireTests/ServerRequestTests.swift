// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire
import Testing

/// Requests of apps' own servers, in each version.
struct ServerRequestTests {
    private static let parts = #""parts":[{"mime_type":"text/plain","body":"hi"}]"#

    private func message(_ text: String, _ version: ServerVersion = .v3) throws -> ServerMessageBody {
        try ServerMessageBody(json(text), version: version)
    }

    @Test("a sender since 2.0 is an identity or user id; in 1.x a user or name, with extra members ignored")
    func senders() throws {
        for version in [ServerVersion.v2, .v3] {
            for id in ["layer:///identities/team%2Fana", "team/ana"] {
                #expect(
                    try message(#"{"sender_id":"\#(id)",\#(Self.parts)}"#, version).sender
                        == .user(UserID(trusted: "team/ana")))
            }
        }
        for version in [ServerVersion.v1, .v1_1] {
            let user = try message(
                #"{"sender":{"user_id":"50% ana","name":null,"display_name":"A"},\#(Self.parts)}"#, version)
            #expect(user.sender == .user(UserID(trusted: "50% ana")))
            #expect(
                try message(#"{"sender":{"name":"Concierge","user_id":""},\#(Self.parts)}"#, version).sender
                    == .name("Concierge"))
        }
    }

    @Test(
        "message errors are named, missing properties first",
        arguments: [
            ("{}", ServerVersion.v3, Failure.Code.missingProperty, "sender_id"),
            ("{}", .v1, .missingProperty, "sender"),
            (#"{"sender":{"user_id":"a"}}"#, .v1, .missingProperty, "parts"),
            (#"{"sender_id":"a"}"#, .v2, .missingProperty, "parts"),
            (#"{"sender":{}}"#, .v1_1, .missingProperty, "sender.user_id"),
            (#"{"sender":{"user_id":"a","name":"b"},"parts":[]}"#, .v1, .invalidProperty, "sender"),
            (#"{"sender":"a","parts":[]}"#, .v1, .invalidProperty, "sender"),
            (#"{"sender_id":5,"parts":[]}"#, .v3, .invalidProperty, "sender_id"),
            (#"{"sender_id":"a","parts":[]}"#, .v3, .invalidProperty, "parts"),
            (#"{"sender_id":"a","parts":{}}"#, .v3, .invalidProperty, "parts"),
            (#"{"sender_id":"a","parts":[{"body":"x"}]}"#, .v3, .missingProperty, "parts.0.mime_type"),
            (#"{"sender_id":"a","parts":[{"mime_type":"x"}]}"#, .v3, .invalidProperty, "parts.0.body"),
            (
                #"{"sender_id":"a","parts":[{"mime_type":"x","body":"=","encoding":"base64"}]}"#, .v3, .invalidProperty,
                "parts.0.body"
            ),
        ])
    func wrong(_ text: String, _ version: ServerVersion, _ code: Failure.Code, _ property: String) {
        let found = failure { _ = try message(text, version) }
        #expect(found?.code == code && found?.property == property)
    }

    @Test("text has a limit in bytes, also after decoding")
    func bytes() throws {
        func body(_ text: String) -> String { #"{"sender_id":"a","parts":[{"mime_type":"x","body":"\#(text)"}]}"# }
        #expect(try message(body(String(repeating: "é", count: 1024))).content.parts[0].size == 2048)
        let found = failure { _ = try message(body(String(repeating: "é", count: 1024) + "a")) }
        #expect(found?.code == .invalidProperty && found?.property == "parts.0.body")
        #expect(try message(body("")).content.parts[0].size == 0)
    }

    @Test("a stated content size is passed to the service for comparison, and an invalid one matches no content")
    func statedSizes() throws {
        func stated(_ member: String) throws -> Int? {
            let body =
                #"{"sender_id":"a","parts":[{"mime_type":"x","content":{"id":"layer:///content/\#(messageUUID)"\#(member)}}]}"#
            return try message(body).content.parts[0].statedSize
        }
        for member in ["", #","size":null"#] { #expect(try stated(member) == nil) }
        #expect(try stated(#","size":3000"#) == 3000)
        #expect(try stated(#","size":0"#) == 0)
        for member in [#","size":-3000"#, #","size":"3000""#, #","size":3000.5"#, #","size":{}"#] {
            #expect(try stated(member) == -1)
        }
    }

    @Test("an empty text as an id or encoding equals an absent one")
    func empty() throws {
        let body = try message(
            #"{"id":"","sender_id":"a","parts":[{"id":"","mime_type":"x","body":"","encoding":""}]}"#)
        #expect(body.content.id == nil && body.content.parts.map(\.body) == [""])
        #expect(try CreateConversationBody(json(#"{"id":"","participants":["a"]}"#), from: .server).id == nil)
    }

    @Test(
        "an announcement may have an id, and an empty text as an id or encoding equals an absent one",
        arguments: ServerVersion.allCases)
    func announcements(_ version: ServerVersion) throws {
        func announcement(_ id: String, _ part: String) throws -> AnnouncementBody {
            let sender = version < .v2 ? #""sender":{"name":"Team"}"# : #""sender_id":"ana""#
            return try AnnouncementBody(
                json(#"{"id":\#(id),\#(sender),"recipients":["ben"],"parts":[\#(part)]}"#), version: version)
        }
        let part = #"{"id":"","mime_type":"x","body":"y","encoding":""}"#
        for id in ["null", "\"\""] { #expect(try announcement(id, part).id == nil) }
        for id in [messageUUID, "layer:///announcements/\(messageUUID)"] {
            #expect(try announcement("\"\(id)\"", part).id == AnnouncementID(rawValue: uuid(messageUUID)))
        }
        let wrong = failure { _ = try announcement("\"7\"", part) }
        #expect(wrong?.code == .invalidProperty && wrong?.property == "id")
        let empty = failure { _ = try announcement("null", #"{"mime_type":"x"}"#) }
        #expect(empty?.code == .invalidProperty && empty?.property == "parts.0.body")
    }

    @Test("a part requires a body or content: without both the body is invalid, and a missing type is missing")
    func emptyParts() throws {
        let one = failure { _ = try PartBody.fromServer(json(#"{"mime_type":"x"}"#)) }
        #expect(one?.code == .invalidProperty && one?.property == "body")
        let many = failure {
            _ = try PartBody.fromServer([json(#"{"mime_type":"x","body":""}"#), json(#"{"mime_type":"x"}"#)])
        }
        #expect(many?.code == .invalidProperty && many?.property == "parts.1.body")
        #expect(try PartBody.fromServer(json(#"{"id":"","body":"x"}"#)) == json(#"{"body":"x"}"#))
    }

    @Test("a delay has from 1 to 300 s, typing at most as many, and 0 means none")
    func schedules() throws {
        func schedule(_ text: String) throws -> ServerMessageBody.Schedule? {
            try message(#"{"sender_id":"a",\#(Self.parts),"schedule":\#(text)}"#).schedule
        }
        #expect(try schedule("null") == nil)
        #expect(try schedule(#"{"delay_in_seconds":1}"#) == .init(delay: 1000, typing: 0))
        #expect(
            try schedule(#"{"delay_in_seconds":2.5,"typing_indicator_in_seconds":0.0}"#)
                == .init(delay: 2500, typing: 0))
        #expect(
            try schedule(#"{"delay_in_seconds":300,"typing_indicator_in_seconds":300.0}"#)
                == .init(delay: 300_000, typing: 300_000))
        let wrong = [
            ("5", "schedule"), ("{}", "schedule.delay_in_seconds"),
            (#"{"delay_in_seconds":0.9}"#, "schedule.delay_in_seconds"),
            (#"{"delay_in_seconds":300.1}"#, "schedule.delay_in_seconds"),
            (#"{"delay_in_seconds":"5"}"#, "schedule.delay_in_seconds"),
            (#"{"delay_in_seconds":5,"typing_indicator_in_seconds":5.1}"#, "schedule.typing_indicator_in_seconds"),
            (#"{"delay_in_seconds":5,"typing_indicator_in_seconds":0.5}"#, "schedule.typing_indicator_in_seconds"),
            (#"{"delay_in_seconds":5,"typing_indicator_in_seconds":-1}"#, "schedule.typing_indicator_in_seconds"),
        ]
        for (text, property) in wrong { #expect(failure { _ = try schedule(text) }?.property == property, "\(text)") }
    }

    @Test("an array has from 1 to 12 messages, and an error in one names it")
    func batches() throws {
        let one = #"{"sender_id":"a",\#(Self.parts)}"#
        func read(_ count: Int) throws -> (messages: [ServerMessageBody], isBatch: Bool) {
            try ServerMessageBody.messages(
                json("[" + Array(repeating: one, count: count).joined(separator: ",") + "]"), version: .v3)
        }
        #expect(try read(12).messages.count == 12 && read(1).isBatch)
        #expect(try ServerMessageBody.messages(json(one), version: .v3).isBatch == false)
        #expect(failure { _ = try read(13) }?.code == .invalidProperty)
        #expect(failure { _ = try read(0) }?.code == .invalidRequest)
        let found = failure { _ = try ServerMessageBody.messages(json(#"[\#(one),{"sender_id":"a"}]"#), version: .v3) }
        #expect(found?.code == .missingProperty && found?.property == "1.parts")
    }

    @Test("a webhook of 1.0 may use event names from before the release, and stores each released name once")
    func webhookEvents() throws {
        func events(_ names: String, _ version: String = "1.0") throws -> [String] {
            let body =
                #"{"version":"\#(version)","target_url":"https://example.org/","secret":"s","events":[\#(names)]}"#
            return try WebhookBody(json(body)).events
        }
        let released = ["conversation.updated.metadata", "conversation.updated.participants"]
        #expect(try events(#""conversation.metadata_updated","conversation.participants_updated""#) == released)
        #expect(try events(#""conversation.metadata_updated","\#(released[0])","\#(released[1])""#) == released)
        for (names, version) in [
            (#""conversation.updated""#, "1.0"), (#""conversation.metadata_updated""#, "2.0"),
            (#""\#(released[0])""#, "3.0"),
        ] {
            let found = failure { _ = try events(names, version) }
            #expect(found?.code == .invalidProperty && found?.property == "events.0", "\(names)")
        }
    }

    @Test("a conversation is created for at least one user, whose id is taken literally")
    func conversations() throws {
        let body = try CreateConversationBody(
            json(
                #"{"participants":["50%","team/ana","layer:///identities/50%25"],"distinct":false,"metadata":null,"significance":3}"#
            ), from: .server
        )
        #expect(body.participants == [UserID(trusted: "50%"), UserID(trusted: "team/ana")])
        #expect(body.isDistinct == false && body.metadata == nil)
        #expect(try CreateConversationBody(json(#"{"participants":["a"]}"#), from: .server).isDistinct)
        for (text, code) in [
            ("{}", Failure.Code.missingProperty), (#"{"participants":null}"#, .missingProperty),
            (#"{"participants":[]}"#, .invalidProperty),
            (#"{"participants":"a"}"#, .invalidProperty),
        ] {
            let found = failure { _ = try CreateConversationBody(json(text), from: .server) }
            #expect(found?.code == code && found?.property == "participants", "\(text)")
        }
    }

    @Test("participants are patched by id or by value, in both spellings")
    func participants() throws {
        let patch = try ConversationPatch(
            json(
                """
                [{"operation":"add","property":"participants","value":"50%"},
                 {"operation":"add","property":"participants","id":"layer:///identities/team%2Fana","index":0},
                 {"operation":"remove","property":"participants","id":"","value":"layer:///identities/ben"},
                 {"operation":"set","property":"participants","value":["a","b"]},
                 {"operation":"set","property":"participants","id":["layer:///identities/c"]}]
                """), from: .server)
        #expect(
            patch.participants == [
                .add(UserID(trusted: "50%")), .add(UserID(trusted: "team/ana")), .remove(UserID(trusted: "ben")),
                .set([UserID(trusted: "a"), UserID(trusted: "b")]), .set([UserID(trusted: "c")]),
            ])
    }

    @Test("all metadata can be set and deleted")
    func metadata() throws {
        let patch = try ConversationPatch(
            json(
                """
                [{"operation":"set","property":"metadata","value":{"a":"1"}},{"operation":"set","property":"metadata","value":null},
                 {"operation":"delete","property":"metadata.a.b"}]
                """), from: .server)
        #expect(
            patch.metadata == [
                .set(.root, leaves: [MetadataLeaf(path: MetadataPath(trusted: "a"), value: "1")]),
                .set(.root, leaves: []),
                .delete(MetadataPath(trusted: "a.b")),
            ])
        #expect(try ConversationPatch(json("[]"), from: .server).isEmpty)
    }

    @Test(
        "an invalid patch has the errors of the Server API",
        arguments: [
            ("{}", Failure.Code.invalidRequest, nil), (#"[{}]"#, .missingProperty, "0.operation"),
            (#"[{"operation":"rename","property":"metadata.a"}]"#, .invalidOperation, "0.operation"),
            (#"[{"operation":"set"}]"#, .missingProperty, "0.property"),
            (#"[{"operation":"set","property":"metadata.a"}]"#, .missingProperty, "0.value"),
            (#"[{"operation":"set","property":"created_at","value":"x"}]"#, .invalidProperty, "created_at"),
            (#"[{"operation":"delete","property":"metadata"}]"#, .invalidProperty, "metadata"),
            (#"[{"operation":"delete","property":"participants"}]"#, .invalidProperty, "participants"),
            (#"[{"operation":"add","property":"participants","value":["a"]}]"#, .invalidProperty, "participants"),
            (#"[{"operation":"set","property":"metadata.a","value":5}]"#, .invalidProperty, "metadata.a"),
        ] as [(String, Failure.Code, String?)])
    func wrongPatch(_ text: String, _ code: Failure.Code, _ property: String?) {
        let found = failure { _ = try ConversationPatch(json(text), from: .server) }
        #expect(found?.code == code && found?.property == property)
    }
}
