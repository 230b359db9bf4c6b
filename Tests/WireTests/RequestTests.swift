// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

struct RequestTests {
    @Test("a conversation is requested with identity ids and bare user ids, without duplicates")
    func createConversation() throws {
        let body = try CreateConversationBody(
            json(
                """
                {"participants":["layer:///identities/ana%20b","ana%20b","ben","layer:///identities/ben"],"distinct":false,"unknown":[1],
                 "metadata":{"a":{"b":"1","c":{}},"d":""},"id":"layer:///conversations/\(conversationUUID)"}
                """))
        #expect(body.participants.map(\.rawValue) == ["ana b", "ben"])
        #expect(!body.isDistinct)
        #expect(body.id == conversationID)
        #expect(body.metadata?.leaves.map(\.path.dotted) == ["a.b", "d"])
    }

    @Test("null equals an absent member, and the defaults are the protocol's")
    func createConversationDefaults() throws {
        for text in [#"{"participants":[]}"#, #"{"participants":[],"distinct":null,"metadata":null,"id":null}"#] {
            let body = try CreateConversationBody(json(text))
            #expect(body == (try CreateConversationBody(json(#"{"participants":[],"distinct":true}"#))))
            #expect(body.isDistinct && body.metadata == nil && body.id == nil && body.participants.isEmpty)
        }
        #expect(try CreateConversationBody(json(#"{"participants":[],"metadata":{}}"#)).metadata == MetadataTree())
    }

