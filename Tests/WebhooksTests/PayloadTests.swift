// SPDX-License-Identifier: Apache-2.0

import Contracts
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import StrataModel
import StrataWire
import SwiftProtobuf
import Testing

@testable import Webhooks

/// The payloads for receivers, rendered from recorded events.
@Suite("payloads of webhooks")
struct PayloadTests {
    private static let (app, subject) = (AppID(rawValue: uuid(1)), uuid(2))
    private static let renderer = Renderer(baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org")
    private static let people =
        #""identities":{"alice":{"display_name":"Alice","avatar_url":null},"bob":{"display_name":null,"avatar_url":null}}"#
    private static let message =
        #""message":{"message_id":"00000000-0000-0000-0000-000000000003","position":2,"ordinal":1,"sender":"alice","sent_at":1454461983049000,"#
        + #""recipients":["alice","bob"],"statuses":[2,0],"updated_at":null,"receipt_policy":0}"#
    private static let conversation =
        #""conversation":{"created_at":1454461983049000,"is_distinct":false,"participants":["alice","bob"],"metadata":[["a.b","c"]]}"#

    private static func uuid(_ number: UInt8) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))
    }

    private static let key = SymmetricKey(data: Data("key".utf8))

    private static func hook(_ version: WebhookVersion, config: [String: String] = [:]) -> Webhook {
        Webhook(
            id: WebhookID(rawValue: uuid(9)), app: app, version: version, targetURL: "https://example.org/", events: [],
            config: config,
            status: .active, statusReason: nil, createdAt: Timestamp(microseconds: 0))
    }

    private func body(
        _ kind: WebhookEventKind, _ facts: String, _ version: WebhookVersion, parts: [UInt8]? = nil,
        config: [String: String] = [:]
    ) throws -> String {
        let recorded = RecordedEvent(
            row: 1, app: Self.app, position: 2, number: 0, kind: kind.rawValue, id: Self.uuid(4),
            createdAt: Timestamp(microseconds: 1_504_260_000_500_000),
            subject: Self.subject, facts: "{\(facts)}", parts: parts)
        let event = try EventFacts.event(recorded)
        return String(
            buffer: EventRequest(
                event, to: Self.hook(version, config: config), signedWith: Self.key, renderer: Self.renderer
            )
            .body)
    }

    private static let base = "https://chat.example.org/apps/\(app)"
    private static let alice =
        #"{"id":"layer:///identities/alice","url":"\#(base)/users/alice/identity","user_id":"alice","display_name":"Alice","avatar_url":null}"#

    @Test("a message in 2.0 and 3.0 has its actor and the config")
    func message() throws {
        let part = MessagePart(id: Self.uuid(5), mimeType: "text/plain", body: "pong", size: 4)
        let parts: [UInt8] = try ProtoMessageParts.with { $0.parts = [ProtoMessagePart(part)] }.serializedBytes()
        let text = try body(
            .messageCreated, #""actor":"alice",\#(Self.message),\#(Self.people)"#, .v3, parts: parts,
            config: ["b": "2", "a": "1"])
        let id = "00000000-0000-0000-0000-000000000003"
        let conversation = "\(Self.base)/conversations/00000000-0000-0000-0000-000000000002"
        #expect(
            text.hasPrefix(
                #"{"event":{"id":"00000000-0000-0000-0000-000000000004","type":"Message.created","created_at":"2017-09-01T10:00:00.500Z"},"actor":\#(Self.alice),"#
                    + #""message":{"id":"layer:///messages/\#(id)","url":"\#(conversation)/messages/\#(id)","position":16384,"#
            ), "\(text)")
        #expect(text.contains(#""body":"pong""#))
        #expect(
            text.contains(#""recipient_status":{"layer:///identities/alice":"read","layer:///identities/bob":"sent"}"#))
        #expect(text.hasSuffix(#","config":{"a":"1","b":"2"}}"#))
        #expect(!text.contains("is_unread") && !text.contains("received_at"))
    }

    @Test("a message in 1.0 has the actor as part of the event")
    func firstMessage() throws {
        let text = try body(.messageCreated, #""actor":"alice",\#(Self.message),\#(Self.people)"#, .v1)
        #expect(
            text.hasPrefix(
                #"{"event":{"created_at":"2017-09-01T10:00:00.500Z","type":"message.sent","id":"00000000-0000-0000-0000-000000000004","actor":{"user_id":"alice"}},"message":"#
            ), "\(text)")
        #expect(text.contains(#""recipient_status":{"alice":"read","bob":"sent"}"#))
        #expect(!text.contains("config"))
    }

    @Test("a message that the app's own server sent under a name has no actor in 2.0, and the name in 1.0")
    func named() throws {
        let named = Self.message.replacing(#""sender":"alice""#, with: #""sender":"","sender_name":"Concierge""#)
        #expect(
            try body(.messageCreated, #""actor":null,\#(named),\#(Self.people)"#, .v1)
                .contains(#""actor":{"name":"Concierge"}"#))
        let text = try body(.messageCreated, #""actor":null,\#(named),\#(Self.people)"#, .v2)
        #expect(!text.contains("actor"))
        #expect(text.contains(#""display_name":"Concierge""#))
    }

    @Test("receipts name the first and last position")
    func receipts() throws {
        let text = try body(.receiptCreated, #""actor":"bob","status":2,"from":2,"to":5,\#(Self.people)"#, .v2)
        #expect(
            text.contains(#""receipt":{"type":"Read","positions":{"from":16384,"to":40960}},"conversation":{"id":"#),
            "\(text)")
        #expect(
            try body(.receiptCreated, #""actor":"bob","status":1,"from":2,"to":2"#, .v3)
                .contains(#""type":"Delivered""#))
    }

    @Test("a metadata change has the conversation, and since 2.0 the changed values")
    func metadata() throws {
        let facts = #""actor":"alice","effects":[["x",null],["a.b","c"]],\#(Self.conversation),\#(Self.people)"#
        let text = try body(.conversationUpdated, facts, .v3)
        #expect(
            text.contains(
                #""changes":[{"operation":"delete","property":"metadata.x"},{"operation":"set","property":"metadata.a.b","value":"c"}],"conversation":{"#
            ),
            "\(text)")
        #expect(text.contains(#""metadata":{"a":{"b":"c"}}"#))
        let first = try body(.conversationUpdated, facts, .v1)
        #expect(first.contains(#""type":"conversation.updated.metadata""#) && !first.contains("changes"))
        #expect(first.contains(#""participants":["alice","bob"]"#))
    }

    @Test("a deleted part has its ids, and a push its badge, notification and tokens")
    func others() throws {
        let part = "00000000-0000-0000-0000-000000000007"
        let deleted = try body(
            .partDeleted, #""actor":"alice","part":"\#(part)",\#(Self.message),\#(Self.people)"#, .v3)
        #expect(
            deleted.contains(
                #""part":{"id":"layer:///messages/00000000-0000-0000-0000-000000000003/parts/\#(part)","url":"#),
            "\(deleted)")
        let push = try body(
            .push,
            #""push":"\#(part)","user":"bob","badge":3,"notification":{"text":"hi"},"tokens":[{"device_id":"d","type":"apns","token":"t"}],"conversation_id":null"#,
            .v3)
        #expect(
            push.contains(
                #""badge":3,"notification":{"text":"hi"},"tokens":[{"device_id":"d","type":"apns","token":"t"}]}"#),
            "\(push)")
    }

    /// Facts about a message whose recipients' ids look like array indexes to JavaScript.
    private static let numbered =
        #""actor":"10","message":{"message_id":"00000000-0000-0000-0000-000000000003","position":2,"ordinal":1,"sender":"10","sent_at":1454461983049000,"#
        + #""recipients":["02","10","9","4294967295","alice","4294967294"],"statuses":[0,2,0,0,0,0],"updated_at":null,"receipt_policy":0}"#

    @Test("user ids in 1.0 that look like integers come first, by number, and others keep their order")
    func numberedUsers() throws {
        let text = try body(.messageCreated, Self.numbered, .v1)
        #expect(
            text.contains(
                #""recipient_status":{"9":"sent","10":"read","4294967294":"sent","02":"sent","4294967295":"sent","alice":"sent"}"#
            ), "\(text)")
        let later = try body(.messageCreated, Self.numbered, .v2)
        #expect(
            later.contains(
                #""recipient_status":{"layer:///identities/02":"sent","layer:///identities/10":"read","layer:///identities/9":"sent","#
            ))
    }

    @Test(
        "keys of metadata, config and notification have JavaScript's order in every version",
        arguments: WebhookVersion.allCases)
    func numberedKeys(_ version: WebhookVersion) throws {
        let conversation =
            #""conversation":{"created_at":1,"is_distinct":false,"participants":[],"metadata":[["10.b","1"],["10.7","2"],["9","3"],["01","4"],["a","5"]]}"#
        let text = try body(
            .conversationUpdated, "\(conversation),\(Self.people)", version,
            config: ["b": "1", "12": "2", "3": "3", "0x1": "4"])
        #expect(text.contains(#""metadata":{"9":"3","10":{"7":"2","b":"1"},"01":"4","a":"5"}"#), "\(text)")
        #expect(text.hasSuffix(#","config":{"3":"3","12":"2","0x1":"4","b":"1"}}"#), "\(text)")
        let push = try body(
            .push,
            #""push":"00000000-0000-0000-0000-000000000007","user":"bob","badge":3,"tokens":[],"#
                + #""notification":{"b":1.50,"10":-0.0,"9":[1e21,{"y":1,"1":12345678901234567890}]}"#, version)
        #expect(
            push.contains(#""notification":{"9":[1e+21,{"1":12345678901234567000,"y":1}],"10":0,"b":1.5}"#), "\(push)")
    }

    @Test("the signature covers the bytes of the sent body")
    func signedBody() throws {
        let recorded = RecordedEvent(
            row: 1, app: Self.app, position: 2, number: 0, kind: WebhookEventKind.messageCreated.rawValue,
            id: Self.uuid(4),
            createdAt: Timestamp(microseconds: 0),
            subject: Self.subject, facts: "{\(Self.numbered)}", parts: nil)
        let request = EventRequest(
            try EventFacts.event(recorded), to: Self.hook(.v1), signedWith: Self.key, renderer: Self.renderer)
        #expect(
            request.headers["layer-webhook-signature"] == [EventRequest.signature(of: request.body, with: Self.key)])
        #expect(
            request.headers["layer-webhook-id"] == [
                "layer:///apps/\(Self.app)/webhooks/\(WebhookID(rawValue: Self.uuid(9)))"
            ])
        #expect(request.headers["layer-webhook-event-type"] == ["message.sent"])
    }

    @Test("events of 1.0 have the release's names, in the body and in the header")
    func releasedNames() throws {
        let names: [WebhookEventKind: String] = [
            .conversationUpdated: "conversation.updated.metadata",
            .participantsUpdated: "conversation.updated.participants",
        ]
        for (kind, name) in names {
            let recorded = RecordedEvent(
                row: 1, app: Self.app, position: 2, number: 0, kind: kind.rawValue, id: Self.uuid(4),
                createdAt: Timestamp(microseconds: 0),
                subject: Self.subject,
                facts: "{\(Self.conversation),\(Self.people)}", parts: nil)
            let request = EventRequest(
                try EventFacts.event(recorded), to: Self.hook(.v1), signedWith: Self.key, renderer: Self.renderer)
            #expect(request.headers["layer-webhook-event-type"] == [name])
            #expect(String(buffer: request.body).contains(#""type":"\#(name)""#))
        }
    }

    @Test("the signature is HMAC-SHA1 in lower-case hexadecimal digits")
    func signature() {
        // RFC 2202, test case 2
        let text = "what do ya want for nothing?"
        let key = SymmetricKey(data: Data("Jefe".utf8))
        #expect(
            EventRequest.signature(of: ByteBuffer(string: text), with: key)
                == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    }

    @Test(
        "a malformed record is an error, and no crash",
        arguments: ["", #""message":1"#, #""message":{"message_id":"x"}"#, #""actor":1"#])
    func malformed(_ facts: String) {
        for kind in WebhookEventKind.allCases { #expect(throws: (any Error).self) { try body(kind, facts, .v3) } }
    }

    @Test("events have the names of their version, and each name is known in it")
    func names() {
        for version in WebhookVersion.allCases {
            for kind in WebhookEventKind.allCases {
                guard let kinds = WebhookEventKind.kinds(named: kind.name(in: version), in: version) else { continue }
                #expect(kinds == [kind])
            }
        }
        #expect(WebhookEventKind.kinds(named: "message.read", in: .v1) == [.messageRead])
        #expect(WebhookEventKind.kinds(named: "message.read", in: .v2) == nil)
        for name in ["conversation.metadata_updated", "conversation.participants_updated"] {
            #expect(WebhookEventKind.kinds(named: WebhookEventKind.released(name: name, in: .v1), in: .v1)?.count == 1)
            for version in [WebhookVersion.v2, .v3] {
                #expect(WebhookEventKind.released(name: name, in: version) == name)
            }
        }
        #expect(WebhookEventKind.kinds(named: "Message.created", in: .v1) == nil)
        #expect(WebhookEventKind.kinds(named: "MessagePart.created", in: .v2) == nil)
        #expect(WebhookEventKind.kinds(named: "Test", in: .v3) == nil)
        #expect(WebhookEventKind.kinds(named: "Channel.created", in: .v3) == [])
        #expect(WebhookEventKind.kinds(named: "Channel.other", in: .v3) == nil)
        #expect(WebhookEventKind.kinds(named: "Channel.x.created", in: .v3) == nil)
    }
}
