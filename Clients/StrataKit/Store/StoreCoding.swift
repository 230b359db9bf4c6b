// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

/// The encoding of values in text columns.
enum StoreCoding {
    /// Encodes texts by key path with sorted keys, so that equal metadata have equal encodings.
    static func text(_ strings: [String: String]) -> String { JSONValue.object(strings.mapValues { .string($0) }).text }

    /// Decodes the output of ``text(_:)``.
    static func strings(_ text: String) -> [String: String] {
        guard text != "{}", let members = (try? JSONValue(parsing: text))?.object else { return [:] }
        return members.compactMapValues(\.string)
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Decodes the output of ``json(_:)``.
    static func value<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }
}
