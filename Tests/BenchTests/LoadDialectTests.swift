// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Bench

@Suite("packets of a load")
struct LoadDialectTests {
    private let mark = OperationMark(run: 1, room: 2, sender: 3, number: 4, due: 5)
    private let typing = LoadDialect.typing(userPrefix: "u")

    private func read(_ dialect: LoadDialect, _ packet: String) -> LoadDialect.Event {
        Array(packet.utf8).withUnsafeBytes { dialect.read($0) }
    }

    private func change(_ body: String) -> String {
        "{\"type\":\"change\",\"counter\":17,\"timestamp\":\"2018-05-04T09:41:00.000Z\",\"body\":\(body)}"
    }

    private var message: String {
        change(
            """
            {"operation":"create","object":{"type":"Message","id":"layer:///messages/1","url":"https://x/messages/1"},\
            "position":81,"data":{"position":663552,"parts":[{"body":"\(mark.text)xx"}]}}
            """)
    }

    private var lastMessage: String {
        change(
            """
            {"operation":"update","object":{"type":"Conversation","id":"c","url":"u"},"position":81,\
            "data":[{"operation":"set","property":"last_message","value":{"parts":[{"body":"\(mark.text)"}]}}]}
            """)
    }

    private var patch: String {
        change(
            """
            {"operation":"update","object":{"type":"Conversation","id":"c","url":"u"},"position":82,\
            "data":[{"operation":"set","property":"metadata.bench.value","value":"\(mark.text)"}]}
            """)
    }

    private func signal(_ user: String, _ action: String) -> String {
        """
        {"type":"signal","counter":18,"timestamp":"2018-05-04T09:41:00.000Z","body":{"type":"typing_indicator",\
        "object":{"type":"Conversation","id":"c","url":"u"},"data":{"sender":{"id":"layer:///identities/\(user)",\
        "url":"u","user_id":"\(user)","display_name":null,"avatar_url":null},"action":"\(action)"}}}
        """
    }

    private func response(_ isSuccess: Bool) -> String {
        """
        {"type":"response","counter":3,"timestamp":"2018-05-04T09:41:00.000Z","body":{"request_id":"m",\
        "method":"Message.create","success":\(isSuccess),"data":{"parts":[{"body":"\(mark.text)"}]}}}
        """
    }

    @Test("the create of a message is its delivery; its answer and the new last message are none")
    func messages() {
        #expect(read(.messages, message) == .delivery(mark, position: 81))
        #expect(read(.messages, lastMessage) == .other)
        #expect(read(.messages, response(true)) == .other)
        #expect(read(.messages, patch) == .other)
    }

    @Test("a refused request is noticed")
    func refusals() {
        #expect(read(.messages, response(false)) == .refusal)
        #expect(read(typing, response(false)) == .refusal)
    }

    @Test("the update of metadata is the delivery of a patch")
    func patches() {
        #expect(read(.metadata, patch) == .delivery(mark, position: 82))
        #expect(read(.metadata, lastMessage) == .other)
        #expect(read(.metadata, message) == .other)
    }

    @Test("typing signals name the user and the kind")
    func signals() {
        #expect(read(typing, signal("u17", "started")) == .typing(user: 17, isStarted: true))
        #expect(read(typing, signal("u17", "paused")) == .typing(user: 17, isStarted: false))
        #expect(read(typing, signal("u17", "finished")) == .other)
        #expect(
            read(.typing(userPrefix: "bench-u"), signal("bench-u3", "paused")) == .typing(user: 3, isStarted: false))
        #expect(read(.messages, signal("u17", "started")) == .other)
    }

    @Test("a frame of the broadcaster is a delivery")
    func broadcasts() {
        let dialect = LoadDialect.broadcast(includesSender: true)
        #expect(read(dialect, mark.text + "xxx") == .delivery(mark, position: nil))
        #expect(read(dialect, "xxx") == .other)
        #expect(read(dialect, "") == .other)
    }

    @Test("an XMPP message with a mark is a delivery")
    func groupchat() {
        let message = """
            <message xmlns='jabber:client' to='u1@localhost/r' from='r0-1@conference.localhost/u2' type='groupchat' id='m'>\
            <stanza-id by='r0-1@conference.localhost' id='1' xmlns='urn:xmpp:sid:0'/><body>\(mark.text)xx</body></message>
            """
        #expect(read(.xmpp, message) == .delivery(mark, position: nil))
        #expect(read(.xmpp, "<presence from='r0-1@conference.localhost/u2'/>") == .other)
    }
}
