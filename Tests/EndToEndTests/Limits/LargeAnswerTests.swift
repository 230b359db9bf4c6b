// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Large answers, which are fetched, rendered and sent in batches. Each test has its own system.
    @Suite("large answers", .timeLimit(.minutes(10)))
    struct LargeAnswerTests {
        /// Gives every conversation a tree of `leaves` leaves of 2,000 bytes, as if they had been patched one by one.
        static func grow(_ cluster: Cluster, leaves: Int) async throws {
            try await cluster.sql(
                """
                INSERT INTO metadata.leaf (conversation_id, path, value, position)
                SELECT c.id, 'key' || g, repeat('x', 2000), c.position
                FROM conversations.conversation c CROSS JOIN generate_series(1, \(leaves)) g;
                -- The size is not counted.
                INSERT INTO metadata.tree (conversation_id) SELECT c.id FROM conversations.conversation c
                ON CONFLICT (conversation_id) DO UPDATE SET bytes = NULL, leaves = NULL;
                """)
        }

        /// Creates `count` conversations of one user, all with large trees.
        static func conversations(_ count: Int, leaves: Int, in cluster: Cluster) async throws -> [TestUser] {
            let users = try await cluster.app().signIn(["ana", "ben"])
            for number in 0..<count {
                _ = try await users[0]
                    .converse(with: [users[1]], metadata: ["number": .string("\(number)")], distinct: false)
            }
            try await grow(cluster, leaves: leaves)
            return users
        }

        @Test("a page of 100 conversations of 0.8 MB is complete, in every order, and equals single requests", .long)
        func conversations() async throws {
            try await Cluster.with(Cluster.Size()) { cluster in
                let users = try await Self.conversations(100, leaves: 400, in: cluster)
                // The answers to single requests, by id. They are the same in every sort order.
                var singles: [String: ByteBuffer] = [:]
                for order in ["created_at", "last_message"] {
                    let reader = try await LargeReader.get(
                        "/conversations?page_size=100&sort_by=\(order)", by: users[1], port: cluster.port)
                    let list = try await reader.answer()
                    #expect(list.status == "HTTP/1.1 200 OK")
                    #expect(list.isComplete)
                    #expect(list.header("Layer-Count") == "100")
                    #expect(list.header("Content-Type") == "application/json")
                    #expect(list.body.readableBytes > 80_000_000)
                    // The list must equal the single objects byte by byte, newest first.
                    var rest = list.body
                    let opening = rest.readInteger(as: UInt8.self)
                    #expect(opening == UInt8(ascii: "["))
                    var ids: Set<String> = []
                    while rest.readableBytes > 1 {
                        let comma = ids.isEmpty ? nil : rest.readInteger(as: UInt8.self)
                        #expect(ids.isEmpty || comma == UInt8(ascii: ","))
                        let id = String(try #require(rest.getString(at: rest.readerIndex, length: 66)?.suffix(59)))
                        if singles[id] == nil {
                            singles[id] = try await LargeReader.get(layerPath(id), by: users[1], port: cluster.port)
                                .answer().body
                        }
                        let single = try #require(singles[id])
                        ids.insert(id)
                        let element = rest.readSlice(length: single.readableBytes)
                        // Compare outside of the macro, which would keep a copy of both.
                        let isSame = element == single
                        try #require(isSame)
                    }
                    let closing = rest.readInteger(as: UInt8.self)
                    #expect(closing == UInt8(ascii: "]"))
                    #expect(ids.count == 100)
                }
            }
        }

        @Test("a page of messages of 250 KB is complete, newest first", .long)
        func messages() async throws {
            try await Cluster.with(Cluster.Size()) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let filling: JSONValue = [
                    "mime_type": "text/plain", "body": .string(String(repeating: "x", count: 2000)),
                ]
                for number in 0..<20 {
                    let parts =
                        [["mime_type": "text/plain", "body": .string("message \(number)")]]
                        + Array(repeating: filling, count: 125)
                    try await users[0].does("POST", conversation.path + "/messages", ["parts": .array(parts)])
                }
                let list = try await users[1].does("GET", conversation.path + "/messages?page_size=19")
                #expect(list.header("Layer-Count") == "20")
                #expect(list.header("Transfer-Encoding") == "chunked")
                let texts = list.json.array?.map { $0["parts"][0]["body"].string } ?? []
                #expect(texts == (1..<20).reversed().map { "message \($0)" })
                // Only the first batch of the page was available when the header was sent.
                let last = try #require(list.json.array?.last?["id"].string)
                let escaped = last.replacingOccurrences(of: ":", with: "%3A").replacingOccurrences(of: "/", with: "%2F")
                #expect(
                    list.header("Link")
                        == "<https://chat.test\(conversation.path)/messages?page_size=19&from_id=\(escaped)>; rel=\"next\""
                )
                #expect(
                    try await users[1].does("GET", conversation.path + "/messages?page_size=20").header("Link") == nil)
            }
        }

        @Test("a first load of large messages is paged by size, and names the cursor of each conversation's messages")
        func firstLoad() async throws {
            try await Cluster.with(Cluster.Size()) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let filling: JSONValue = [
                    "mime_type": "text/plain", "body": .string(String(repeating: "x", count: 2000)),
                ]
                var conversations: [String] = []
                for count in [6, 1, 1] {
                    let conversation = try await users[0].converse(with: [users[1]], distinct: false)
                    conversations.insert(conversation.id, at: 0)
                    for _ in 0..<count {
                        try await users[0]
                            .does(
                                "POST", conversation.path + "/messages",
                                ["parts": .array(Array(repeating: filling, count: 125))])
                    }
                }
                for messages in ["6", "unread"] {
                    var loaded: [JSONValue] = []
                    var next: String? = "/conversations?messages=\(messages)"
                    while let path = next {
                        let page = try await users[1].does("GET", path)
                        #expect(page.body.count < 2 << 20)
                        loaded += page.json.array ?? []
                        let link = page.header("Link")?.split(separator: ">").first.map { String($0.dropFirst()) }
                        next = try link.map { try EndToEndTests.path(of: $0) }
                    }
                    #expect(loaded.compactMap { $0["id"].string } == conversations)
                    #expect(loaded[0]["messages"].array?.count == 1 && loaded[1]["messages"].array?.count == 1)
                    #expect(loaded[0].object?["messages_next"] == nil && loaded[1].object?["messages_next"] == nil)
                    // 1 MB has no room for six messages. The list of messages continues with the rest.
                    let first = try #require(loaded[2]["messages"].array)
                    #expect((1..<6).contains(first.count))
                    let rest = try await users[1]
                        .does("GET", EndToEndTests.path(of: #require(loaded[2]["messages_next"].string)))
                    let all = try await users[1].does("GET", layerPath(conversations[2]) + "/messages").json.array
                    #expect(first + (rest.json.array ?? []) == all)
                }
            }
        }
    }
}
