// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import StrataWire

/// Request bodies with which an app's own server manages its users.
@Suite struct UserBodyTests {
    private let ana = UserID(trusted: "ana")

    private func failure<T>(_ body: () throws -> T) -> Failure? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? Failure
        }
    }

    @Test("a replaced identity has the named members, and null equals an absent one")
    func whole() throws {
        let body = try IdentityBody(
            json(
                #"{"display_name":"Ana","first_name":null,"metadata":{"a":"1","b":null},"type":"Bot","user_id":"ana","other":[1]}"#
            ), of: ana)
        #expect(body.texts == ["display_name": "Ana"])
        #expect(body.metadata == ["a": "1"] && body.kind == .bot && body.keys.isEmpty)
    }

    @Test("an empty type of an identity, and an empty user id, equal absent ones")
    func emptyTypes() throws {
        let body = try IdentityBody(json(#"{"display_name":"Ana","identity_type":"","type":"","user_id":""}"#), of: ana)
        #expect(body.kind == nil && body.texts == ["display_name": "Ana"])
    }

    @Test("a badge is patched by its property; an empty patch changes nothing, and a replacement requires the property")
    func badge() throws {
        #expect(try BadgeBody(patch: json("[]")).externalUnreadCount == nil)
        let patch = json(#"[{"operation":"set","property":"external_unread_count","value":3}]"#)
        #expect(try BadgeBody(patch: patch).externalUnreadCount == 3)
        #expect(failure { try BadgeBody(json("{}")) }?.code == .missingProperty)
    }

    @Test("a patch runs in order: setting the whole metadata overrides earlier keys")
    func patched() throws {
        let body = try IdentityBody(
            patch: json(
                #"""
                [{"operation":"set","property":"metadata.a","value":"1"},{"operation":"set","property":"metadata","value":{"b":"2"}},
                 {"operation":"delete","property":"metadata.c"},{"operation":"set","property":"first_name","value":"x"},
                 {"operation":"delete","property":"first_name"},{"operation":"set","property":"identity_type","value":"user"}]
                """#))
        #expect(
            body.metadata == ["b": "2"] && body.keys == ["c": nil] && body.texts == ["first_name": nil]
                && body.kind == .user)
        #expect(try IdentityBody(patch: json("[]")).isEmpty)
    }

    @Test("a key of an identity's metadata may have an escaped dot")
    func escaped() throws {
        let body = try IdentityBody(patch: json(#"[{"operation":"set","property":"metadata.a\\.b","value":"1"}]"#))
        #expect(body.keys == ["a.b": "1"])
    }

    @Test(
        "an invalid patch is refused by name",
        arguments: [
            (#"{}"#, Failure.Code.invalidRequest, nil), (#"[1]"#, .invalidRequest, nil),
            (#"[{"property":"first_name"}]"#, .missingProperty, "0.operation"),
            (#"[{"operation":"set"}]"#, .missingProperty, "0.property"),
            (#"[{"operation":"set","property":""}]"#, .invalidProperty, "0.property"),
            (#"[{"operation":"set","property":"first_name"}]"#, .missingProperty, "0.value"),
            (#"[{"operation":"set","property":"presence","value":"x"}]"#, .invalidProperty, "presence"),
            (#"[{"operation":"set","property":"metadata.a","value":1}]"#, .invalidProperty, "metadata.a"),
            (#"[{"operation":"remove","property":"metadata","value":"a"}]"#, .invalidOperation, "metadata"),
        ] as [(String, Failure.Code, String?)])
    func wrong(_ text: String, _ code: Failure.Code, _ property: String?) throws {
        let failure = failure { try IdentityBody(patch: json(text)) }
        #expect(failure?.code == code)
        if let property { #expect(failure?.detail == .property(property)) }
    }

    @Test("limits count Unicode scalars, and a NUL cannot be stored")
    func limits() throws {
        let long = String(repeating: "é", count: 128)
        #expect(
            try IdentityBody(.object([.init("display_name", value: .string(long))]), of: ana).texts["display_name"]
                == long)
        for text in [long + "x", "a\u{0}"] {
            #expect(
                failure { try IdentityBody(.object([.init("display_name", value: .string(text))]), of: ana) }?.detail
                    == .property("display_name"))
        }
    }

    @Test("settings of an app and of a user are parsed, and the last operation counts")
    func settings() throws {
        let user = try UserPatch(
            json(
                #"[{"operation":"set","property":"suspended","value":true},{"operation":"set","property":"suspended","value":false}]"#
            ))
        #expect(user.isSuspended == false)
        let app = try AppPatch(
            json(
                #"[{"operation":"set","property":"session_ttl_in_seconds","value":30},{"operation":"set","property":"badge_counts","value":"external"}]"#
            ))
        #expect(app.sessionTTL == 30 && app.badgeCounts == .external && app.badgeAnnouncements == nil)
        #expect(
            try AppPatch(json(#"[{"operation":"set","property":"session_ttl_in_seconds","value":null}]"#)).sessionTTL
                == 0)
        #expect(
            failure { try UserPatch(json(#"[{"operation":"delete","property":"suspended"}]"#)) }?.code
                == .invalidOperation)
    }

    @Test(
        "an app setting selects who may add users and how often non-followed users may; other values are refused by name"
    )
    func adding() throws {
        let app = try AppPatch(
            json(
                #"[{"operation":"set","property":"participants_added_by","value":"followed"},{"operation":"set","property":"stranger_additions_per_hour","value":0}]"#
            ))
        #expect(app.participantsAddedBy == .followed && app.strangerAdditionsPerHour == 0 && app.badgeCounts == nil)
        for (property, wrong) in [
            ("participants_added_by", ["\"nobody\"", "null", "1"]),
            ("stranger_additions_per_hour", ["-1", "10001", "1.5", "null", "\"1\""]),
        ] {
            for value in wrong {
                let refusal = failure {
                    try AppPatch(json(#"[{"operation":"set","property":"\#(property)","value":\#(value)}]"#))
                }
                #expect(
                    refusal?.code == .invalidProperty && refusal?.detail == .property(property), "\(property) \(value)")
            }
        }
    }

    @Test("a user to block is named by value or by id, and an array replaces the whole list")
    func blocks() throws {
        let patch = try UserPatch(
            json(
                #"[{"operation":"set","property":"blocks","value":["ana"]},{"operation":"add","property":"blocks","id":"layer:///identities/ben"},{"operation":"remove","property":"blocks","value":"ana"}]"#
            ))
        let ben = UserID(trusted: "ben")
        #expect(patch.blocks == [.set([ana]), .add([ben]), .remove([ana])])
        #expect(patch.isSuspended == nil)
        #expect(
            patch.blocks.map { $0.blocks(ana) } == [true, false, false]
                && patch.blocks.map { $0.blocks(ben) } == [false, true, false])
        let empty = try UserPatch(
            json(
                #"[{"operation":"add","property":"blocks","id":"","value":"ben"},{"operation":"remove","property":"blocks","id":null,"value":"ana"},{"operation":"set","property":"blocks","id":[]},{"operation":"set","property":"blocks","id":["ben"]}]"#
            ))
        #expect(empty.blocks == [.add([ben]), .remove([ana]), .set([]), .set([ben])])
        for wrong in [
            #"{"operation":"add","property":"blocks","value":["ana"]}"#,
            #"{"operation":"set","property":"blocks","value":"ana"}"#,
        ] {
            #expect(failure { try UserPatch(json("[\(wrong)]")) }?.detail == .property("blocks"))
        }
        #expect(
            failure { try UserPatch(json(#"[{"operation":"delete","property":"blocks"}]"#)) }?.code == .invalidOperation
        )
    }

    @Test("an app's own server spells the users of block lists literally, or as ids of identities")
    func blockedAsSpelled() throws {
        for (text, user) in [
            ("team/ana", "team/ana"), ("100%", "100%"), ("a%2Fb", "a%2Fb"), ("layer:///identities/a%2Fb", "a/b"),
        ] {
            let id = UserID(trusted: user)
            #expect(try BlockBody(json(#"{"user_id":"\#(text)"}"#)).user == id)
            let patch = try UserPatch(
                json(
                    #"[{"operation":"set","property":"blocks","value":["\#(text)"]},{"operation":"remove","property":"blocks","id":"\#(text)"}]"#
                ))
            #expect(patch.blocks == [.set([id]), .remove([id])])
        }
        #expect(failure { try BlockBody(json(#"{"user_id":""}"#)) }?.detail == .property("user_id"))
    }

    @Test("a notification keeps its recipient overrides by user id, in any spelling")
    func notification() throws {
        let body = try NotificationBody(
            json(
                #"{"recipients":["a/b","layer:///identities/a%2Fb"],"notification":{"text":"x","sound":null,"recipients":{"layer:///identities/a%2Fb":{"text":"y","sound":null}}}}"#
            ))
        #expect(body.recipients == [UserID(trusted: "a/b")])
        #expect(body.notification == #"{"text":"x"}"#)
        #expect(body.overrides == #"{"a/b":{"text":"y"}}"#)
    }

    @Test("a sender is a name in 1.x and a user since 2.0", arguments: ServerVersion.allCases)
    func sender(_ version: ServerVersion) throws {
        let parts = #""recipients":["ana"],"parts":[{"mime_type":"text/plain","body":"x"}]"#
        let (name, user) = (
            #"{"sender":{"name":"Team"},\#(parts)}"#, #"{"sender_id":"layer:///identities/bot",\#(parts)}"#
        )
        if version < .v2 {
            #expect(try AnnouncementBody(json(name), version: version).sender == .name("Team"))
            #expect(failure { try AnnouncementBody(json(user), version: version) }?.detail == .property("sender"))
        } else {
            #expect(try AnnouncementBody(json(user), version: version).sender == .user(UserID(trusted: "bot")))
            #expect(failure { try AnnouncementBody(json(name), version: version) }?.detail == .property("sender_id"))
        }
    }

    @Test("objects have every member, and URLs below the app's path")
    func objects() {
        let renderer = Renderer(baseURL: "https://x.org", webSocketURL: "wss://x.org").withBasePath("/apps/a")
        let identity = Identity(
            basic: BasicIdentity(userID: UserID(trusted: "a/b"), displayName: "A"), kind: .bot, metadata: ["k": "v"])
        let rest = #""first_name":null,"last_name":null,"phone_number":null,"email_address":null,"public_key":null"#
        let head =
            #"{"id":"layer:///identities/a%2Fb","url":"https://x.org/apps/a/users/a%2Fb/identity","user_id":"a/b","display_name":"A","avatar_url":null,\#(rest)"#
        #expect(
            text { renderer.writeIdentity(identity, version: .v3, into: &$0) } == head
                + #","identity_type":"bot","metadata":{"k":"v"}}"#)
        #expect(
            text { renderer.writeIdentity(identity, version: .v2, into: &$0) } == head
                + #","type":"Bot","metadata":{"k":"v"}}"#)
        #expect(text { renderer.writeIdentity(identity, version: .v1, into: &$0) } == head + #","metadata":{"k":"v"}}"#)
        #expect(
            text { renderer.writeBadge(BadgeSummary(external: 1, conversations: 2, messages: 3), into: &$0) }
                == #"{"external_unread_count":1,"unread_conversation_count":2,"unread_message_count":3}"#)
    }

    @Test(
        "a message without parts has an empty list in both versions, and so has the change that removed them",
        arguments: [WireVersion.v2, .v3])
    func withoutParts(_ version: WireVersion) {
        let renderer = Renderer(baseURL: "https://x.org", webSocketURL: "wss://x.org")
        let message = Message(
            id: .random(), conversationID: .random(), position: Position(1), ordinal: 1,
            sender: .user(BasicIdentity(userID: ana)),
            sentAt: Timestamp(microseconds: 1), parts: [], recipients: [.init(userID: ana, status: .read)])
        let object = json(text { renderer.writeMessage(message, for: ana, version: version, into: &$0) })
        #expect(object["parts"] == .array([]))
    }

    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
