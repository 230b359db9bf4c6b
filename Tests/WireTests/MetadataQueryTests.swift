// SPDX-License-Identifier: Apache-2.0

import StrataModel
import StrataWire
import Testing

/// Conditions on metadata in a query string, and the key paths that an app names.
@Suite struct MetadataQueryTests {
    private func condition(_ parameters: (String, String)...) throws(Failure) -> MetadataCondition? {
        try MetadataCondition(parameters: parameters.map { (name: $0.0, value: $0.1) })
    }

    private func expected(_ path: String, _ test: MetadataCondition.Test) -> MetadataCondition {
        MetadataCondition(path: MetadataPath(trusted: path), test: test)
    }

    @Test("equality, presence and prefix are parsed, also for a path whose last key is an operator's name")
    func read() throws {
        #expect(try condition(("page_size", "1"), ("metadata.status", "open")) == expected("status", .equals("open")))
        #expect(try condition(("metadata.a.b-c_9", "")) == expected("a.b-c_9", .equals("")))
        #expect(try condition(("metadata.status.exists", "true")) == expected("status", .exists))
        #expect(try condition(("metadata.status.prefix", "op")) == expected("status", .hasPrefix("op")))
        #expect(try condition(("metadata.status.prefix", "")) == expected("status", .exists))
        #expect(try condition(("metadata.status.equals", "open")) == expected("status", .equals("open")))
        #expect(try condition(("metadata.status.exists.equals", "open")) == expected("status.exists", .equals("open")))
        #expect(try condition(("metadata.status.prefix.prefix", "o")) == expected("status.prefix", .hasPrefix("o")))
        #expect(try condition(("metadata.exists", "true")) == expected("exists", .equals("true")))
        #expect(try condition(("page_size", "1"), ("metadatas", "x")) == nil)
    }

    @Test(
        "invalid parameters are refused by name",
        arguments: [
            ("metadata", "x"), ("metadata.", "x"), ("metadata.a..b", "x"), ("metadata.a b", "x"),
            ("metadata.status.exists", "false"), ("metadata.status.exists", ""),
            ("metadata.status", String(repeating: "x", count: 2049)),
            ("metadata.status", "a\0b"), ("metadata.status.prefix", String(repeating: "é", count: 113)),
            ("metadata." + String(repeating: "x", count: 1025), "x"),
            ("metadata" + String(repeating: ".x", count: 33), "x"),
        ])
    func refused(_ name: String, _ value: String) {
        let failure = #expect(throws: Failure.self) { try condition((name, value)) }
        #expect(failure?.code == .invalidProperty)
        if case .property(let named)? = failure?.detail {
            #expect(named.hasPrefix("metadata"))
        } else {
            Issue.record("names nothing")
        }
    }

    @Test("a query has one condition")
    func second() {
        let failure = #expect(throws: Failure.self) { try condition(("metadata.a", "1"), ("metadata.b", "1")) }
        #expect(failure?.detail == .property("metadata.b"))
        #expect(throws: Failure.self) { try condition(("metadata.a", "1"), ("metadata.a", "1")) }
    }

    @Test("a condition combines with pages, and not with another order or with messages")
    func together() throws {
        let open = expected("status", .equals("open"))
        func query(_ parameters: [String: String]) throws(Failure) -> ConversationsQuery {
            try ConversationsQuery(condition: open) { parameters[$0] }
        }
        #expect(try query(["page_size": "5", "sort_by": "created_at"]).condition == open)
        for (name, value) in [("sort_by", "last_message"), ("messages", "3")] {
            let failure = #expect(throws: Failure.self) { try query([name: value]) }
            #expect(failure?.detail == .property(name))
        }
        let missing = #expect(throws: Failure.self) { try FoundConversationsQuery(condition: nil) { _ in nil } }
        #expect(missing?.code == .missingProperty && missing?.detail == .property("metadata"))
        #expect(try FoundConversationsQuery(condition: open) { ["page_size": "7"][$0] }.page.pageSize == 7)
    }

    @Test("an index has a key path of metadata, and other paths are refused as the property")
    func property() throws {
        #expect(try IndexBody(json(#"{"property": "metadata.a.b"}"#)).path.dotted == "a.b")
        for property in [
            "", "status", "metadata", "metadata.", "metadata.a..b", "metadata.a/b", "metadata.__proto__",
            "participants",
        ] {
            let failure = #expect(throws: Failure.self) { try MetadataIndex.path(in: property) }
            #expect(failure?.code == .invalidProperty && failure?.detail == .property("property"), "\(property)")
        }
        let missing = #expect(throws: Failure.self) { try IndexBody(json("{}")) }
        #expect(missing?.code == .missingProperty)
    }

    @Test("an index has its state and its URL")
    func object() {
        let renderer = Renderer(baseURL: "https://host/apps/a", webSocketURL: "wss://host")
        let time = Timestamp(microseconds: 1_000_000)
        func object(_ readyAt: Timestamp?) -> JSONValue {
            written {
                renderer.writeIndex(
                    MetadataIndex(path: MetadataPath(trusted: "a.b"), createdAt: time, readyAt: readyAt), into: &$0)
            }
        }
        let start = #"{"url":"https://host/apps/a/indexes/metadata.a.b","property":"metadata.a.b","state":"#
        #expect(object(nil) == json(start + #""building","created_at":"1970-01-01T00:00:01.000Z","ready_at":null}"#))
        #expect(
            object(time)
                == json(
                    start + #""ready","created_at":"1970-01-01T00:00:01.000Z","ready_at":"1970-01-01T00:00:01.000Z"}"#))
    }
}
