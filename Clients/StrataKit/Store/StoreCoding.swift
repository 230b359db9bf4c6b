// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

/// How the store writes values into columns of text.
enum StoreCoding {
    /// Writes the texts by key path, in the order of the paths, so that equal metadata give equal texts.
    static func text(_ strings: [String: String]) -> String { JSONValue.object(strings.mapValues { .string($0) }).text }

    /// Reads what ``text(_:)`` wrote.
    static func strings(_ text: String) -> [String: String] {
        guard text != "{}", let members = (try? JSONValue(parsing: text))?.object else { return [:] }
        return members.compactMapValues(\.string)
    }

    /// Any record as JSON.
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Reads what ``json(_:)`` wrote.
    static func value<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }
}
