// SPDX-License-Identifier: Apache-2.0

/// The name of a database of the installation: a lower-case letter, then up to 31 lower-case letters, digits, `-` and
/// `_`.
public struct DatabaseName: Hashable, Sendable, LosslessStringConvertible {
    /// The name of an installation's only database.
    public static let main = DatabaseName(trusted: "main")
    /// The rule for names, for people.
    public static let rule = "a lower-case letter, then up to 31 lower-case letters, digits, - and _"

    /// The text of the name.
    public let description: String

    private init(trusted text: String) { description = text }

    /// Checks a name. nil: the text is none.
    public init?(_ text: String) {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        guard let first = text.utf8.first, letters.contains(first), text.utf8.count <= 32 else { return nil }
        let isValid = text.utf8.allSatisfy { byte in
            letters.contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard isValid else { return nil }
        self.init(trusted: text)
    }
}
