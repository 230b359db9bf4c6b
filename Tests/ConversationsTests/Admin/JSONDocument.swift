// SPDX-License-Identifier: Apache-2.0

/// A JSON document whose members tests read by name.
@dynamicMemberLookup
enum JSONDocument: Decodable, Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case array([JSONDocument])
    case object([String: JSONDocument])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let array = try? value.decode([JSONDocument].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONDocument].self))
        }
    }

    /// The member with this name; nil if there is none, or if this is no object.
    subscript(dynamicMember name: String) -> JSONDocument? { members?[name] }

    var members: [String: JSONDocument]? { if case .object(let members) = self { members } else { nil } }
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    /// The elements; empty if this is no array.
    var elements: [JSONDocument] { if case .array(let elements) = self { elements } else { [] } }
}