    @Test(
        "an invalid conversation is refused by name",
        arguments: [
            ("[]", Failure.Code.invalidRequest, nil), ("\"x\"", .invalidRequest, nil),
            ("{}", .missingProperty, "participants"),
            (#"{"participants":null}"#, .missingProperty, "participants"),
            (#"{"participants":"ana"}"#, .invalidProperty, "participants"),
            (#"{"participants":["ana",1]}"#, .invalidProperty, "participants.1"),
            (#"{"participants":[""]}"#, .invalidProperty, "participants.0"),
            (#"{"participants":["layer:///conversations/x"]}"#, .invalidProperty, "participants.0"),
            (#"{"participants":["a%zz"]}"#, .invalidProperty, "participants.0"),
            (#"{"participants":[],"distinct":"yes"}"#, .invalidProperty, "distinct"),
            (#"{"participants":[],"id":"x"}"#, .invalidProperty, "id"),
            (#"{"participants":[],"id":7}"#, .invalidProperty, "id"),
            (#"{"participants":[],"metadata":"x"}"#, .invalidProperty, "metadata"),
            (#"{"participants":[],"metadata":[]}"#, .invalidProperty, "metadata"),
            (#"{"participants":[],"metadata":{"a":{"b":1}}}"#, .invalidProperty, "metadata.a.b"),
            (#"{"participants":[],"metadata":{"a":null}}"#, .invalidProperty, "metadata.a"),
            (#"{"participants":[],"metadata":{"a":true}}"#, .invalidProperty, "metadata.a"),
            (#"{"participants":[],"metadata":{"a":["x"]}}"#, .invalidProperty, "metadata.a"),
            (#"{"participants":[],"metadata":{"a b":"x"}}"#, .invalidProperty, "metadata.a b"),
            (#"{"participants":[],"metadata":{"a":{"b.c":"x"}}}"#, .invalidProperty, #"metadata.a.b\.c"#),
            (#"{"participants":[],"metadata":{"é":"x"}}"#, .invalidProperty, "metadata.é"),
            (#"{"participants":[],"metadata":{"":"x"}}"#, .invalidProperty, "metadata."),
        ] as [(String, Failure.Code, String?)])
    func badConversations(text: String, code: Failure.Code, property: String?) {
        let result = failure { _ = try CreateConversationBody(json(text)) }
        #expect(result?.code == code)
        #expect(result?.property == property)
    }

    @Test("metadata has exact limits")
    func metadataLimits() throws {
        func body(_ metadata: String) -> JSONValue { json(#"{"participants":[],"metadata":\#(metadata)}"#) }
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"k":"#, count: depth) + "\"v\"" + String(repeating: "}", count: depth)
        }
        let longest = String(repeating: "é", count: 1024)
        #expect(
            try CreateConversationBody(body(#"{"a":"\#(longest)"}"#)).metadata?.leaves.first?.value.utf8.count == 2048)
        #expect(failure { _ = try CreateConversationBody(body(#"{"a":"\#(longest)x"}"#)) }?.property == "metadata.a")
        #expect(try CreateConversationBody(body(nested(32))).metadata?.leaves.count == 1)
        #expect(failure { _ = try CreateConversationBody(body(nested(33))) }?.code == .invalidProperty)
        let key = String(repeating: "k", count: 1024)
        #expect(try CreateConversationBody(body(#"{"\#(key)":"v"}"#)).metadata?.leaves.count == 1)
        #expect(failure { _ = try CreateConversationBody(body(#"{"\#(key)k":"v"}"#)) }?.property == "metadata")
        let keys = (0..<20_000).map { #""k\#($0)":"v""# }.joined(separator: ",")
        #expect(try CreateConversationBody(body("{\(keys)}")).metadata?.leaves.count == 20_000)
    }

    @Test("the last of duplicate metadata keys counts, with any value")
    func metadataDuplicates() throws {
        let body = try CreateConversationBody(
            json(#"{"participants":[],"metadata":{"a":{"b":"x"},"c":"1","a":"y","c":"2"}}"#))
        #expect(
            body.metadata
                == MetadataTree(leaves: [
                    MetadataLeaf(path: MetadataPath(trusted: "a"), value: "y"),
                    MetadataLeaf(path: MetadataPath(trusted: "c"), value: "2"),
                ]))
    }

    @Test("small request bodies are parsed")
    func smallBodies() throws {
        let session = try SessionBody(json(#"{"identity_token":"t","app_id":"layer:///apps/staging/\#(partUUID)"}"#))
        #expect(session.identityToken == "t" && session.appID.rawValue == uuid(partUUID))
        #expect(try ReceiptBody(json(#"{"type":"read"}"#)).kind == .read)
        #expect(try ReceiptBody(json(#"{"type":"delivery"}"#)).kind == .delivery)
        #expect(try MarkAllReadBody(nil).upTo == nil)
        #expect(try MarkAllReadBody(json("{}")).upTo == nil)
        #expect(try MarkAllReadBody(json(#"{"position":null}"#)).upTo == nil)
        #expect(try MarkAllReadBody(json(#"{"position":24577}"#)).upTo == Position(3))
        #expect(try MarkAllReadBody(json(#"{"position":-5}"#)).upTo == .zero)
        #expect(
            try ReplayBody(json(#"{"from_timestamp":"2018-05-04T09:30:00.125+00:00"}"#)).from.microseconds
                == 1_525_426_200_125_000)
        #expect(
            try PresenceSyncBody(json(#"{"ids":["ana","layer:///identities/ben"]}"#))
                == .users([UserID(trusted: "ana"), UserID(trusted: "ben")]))
        #expect(try PresenceSyncBody(json(#"{"ids":[]}"#)) == .users([]))
        #expect(
            try PresenceSyncBody(json(#"{"ids":null,"since":"1970-01-01T00:00:00Z"}"#))
                == .since(Timestamp(microseconds: 0)))
    }

    @Test(
        "presence is set to the chosen status",
        arguments: [
            ("[]", nil), (#"[{"operation":"set","property":"status","value":"auto"}]"#, .auto),
            (
                #"[{"operation":"set","property":"status","value":"busy"},{"operation":"set","property":"status","value":"invisible"}]"#,
                .chosen(.invisible)
            ),
        ] as [(String, PresenceUpdateBody.Status?)])
    func presenceUpdate(text: String, status: PresenceUpdateBody.Status?) throws {
        #expect(try PresenceUpdateBody(json(text)).status == status)
    }

    @Test("invalid small bodies are refused by name")
    func badSmallBodies() {
        func check(
            _ code: Failure.Code, _ property: String?, _ location: SourceLocation = #_sourceLocation,
            _ body: () throws -> Void
        ) {
            let result = failure(body)
            #expect(result?.code == code, sourceLocation: location)
            #expect(result?.property == property, sourceLocation: location)
        }
        check(.missingProperty, "identity_token") { _ = try SessionBody(json("{}")) }
        check(.missingProperty, "app_id") { _ = try SessionBody(json(#"{"identity_token":"t"}"#)) }
        check(.invalidProperty, "identity_token") { _ = try SessionBody(json(#"{"identity_token":1,"app_id":"x"}"#)) }
        check(.invalidAppID, "app_id") { _ = try SessionBody(json(#"{"identity_token":"t","app_id":"x"}"#)) }
        check(.invalidRequest, nil) { _ = try SessionBody(json("[]")) }
        check(.missingProperty, "type") { _ = try ReceiptBody(json("{}")) }
        check(.invalidProperty, "type") { _ = try ReceiptBody(json(#"{"type":"seen"}"#)) }
        check(.invalidProperty, "position") { _ = try MarkAllReadBody(json(#"{"position":"1"}"#)) }
        check(.invalidProperty, "position") { _ = try MarkAllReadBody(json(#"{"position":1.5}"#)) }
        check(.missingProperty, "from_timestamp") { _ = try ReplayBody(json("{}")) }
        check(.invalidProperty, "from_timestamp") { _ = try ReplayBody(json(#"{"from_timestamp":"yesterday"}"#)) }
        check(.missingProperty, "ids") { _ = try PresenceSyncBody(json("{}")) }
        check(.invalidProperty, "ids.0") { _ = try PresenceSyncBody(json(#"{"ids":[7]}"#)) }
        check(.invalidProperty, "since") { _ = try PresenceSyncBody(json(#"{"since":"x"}"#)) }
        check(.invalidRequest, nil) { _ = try PresenceUpdateBody(json("{}")) }
        check(.invalidRequest, "0") { _ = try PresenceUpdateBody(json("[1]")) }
        check(.invalidProperty, "status") {
            _ = try PresenceUpdateBody(json(#"[{"operation":"set","property":"status","value":"asleep"}]"#))
        }
        check(.invalidProperty, "status") {
            _ = try PresenceUpdateBody(json(#"[{"operation":"set","property":"status"}]"#))
        }
        check(.invalidOperation, "status") {
            _ = try PresenceUpdateBody(json(#"[{"operation":"delete","property":"status"}]"#))
        }
        check(.invalidProperty, "mood") {
            _ = try PresenceUpdateBody(json(#"[{"operation":"set","property":"mood","value":"x"}]"#))
        }
    }

    @Test("queries have defaults and are limited to the permitted values")
    func queries() throws {
        func query(_ values: [String: String]) throws -> ConversationsQuery { try ConversationsQuery { values[$0] } }
        #expect(try query([:]).page.pageSize == 100)
        #expect(try query([:]).order == .createdAt)
        #expect(try query(["page_size": "7", "sort_by": "last_message"]).page.pageSize == 7)
        #expect(try query(["sort_by": "last_message"]).order == .lastMessage)
        #expect(try query(["page_size": "100000000000000000000000"]).page.pageSize == 100)
        for text in [conversationUUID, "layer:///conversations/\(conversationUUID)"] {
            #expect(try query(["from_id": text]).page.fromID == conversationID)
        }
        #expect(try UsersQuery { ["from_id": "layer:///identities/a%20b"][$0] }.fromID?.rawValue == "a b")
        #expect(try UsersQuery { _ in nil }.pageSize == 500)
        #expect(try PageQuery<MessageID> { ["from_id": messageUUID][$0] }.fromID == messageID)
        for text in ["0", "-1", "x", "1.5", "+5", " 5"] {
            #expect(failure { _ = try query(["page_size": text]) }?.property == "page_size")
        }
        #expect(failure { _ = try query(["sort_by": "name"]) }?.property == "sort_by")
        #expect(failure { _ = try query(["from_id": "layer:///messages/\(messageUUID)"]) }?.property == "from_id")
        #expect(failure { _ = try UsersQuery { ["from_id": "a/b"][$0] } }?.property == "from_id")
    }

    @Test("a deletion requires a mode")
    func deletion() throws {
        func query(_ values: [String: String]) throws -> DeletionQuery { try DeletionQuery { values[$0] } }
        #expect(try query(["mode": "all_participants"]).mode == .allParticipants)
        #expect(try query(["destroy": "true"]).mode == .allParticipants)
        #expect(try query(["mode": "my_devices"]).leave == false)
        #expect(try query(["mode": "my_devices", "leave": "true"]).leave)
        #expect(try query(["mode": "all_participants", "leave": "true"]).leave == false)
        #expect(failure { _ = try query([:]) }?.code == .missingProperty)
        #expect(failure { _ = try query(["destroy": "false"]) }?.property == "mode")
        #expect(failure { _ = try query(["mode": "everyone"]) }?.property == "mode")
        #expect(failure { _ = try query(["mode": "my_devices", "leave": "maybe"]) }?.property == "leave")
    }

    @Test("a conversation's deletion from the own devices may have a position")
    func deletionUpTo() throws {
        func query(_ values: [String: String]) throws -> ConversationDeletionQuery {
            try ConversationDeletionQuery { values[$0] }
        }
        #expect(try query(["mode": "my_devices", "leave": "true"]).upTo == nil)
        let full = try query(["mode": "my_devices", "leave": "true", "position": "12"])
        #expect(full.mode == .myDevices && full.leave && full.upTo == Position(12))
        #expect(try query(["mode": "my_devices", "position": "0"]).upTo == .zero)
        #expect(try query(["mode": "my_devices", "position": "99999999999999999999"]).upTo == Position(.max))
        for text in ["", "-1", "1.5", "x", "١"] {
            #expect(failure { _ = try query(["mode": "my_devices", "position": text]) }?.property == "position")
        }
        #expect(failure { _ = try query(["mode": "all_participants", "position": "12"]) }?.property == "position")
        #expect(failure { _ = try query(["position": "12"]) }?.property == "mode")
    }

    @Test("bulk receipts name each message once")
    func receipts() throws {
        let (first, second) = ("layer:///messages/\(messageUUID)", "layer:///messages/\(partUUID)")
        let shouted = "layer:///messages/\(messageUUID.uppercased())"
        let body = try ReceiptsBody(json(#"{"type":"delivery","ids":["\#(first)","\#(second)","\#(shouted)"]}"#))
        #expect(
            body.kind == .delivery
                && body.messages == [MessageID(rawValue: uuid(messageUUID)), MessageID(rawValue: uuid(partUUID))])
        #expect(failure { _ = try ReceiptsBody(json(#"{"ids":["\#(first)"]}"#)) }?.property == "type")
        #expect(failure { _ = try ReceiptsBody(json(#"{"type":"read"}"#)) }?.code == .missingProperty)
        for ids in ["[]", "5", "[" + Array(repeating: "\"\(first)\"", count: 1001).joined(separator: ",") + "]"] {
            #expect(failure { _ = try ReceiptsBody(json(#"{"type":"read","ids":\#(ids)}"#)) }?.property == "ids")
        }
        for id in ["5", "\"x\"", "\"layer:///conversations/\(messageUUID)\""] {
            #expect(
                failure { _ = try ReceiptsBody(json(#"{"type":"read","ids":["\#(first)",\#(id)]}"#)) }?.property
                    == "ids.1")
        }
        let ignored = written { renderer.writeIgnoredMessages(body.messages, into: &$0) }
        #expect(ignored == json(#"{"ignored":["\#(first)","\#(second)"]}"#))
    }
}
