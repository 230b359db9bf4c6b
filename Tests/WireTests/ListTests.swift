// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire
import Testing

/// Query parameters of lists, and the rendering of loaded conversations.
struct ListTests {
    private func failure(_ body: () throws -> Void) -> Failure? {
        do {
            try body()
            return nil
        } catch {
            return error as? Failure
        }
    }

    @Test("conversations include messages by number, or from the first unread one; other values are refused by name")
    func messages() throws {
        func query(_ text: String?) throws -> LoadedMessages? {
            try ConversationsQuery { $0 == "messages" ? text : nil }.messages
        }
        #expect(try query(nil) == nil)
        #expect(try query("") == nil)
        #expect(try query("1") == .newest(1))
        #expect(try query("100") == .newest(100))
        #expect(try query("unread") == .unread)
        for text in ["0", "101", "-1", "+1", "1.0", " 1", "all", "Unread", "99999999999999999999"] {
            let failure = failure { _ = try query(text) }
            #expect(failure?.code == .invalidProperty && failure?.detail == .property("messages"), "\(text)")
        }
    }

    @Test("identities are requested by user ids and identity ids, each once, in request order")
    func identities() throws {
        func users(_ values: String...) throws -> [String] { try IdentitiesQuery(ids: values).users.map(\.rawValue) }
        #expect(try users("ben,ana,ben") == ["ben", "ana"])
        #expect(try users("layer:///identities/a%2Cb,a b", "ana,a%2Cb") == ["a,b", "a b", "ana"])
        let hundred = (0..<100).map { "user\($0)" }
        #expect(try users(hundred.joined(separator: ","), hundred[0]) == hundred)
        for text in ["", "ana,", ",ana", "ana,,ben", "layer:///messages/x", "a%zz", String(repeating: "x", count: 129)]
        {
            let failure = failure { _ = try users(text) }
            #expect(failure?.code == .invalidProperty && failure?.detail == .property("ids"), "\(text)")
        }
        #expect(failure { _ = try users(hundred.joined(separator: ","), "another") }?.detail == .property("ids"))
    }

    @Test("an app's own server spells a bare user id literally, also on behalf of a user; a client escapes it")
    func spelling() throws {
        func from(_ text: String, _ sender: RequestSender) throws -> UserID? {
            try UsersQuery(from: sender) { $0 == "from_id" ? text : nil }.fromID
        }
        for sender in [RequestSender.server, .onBehalf] {
            for id in ["team/ana", "layer:///identities/team%2Fana"] {
                #expect(try from(id, sender) == UserID(trusted: "team/ana"))
                #expect(try IdentitiesQuery(ids: ["ben," + id], from: sender).users.last == UserID(trusted: "team/ana"))
                let body = json(#"{"participants":["\#(id)"]}"#)
                #expect(try CreateConversationBody(body, from: sender).participants == [UserID(trusted: "team/ana")])
            }
            #expect(try from("a%2Fb", sender) == UserID(trusted: "a%2Fb"))
        }
        #expect(try from("team%2Fana", .client) == UserID(trusted: "team/ana"))
        #expect(failure { _ = try from("team/ana", .client) }?.detail == .property("from_id"))
        // In all other respects, a server on behalf of a user is treated as a client.
        #expect(try CreateConversationBody(json(#"{"participants":[]}"#), from: .onBehalf).participants == [])
    }

    @Test(
        "the URL of the next page repeats the request's parameters, and is always a valid URL",
        arguments: [
            (nil, ""), ("", ""), ("page_size=7", "page_size=7&"),
            ("page_size=7&sort_by=last_message", "page_size=7&sort_by=last_message&"),
            ("from_id=x&page_size=7&from_id=y", "page_size=7&"), ("from_id", ""), ("a=%2C%20+;&b", "a=%2C%20+;&b&"),
            ("a=>;\"{}|\\^é &&", "a=%3E;%22%7B%7D%7C%5C%5E%C3%A9%20&"), ("from_idx=1", "from_idx=1&"),
        ] as [(String?, String)])
    func nextPage(query: String?, kept: String) {
        let url = renderer.url(ofList: "/conversations", query: query, after: conversationID.layerID)
        #expect(
            url
                == "https://chat.example.org/conversations?\(kept)from_id=layer%3A%2F%2F%2Fconversations%2F\(conversationUUID)"
        )
        #expect(
            renderer.nextPage(ofList: "/conversations", query: query, after: conversationID.layerID)
                == "<\(url)>; rel=\"next\"")
    }

    @Test("a user id that is escaped in an identity id is escaped again in a URL")
    func nextIdentity() {
        let url = renderer.url(ofList: "/identities", after: UserID(trusted: "a b").layerID)
        #expect(url == "https://chat.example.org/identities?from_id=layer%3A%2F%2F%2Fidentities%2Fa%2520b")
    }

    @Test("a loaded conversation has messages and the cursor of the next ones")
    func loaded() throws {
        let view = sampleView(lastMessage: sampleMessage())
        for isCut in [false, true] {
            let loaded = LoadedConversation(view: view, messages: [sampleMessage()], isTruncated: isCut)
            guard
                case .object(var members) = written({
                    renderer.writeLoadedConversation(loaded, for: ben.userID, version: .v3, into: &$0)
                })
            else {
                Issue.record("no object")
                continue
            }
            if isCut {
                let next = members.removeLast()
                #expect(next.name == "messages_next")
                #expect(
                    next.value
                        == .string(
                            "https://chat.example.org/conversations/\(conversationUUID)/messages?from_id=layer%3A%2F%2F%2Fmessages%2F\(messageUUID)"
                        ))
            }
            let messages = members.removeLast()
            #expect(messages.name == "messages")
            #expect(
                messages.value
                    == .array([
                        written { renderer.writeMessage(sampleMessage(), for: ben.userID, version: .v3, into: &$0) }
                    ]))
            #expect(
                JSONValue.object(members)
                    == written { renderer.writeConversation(view, for: ben.userID, version: .v3, into: &$0) })
        }
        let empty = LoadedConversation(view: sampleView(), messages: [], isTruncated: false)
        #expect(
            written { renderer.writeLoadedConversation(empty, for: ben.userID, version: .v3, into: &$0) }["messages"]
                == .array([]))
    }
}
