// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import SeededRandom
import StrataModel
import Testing

@testable import StrataWire

/// Bodies of webhooks must be invariant under `JSON.stringify(JSON.parse(body))`.
struct JavaScriptTextTests {
    private func text(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(buffer: writer.buffer)
    }

    @Test(
        "an array index has no sign, no leading zero and no fraction, and is below 4,294,967,295",
        arguments: [
            ("0", 0), ("7", 7), ("10", 10), ("4294967294", 4_294_967_294), ("4294967295", nil), ("4294967296", nil),
            ("9999999999", nil), ("", nil),
            ("00", nil), ("07", nil), ("-1", nil), ("+1", nil), ("1.0", nil), ("1e3", nil), (" 1", nil),
            ("1\u{301}", nil), ("٣", nil), ("a", nil),
        ] as [(String, UInt32?)])
    func indexes(_ text: String, _ index: UInt32?) { #expect(text.arrayIndex == index) }

    @Test("members whose names are array indexes come first, by number, and others keep their order")
    func order() {
        let names = ["b", "10", "02", "9", "a", "4294967295", "4294967294", "-1", "0", "__proto__"]
        #expect(
            names.inJavaScriptOrder { $0 } == [
                "0", "9", "10", "4294967294", "b", "02", "a", "4294967295", "-1", "__proto__",
            ])
        #expect(["b", "a"].inJavaScriptOrder { $0 } == ["b", "a"])
        let value = json(#"{"b":{"2":[{"1":1,"x":2,"0":3}],"1":null},"5":true}"#)
        #expect(text { $0.javaScript(value) } == #"{"5":true,"b":{"1":null,"2":[{"0":3,"1":1,"x":2}]}}"#)
    }

    @Test(
        "a number is written like Number::toString",
        arguments: [
            ("0", "0"), ("-0", "0"), ("-0.0", "0"), ("1.0", "1"), ("1.50", "1.5"), ("-1.5", "-1.5"), ("100", "100"),
            ("1e2", "100"),
            ("9007199254740992", "9007199254740992"), ("9007199254740993", "9007199254740992"),
            ("9223372036854775807", "9223372036854776000"),
            ("-9223372036854775808", "-9223372036854776000"), ("123456789012345680000", "123456789012345680000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"), ("1.25e21", "1.25e+21"), ("-1e300", "-1e+300"), ("0.000001", "0.000001"),
            ("0.00000123", "0.00000123"),
            ("0.0000001", "1e-7"), ("0.00000012", "1.2e-7"), ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("0.30000000000000004", "0.30000000000000004"), ("123456.789", "123456.789"), ("4.35", "4.35"),
        ])
    func numbers(_ read: String, _ written: String) { #expect(text { $0.javaScript(json(read)) } == written) }

    @Test("strings have exactly the escapes of JSON.stringify")
    func strings() {
        let value = JSONValue.string("\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/\u{7f}\u{80}é\u{2028}\u{2029}\u{feff}😀")
        #expect(
            text { $0.javaScript(value) }
                == "\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\u{7f}\u{80}é\u{2028}\u{2029}\u{feff}😀\"")
    }

    // MARK: Events

    /// Texts that are used as keys, ids and values of events.
    private static let texts = [
        "0", "1", "2", "10", "007", "-1", "1.5", "4294967294", "4294967295", "12345678901234567890", "ana", "Ana/é",
        "a\u{2028}b", "😀", "\"\\/",
        "__proto__", "constructor", "toJSON", "length", " 1", "\u{7f}\u{1f}",
    ]

    private func event(_ random: inout SeededGenerator) -> WebhookEvent {
        func some(_ most: Int) -> [String] { Array(Self.texts.shuffled(using: &random).prefix(random.int(0...most))) }
        let people = some(8).map { BasicIdentity(userID: UserID(trusted: $0), displayName: random.pick(Self.texts)) }
        let parts = some(2)
            .map { MessagePart(id: uuid(random.uuid()), mimeType: "text/plain", body: $0, size: $0.utf8.count) }
        let message = sampleMessage(recipients: people.map { .init(userID: $0.userID, status: .read) }, parts: parts)
        var conversation = sampleConversation(
            metadata: some(8).filter { !$0.contains(".") }
                .flatMap { key in
                    some(3).filter { !$0.contains(".") }
                        .map { MetadataLeaf(path: MetadataPath(trusted: "\(key).\($0)"), value: $0) }
                })
        conversation.participants = people
        let numbers: [JSONValue] = [.number(random.double()), .integer(Int64(bitPattern: random.next())), .integer(3)]
        let notification = JSONValue.object(
            some(8).map { .init($0, value: random.pick([.array(numbers), .object([]), .string($0), .null])) })
        let contents: [(WebhookEventKind, WebhookEvent.Content)] = [
            (.messageCreated, .message(message)), (.messageRead, .message(message)),
            (.partDeleted, .part(uuid(random.uuid()), of: message)),
            (.receiptCreated, .receipts(.read, from: Position(3), to: Position(1 << 35), in: conversationID)),
            (.conversationCreated, .conversation(conversation, effects: nil)),
            (
                .conversationUpdated,
                .conversation(conversation, effects: [.init(path: MetadataPath(trusted: "1.a"), value: "\u{2028}")])
            ),
            (.participantsUpdated, .participation(people, in: conversation)),
            (
                .push,
                .push(
                    .init(
                        id: uuid(random.uuid()), user: ana.userID, badge: 3,
                        notification: text { $0.javaScript(notification) }, tokens: "[]",
                        conversation: conversationID, message: messageID))
            ),
        ]
        let (kind, content) = random.pick(contents)
        return WebhookEvent(
            id: uuid(random.uuid()), kind: kind, createdAt: created, actor: people.first, content: content)
    }

    private func bodies() -> [String] {
        var random = SeededGenerator(seed: 26)
        return (0..<2000)
            .map { number in
                let (version, shown) = [(WebhookVersion.v1, ServerVersion.v1), (.v2, .v2), (.v3, .v3)][number % 3]
                let event = event(&random)
                let config = Dictionary(
                    uniqueKeysWithValues: Self.texts.shuffled(using: &random).prefix(random.int(0...6)).map { ($0, $0) }
                )
                return text {
                    ServerRenderer(renderer, version: shown).writeEvent(event, for: version, config: config, into: &$0)
                }
            }
    }

    @Test("the body of every event equals JSON.stringify of its JSON.parse")
    func events() throws {
        for body in bodies() {
            let again = Self.stringified(try JSONReader.parse(body))
            #expect(again == body)
            if again != body { return }
        }
    }

    /// A second implementation of `JSON.stringify`, for simple values.
    private static func stringified(_ value: JSONValue) -> String {
        switch value {
        case .null: return "null"
        case .bool(let bool): return "\(bool)"
        case .integer(let number) where number.magnitude <= 1 << 53: return "\(number)"
        // The table of numbers above tests these.
        case .integer, .number: return textOf(value)
        case .string(let text): return quoted(text)
        case .array(let elements): return "[\(elements.map(stringified).joined(separator: ","))]"
        case .object(let members):
            // V8 keeps small indexes in an array of elements, beside the list of properties.
            var elements: [UInt32: JSONValue] = [:]
            var properties: [(String, JSONValue)] = []
            for member in members {
                if let index = UInt32(member.name), "\(index)" == member.name, index != UInt32.max {
                    elements[index] = member.value
                } else {
                    properties.append((member.name, member.value))
                }
            }
            let all = elements.keys.sorted().map { ("\($0)", elements[$0] ?? .null) } + properties
            return "{\(all.map { "\(quoted($0)):\(stringified($1))" }.joined(separator: ","))}"
        }
    }

    private static func textOf(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.javaScript(value)
        return String(buffer: writer.buffer)
    }

    private static func quoted(_ text: String) -> String {
        let short: [Unicode.Scalar: String] = [
            "\"": "\\\"", "\\": "\\\\", "\u{8}": "\\b", "\u{c}": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
        ]
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if let escaped = short[scalar] {
                quoted += escaped
            } else if scalar.value < 0x20 {
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static let node = ["/usr/bin/node", "/usr/local/bin/node"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test("JavaScript itself leaves the bodies, and numbers of all magnitudes, unchanged", .enabled(if: node != nil))
    func javaScript() throws {
        var random = SeededGenerator(seed: 27)
        let numbers = (0..<5000).map { _ in Self.textOf(.number(random.double())) }
        let lines = bodies() + numbers
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Self.node))
        let program = """
            const lines = require("fs").readFileSync(0, "utf8").split("\\n");
            const wrong = lines.filter(line => JSON.stringify(JSON.parse(line)) !== line);
            process.stdout.write(JSON.stringify([lines.length, wrong.slice(0, 3)]));
            """
        process.arguments = ["-e", program]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(lines.joined(separator: "\n").utf8))
        try input.fileHandleForWriting.close()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(String(decoding: answer, as: UTF8.self) == "[\(lines.count),[]]")
    }
}

extension SeededGenerator {
    fileprivate mutating func double() -> Double {
        while true {
            let number = Double(bitPattern: next())
            if number.isFinite { return chance(50) ? number : Double(int(-1_000_000...1_000_000)) / 1000 }
        }
    }
}
