// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// A syntax error in JSON text, with its position. It never contains the text itself.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Reason: String, Sendable {
        case unexpectedEnd = "it ends too early"
        case unexpectedCharacter = "a character that cannot stand here"
        case trailingData = "something follows the value"
        case invalidLiteral = "a word that is not true, false or null"
        case invalidNumber = "a malformed number"
        case numberOutOfRange = "a number that is too large"
        case invalidEscape = "a malformed escape sequence"
        case loneSurrogate = "half of a surrogate pair"
        case nulCharacter = "a NUL character in a string"
        case controlCharacter = "an unescaped control character in a string"
        case invalidUTF8 = "text that is not UTF-8"
        case tooDeep = "too many levels of nesting"
    }
    /// The number of bytes before the error.
    public let offset: Int
    /// The kind of the error.
    public let reason: Reason

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The reason and the offset.
    public var description: String { "\(reason.rawValue) at byte \(offset)" }
    /// The failure that is sent to a client.
    public var failure: Failure { Failure(.invalidRequest, "The body is not valid JSON: \(description).") }
}
