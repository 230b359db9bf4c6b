// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Synchronization
import Testing

@testable import ServiceKit

struct LoggingTests {
    final class Lines: Sendable {
        private let bytes = Mutex<[UInt8]>([])

        func logger(level: Logger.Level = .trace, provider: Logger.MetadataProvider? = nil) -> Logger {
            Logger(label: "test") { label in
                JSONLogHandler(
                    label: label, service: "gateway", instance: "host-1", level: level, metadataProvider: provider
                ) { line in
                    self.bytes.withLock { $0 += line }
                }
            }
        }

        var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }

        func objects() throws -> [[String: Any]] {
            try text.split(separator: "\n")
                .map {
                    try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
                }
        }
    }

    @Test("a log line has all its members")
    func members() throws {
        let lines = Lines()
        lines.logger().info("hello", metadata: ["conversation.id": "c1"])
        let line = try #require(try lines.objects().first)
        #expect(Set(line.keys) == ["time", "level", "service", "instance", "logger", "message", "metadata"])
        #expect(line["level"] as? String == "info")
        #expect(line["service"] as? String == "gateway")
        #expect(line["instance"] as? String == "host-1")
        #expect(line["message"] as? String == "hello")
        #expect(line["metadata"] as? [String: String] == ["conversation.id": "c1"])
        let format = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
        #expect(try format.wholeMatch(in: #require(line["time"] as? String)) != nil)
    }

    @Test("no text can end its string or line, or forge another line")
    func escaping() throws {
        let nasty =
            "quote \" backslash \\ newline \n return \r tab \t bell \u{7} delete \u{7F} null \u{0} snow ☃ family 👨‍👩‍👧"
        let lines = Lines()
        lines.logger().error("\(nasty)", metadata: ["\(nasty)": "\(nasty)"])
        #expect(lines.text.split(separator: "\n").count == 1)
        #expect(lines.text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F || $0 == "\n" })
        let line = try #require(try lines.objects().first)
        #expect(line["message"] as? String == nasty)
        #expect(line["metadata"] as? [String: String] == [nasty: nasty])
    }

    @Test("metadata keeps its structure, and the nearest value wins")
    func metadata() throws {
        let lines = Lines()
        var logger = lines.logger(provider: .init { ["a": "provider", "b": "provider", "c": "provider"] })
        logger[metadataKey: "b"] = "logger"
        logger[metadataKey: "c"] = "logger"
        logger.info("x", metadata: ["c": "event", "list": ["1", ["k": "v"]], "number": .stringConvertible(5)])
        let metadata = try #require(try lines.objects().first?["metadata"] as? [String: Any])
        #expect(metadata["a"] as? String == "provider")
        #expect(metadata["b"] as? String == "logger")
        #expect(metadata["c"] as? String == "event")
        #expect(metadata["number"] as? String == "5")
        let list = try #require(metadata["list"] as? [Any])
        #expect(list.first as? String == "1")
        #expect(list.last as? [String: String] == ["k": "v"])
    }

    @Test("secrets are redacted everywhere in a log line")
    func redaction() {
        let lines = Lines()
        let secret = Secret("hunter2")
        lines.logger().info("key \(secret)", metadata: ["key": "\(secret)", "other": .stringConvertible(secret)])
        #expect(!lines.text.contains("hunter2"))
        #expect(lines.text.contains("<redacted>"))
    }

    @Test("lines below the log level are not written")
    func level() {
        let lines = Lines()
        lines.logger(level: .warning).info("no")
        #expect(lines.text.isEmpty)
    }

    @Test(
        "timestamps are correct, also on leap days and before 1970",
        arguments: [
            (0, 0, "1970-01-01T00:00:00.000Z"), (951_782_399, 999, "2000-02-28T23:59:59.999Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000Z"),
            (951_868_800, 5, "2000-03-01T00:00:00.005Z"), (4_107_542_399, 0, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"), (-1, 0, "1969-12-31T23:59:59.000Z"),
            (1_735_689_599, 50, "2024-12-31T23:59:59.050Z"),
        ])
    func times(_ seconds: Int, _ milliseconds: Int, _ text: String) {
        #expect(Timestamp.text(seconds: seconds, milliseconds: milliseconds) == text)
    }
}
