// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire
import Testing

struct ConversationPatchTests {
    private func leaf(_ path: String, _ value: String) -> MetadataLeaf {
        MetadataLeaf(path: MetadataPath(trusted: path), value: value)
    }

    @Test("an empty patch is valid")
    func empty() throws { #expect(try ConversationPatch(json("[]")).isEmpty) }

    @Test("operations are parsed in order, each kind separately")
    func reads() throws {
        let patch = try ConversationPatch(
            json(
                """
                [{"operation":"remove","property":"participants","id":"layer:///identities/ben%2Eo"},
                 {"operation":"set","property":"metadata.trip.city","value":"Porto","id":null,"index":null},
                 {"operation":"add","property":"participants","id":"layer:///identities/cleo","value":{"id":"layer:///identities/other"}},
                 {"operation":"add","property":"participants","value":"dora"},
                 {"operation":"delete","property":"metadata.trip.hotel","value":5},
                 {"operation":"set","property":"metadata","value":{"title":"New","a":{"b":"1"}}},
                 {"operation":"set","property":"metadata.x","value":{}},
                 {"operation":"set","property":"participants","value":["ana","ana","layer:///identities/ben"]}]
                """))
        #expect(
            patch.participants == [
                .remove(UserID(trusted: "ben.o")), .add(UserID(trusted: "cleo")), .add(UserID(trusted: "dora")),
                .set([UserID(trusted: "ana"), UserID(trusted: "ben")]),
            ])
        #expect(
            patch.metadata == [
                .set(MetadataPath(trusted: "trip.city"), leaves: [leaf("trip.city", "Porto")]),
                .delete(MetadataPath(trusted: "trip.hotel")),
                .set(.root, leaves: [leaf("title", "New"), leaf("a.b", "1")]),
                .set(MetadataPath(trusted: "x"), leaves: []),
            ])
    }

    @Test("unnecessary escapes are accepted")
    func escapes() throws {
        let patch = try ConversationPatch(json(#"[{"operation":"set","property":"\\metadata.\\a","value":"1"}]"#))
        #expect(patch.metadata == [.set(MetadataPath(trusted: "a"), leaves: [leaf("a", "1")])])
    }

    @Test(
        "invalid operations are refused by name",
        arguments: [
            ("{}", Failure.Code.invalidRequest, nil), ("null", .invalidRequest, nil), ("[1]", .invalidRequest, "0"),
            ("[[]]", .invalidRequest, "0"),
            (#"[{}]"#, .invalidRequest, "0.operation"),
            (#"[{"operation":"replace","property":"metadata.a","value":"1"}]"#, .invalidRequest, "0.operation"),
            (#"[{"operation":5,"property":"metadata.a","value":"1"}]"#, .invalidRequest, "0.operation"),
            (#"[{"operation":"set","value":"1"}]"#, .invalidRequest, "0.property"),
            (#"[{"operation":"set","path":"metadata.a","value":"1"}]"#, .invalidRequest, "0.property"),
            (#"[{"operation":"set","property":7,"value":"1"}]"#, .invalidRequest, "0.property"),
            (#"[{"operation":"set","property":"","value":"1"}]"#, .invalidRequest, "0.property"),
            (#"[{"operation":"set","property":"metadata.","value":"1"}]"#, .invalidRequest, "0.property"),
            (#"[{"operation":"set","property":"metadata..a","value":"1"}]"#, .invalidRequest, "0.property"),
            (#"[{"operation":"set","property":"metadata.a\\","value":"1"}]"#, .invalidRequest, "0.property"),
            (#"[{"operation":"set","property":"distinct","value":false}]"#, .invalidProperty, "distinct"),
            (#"[{"operation":"set","property":"id","value":"x"}]"#, .invalidProperty, "id"),
            (#"[{"operation":"set","property":"metadata2","value":"x"}]"#, .invalidProperty, "metadata2"),
            (#"[{"operation":"add","property":"participants.ana","id":"ana"}]"#, .invalidProperty, "participants.ana"),
            (#"[{"operation":"set","property":"metadata.a","value":"x","index":0}]"#, .invalidProperty, "index"),
            (#"[{"operation":"add","property":"participants","id":"ana","index":-1}]"#, .invalidProperty, "index"),
            (#"[{"operation":"add","property":"participants"}]"#, .missingProperty, "0.id"),
            (#"[{"operation":"remove","property":"participants","id":5}]"#, .invalidProperty, "participants"),
            (
                #"[{"operation":"add","property":"participants","id":"layer:///messages/x"}]"#, .invalidProperty,
                "participants"
            ),
            (#"[{"operation":"set","property":"participants"}]"#, .missingProperty, "0.value"),
            (#"[{"operation":"set","property":"participants","value":"ana"}]"#, .invalidProperty, "participants"),
            (
                #"[{"operation":"set","property":"participants","value":["ana",{}]}]"#, .invalidProperty,
                "participants.1"
            ),
            (#"[{"operation":"delete","property":"participants"}]"#, .invalidOperation, "participants"),
            (#"[{"operation":"delete","property":"metadata"}]"#, .invalidOperation, "metadata"),
            (#"[{"operation":"add","property":"metadata.a","value":"1"}]"#, .invalidOperation, "metadata.a"),
            (#"[{"operation":"remove","property":"metadata","value":"1"}]"#, .invalidOperation, "metadata"),
            (#"[{"operation":"set","property":"metadata.a"}]"#, .missingProperty, "0.value"),
            (#"[{"operation":"set","property":"metadata.a","value":null}]"#, .invalidProperty, "metadata.a"),
            (#"[{"operation":"set","property":"metadata.a","value":1}]"#, .invalidProperty, "metadata.a"),
            (#"[{"operation":"set","property":"metadata.a","value":{"b":[]}}]"#, .invalidProperty, "metadata.a.b"),
            (#"[{"operation":"set","property":"metadata","value":"x"}]"#, .invalidProperty, "metadata"),
            (#"[{"operation":"set","property":"metadata","value":null}]"#, .invalidProperty, "metadata"),
            (#"[{"operation":"set","property":"metadata.a b","value":"x"}]"#, .invalidProperty, "metadata.a b"),
            (#"[{"operation":"set","property":"metadata.a\\.b","value":"x"}]"#, .invalidProperty, #"metadata.a\.b"#),
            (#"[{"operation":"delete","property":"metadata.é"}]"#, .invalidProperty, "metadata.é"),
            (
                #"[{"operation":"set","property":"metadata.__proto__.polluted","value":"x"}]"#, .invalidProperty,
                "metadata.__proto__.polluted"
            ),
            (
                #"[{"operation":"set","property":"metadata.a.constructor","value":{}}]"#, .invalidProperty,
                "metadata.a.constructor"
            ),
            (
                #"[{"operation":"set","property":"metadata.a","value":{"b":{"prototype":{"c":"x"}}}}]"#,
                .invalidProperty, "metadata.a.b.prototype"
            ),
            (
                #"[{"operation":"set","property":"metadata","value":{"__proto__":{}}}]"#, .invalidProperty,
                "metadata.__proto__"
            ),
            (
                #"[{"operation":"set","property":"metadata.ok","value":"1"},{"operation":"set","property":"metadata.bad","value":2}]"#,
                .invalidProperty, "metadata.bad"
            ),
        ] as [(String, Failure.Code, String?)])
    func refuses(text: String, code: Failure.Code, property: String?) {
        let result = failure { _ = try ConversationPatch(json(text)) }
        #expect(result?.code == code)
        #expect(result?.property == property)
    }

    @Test("keys reserved by JavaScript can be deleted, and similar keys can be set")
    func reservedKeys() throws {
        let patch = try ConversationPatch(
            json(
                #"""
                [{"operation":"delete","property":"metadata.a.__proto__.b"},{"operation":"delete","property":"metadata.constructor"},
                {"operation":"set","property":"metadata.Prototype","value":{"__proto":"1","constructors":"2"}}]
                """#))
        #expect(patch.metadata.map(\.path.dotted) == ["a.__proto__.b", "constructor", "Prototype"])
    }

    @Test("values, depths and paths have exact limits")
    func limits() {
        func set(_ path: String, _ value: String) -> JSONValue {
            json(#"[{"operation":"set","property":"metadata.\#(path)","value":\#(value)}]"#)
        }
        let text = String(repeating: "x", count: 2048)
        #expect(failure { _ = try ConversationPatch(set("a", "\"\(text)\"")) } == nil)
        #expect(failure { _ = try ConversationPatch(set("a", "\"\(text)x\"")) }?.property == "metadata.a")
        let deep = Array(repeating: "a", count: 31).joined(separator: ".")
        #expect(failure { _ = try ConversationPatch(set(deep, #"{"b":"1"}"#)) } == nil)
        #expect(failure { _ = try ConversationPatch(set(deep, #"{"b":{"c":"1"}}"#)) }?.code == .invalidProperty)
        #expect(failure { _ = try ConversationPatch(set(deep + ".a.a", "\"1\"")) }?.code == .invalidProperty)
        let long = String(repeating: "k", count: 1022)
        #expect(failure { _ = try ConversationPatch(set(long, #"{"b":"1"}"#)) } == nil)
        #expect(failure { _ = try ConversationPatch(set(long, #"{"bb":"1"}"#)) }?.code == .invalidProperty)
        #expect(failure { _ = try ConversationPatch(set(long + "kkk", "\"1\"")) }?.property == "metadata")
    }

    @Test("a short request cannot expand to a hundred times as many paths")
    func expansion() {
        let path = String(repeating: "p", count: 1000)
        func tree(_ count: Int) -> String { "{" + (0..<count).map { "\"k\($0)\":\"\"" }.joined(separator: ",") + "}" }
        func set(_ count: Int) -> String {
            "{\"operation\":\"set\",\"property\":\"metadata.\(path)\",\"value\":\(tree(count))}"
        }
        #expect(failure { _ = try ConversationPatch(json("[\(set(1000)),\(set(1000))]")) } == nil)
        for text in ["[\(set(4000))]", "[\(set(2000)),\(set(2000))]"] {
            #expect(failure { _ = try ConversationPatch(json(text)) }?.code == .invalidRequest)
        }
        let creation = "{\"participants\":[],\"metadata\":{\"\(path)\":\(tree(4000))}}"
        #expect(failure { _ = try CreateConversationBody(json(creation)) }?.code == .invalidRequest)
    }

    @Test("a failure does not repeat an arbitrarily long path")
    func longPaths() {
        for path in [String(repeating: "p", count: 100_000), "metadata." + String(repeating: "é", count: 100_000)] {
            let result = failure {
                _ = try ConversationPatch(json(#"[{"operation":"set","property":"\#(path)","value":"x"}]"#))
            }
            #expect((result?.property?.utf8.count ?? .max) < 1100)
        }
    }

    @Test(
        "path segments survive escaping and parsing",
        arguments: ["a", "a.b", "\\", "a\\.b", "layer:///identities/ben.o", "é.😀"])
    func segments(segment: String) {
        #expect(PatchPath.segments(of: "x." + PatchPath.escape(segment) + ".y") == ["x", segment, "y"])
    }
}
