// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient
package import SeededRandom

/// A generator of unexpected values and invalid bytes.
package struct FuzzValues: Sendable {
    package var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    // MARK: JSON

    package mutating func value(depth: Int = 0) -> JSONValue {
        switch generator.int(0...(depth > 4 ? 5 : 8)) {
        case 0: return .null
        case 1: return .bool(generator.chance(50))
        case 2: return .integer(generator.pick([0, 1, -1, 8192, .max, .min, Int64(Int32.max), 1 << 53]))
        case 3: return .number(generator.pick([0.5, -0.0, 1e300, -1e-300, 1.5e18]))
        case 4, 5: return .string(text())
        case 6: return .array((0..<generator.int(0...4)).map { _ in value(depth: depth + 1) })
        default:
            return .object(Dictionary((0..<generator.int(0...4)).map { _ in (name(), value(depth: depth + 1)) }) { $1 })
        }
    }

    /// Returns a name: usually a known one, so that the value below it is read.
    package mutating func name() -> String {
        generator.chance(80)
            ? generator.pick([
                "id", "participants", "metadata", "parts", "mime_type", "body", "encoding", "content", "size",
                "notification", "recipients", "type",
                "mode",
                "position", "operation", "property", "value", "method", "object_id", "data", "request_id",
                "from_timestamp", "ids", "since",
                "distinct",
                "index", "object", "action", "token", "device_id", "title", "text", "identity_token", "app_id",
                "read_receipts",
            ]) : text()
    }

    package mutating func text() -> String {
        switch generator.int(0...15) {
        case 0: return ""
        case 1:
            return String(
                repeating: generator.pick(["x", "é", "🙂", "\\", "\"", "\u{0}", "."]),
                count: generator.pick([1, 127, 128, 129, 2048, 2049, 5000]))
        case 2: return "layer:///conversations/\(generator.uuid())"
        case 3: return "layer:///messages/\(generator.uuid())/parts/\(generator.int(-1...3))"
        case 4:
            return "layer:///identities/"
                + generator.pick(["ana", "%", "%2", "%zz", "%00", "..", "a/b", "ana.b%20c", ""])
        case 5:
            return generator.pick([
                "layer:///", "layer://", "layer:///apps/production/", "LAYER:///MESSAGES/", "layer:///messages/parts",
            ])
        case 6:
            return generator.pick([
                "metadata", "metadata.", "metadata..a", ".a", "metadata.a\\", "metadata.a\\.b", "participants",
                "recipient_status.x",
            ])
        case 7:
            return generator.pick([
                "2018-05-04T09:30:00.125Z", "9999-12-31T23:59:60Z", "-1", "0000-00-00T00:00:00Z",
                "2018-05-04T09:30:00+25:61",
            ])
        case 8: return generator.uuid()
        case 9: return "\u{0}\u{1}\u{7f}\u{202e}\u{feff}\r\n\t"
        case 10:
            return generator.pick([
                "read", "delivery", "my_devices", "all_participants", "set", "delete", "add", "remove", "started",
                "auto", "base64",
            ])
        case 11: return "';DROP TABLE conversations.message;--"
        case 12: return "%s%n{}${x}<script>../../etc/passwd"
        case 13: return "e\u{301}\u{1F1E9}\u{1F1EA}\u{10FFFF}"
        default: return "text/plain"
        }
    }

    /// Returns a copy with a few members changed, added or removed.
    package mutating func mutated(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(var members):
            guard let key = members.keys.sorted().randomElement(using: &generator) else {
                return generator.chance(50) ? self.value() : value
            }
            switch generator.int(0...9) {
            case 0: members[key] = nil
            case 1: members[name()] = self.value()
            case 2: members[key] = self.value()
            case 3: return self.value()
            default: if let member = members[key] { members[key] = mutated(member) }
            }
            return .object(members)
        case .array(var elements):
            guard !elements.isEmpty else { return generator.chance(50) ? .array([self.value()]) : self.value() }
            let index = generator.int(0...(elements.count - 1))
            switch generator.int(0...9) {
            case 0: elements.remove(at: index)
            case 1:
                elements.append(contentsOf: Array(repeating: elements[index], count: generator.pick([1, 2, 50, 300])))
            case 2: elements[index] = self.value()
            case 3: return self.value()
            default: elements[index] = mutated(elements[index])
            }
            return .array(elements)
        case .string(let text):
            switch generator.int(0...4) {
            case 0: return .string(String(text.dropLast()))
            case 1: return .string(text + self.text())
            case 2: return .string(self.text())
            default: return self.value()
            }
        default: return self.value()
        }
    }

    // MARK: Bytes

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }

    /// Returns a copy with bytes flipped, cut, repeated, or replaced by invalid UTF-8.
    package mutating func mutated(_ text: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<generator.int(1...4) {
            let position = generator.int(0...text.count)
            switch generator.int(0...7) {
            case 0: text = Array(text.prefix(position))
            case 1: if position < text.count { text[position] = UInt8(truncatingIfNeeded: generator.next()) }
            case 2: text.insert(contentsOf: bytes(generator.int(1...8)), at: position)
            case 3:
                text.insert(
                    contentsOf: generator.pick([
                        [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xFF], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
                    ]), at: position)
            case 4: text += text.suffix(generator.int(0...min(50, text.count)))
            case 5:
                text.insert(
                    contentsOf: Array(
                        generator.pick(["\\u0000", "\\ud800", "\\", "\"", ",", "{", "]", "1e999", "-", "//"]).utf8),
                    at: position)
            case 6: text.removeSubrange(position..<min(text.count, position + generator.int(1...6)))
            default: if position < text.count { text[position] ^= 1 << UInt8(generator.int(0...7)) }
            }
        }
        return text
    }

    /// Returns a request body, usually a small change of a valid one.
    package mutating func body(from valid: JSONValue?) -> [UInt8] {
        let valid = valid ?? [:]
        switch generator.int(0...19) {
        case 0...8: return Array(mutated(valid).text.utf8)
        case 9...10: return Array(mutated(mutated(mutated(valid))).text.utf8)
        case 11...13: return mutated(Array(valid.text.utf8))
        case 14...15: return Array(value().text.utf8)
        case 16: return bytes(generator.int(0...300))
        case 17: return nested(generator.pick([20, 100, 600, 5000, 100_000]))
        case 18: return generator.chance(10) ? Array(repeating: 0x20, count: generator.pick([1 << 20, 1_100_000])) : []
        default: return Array(valid.text.utf8)
        }
    }

    private mutating func nested(_ depth: Int) -> [UInt8] {
        let (open, close) = generator.pick([("[", "]"), ("{\"a\":", "}"), ("{\"metadata\":", "}")])
        let inner = generator.chance(50) ? "1" : ""
        let end = generator.chance(70) ? String(repeating: close, count: depth) : ""
        return Array((String(repeating: open, count: depth) + inner + end).utf8)
    }
}
