// SPDX-License-Identifier: Apache-2.0

/// A scanner for the XML that S3 answers. It finds elements by their names, without namespaces and attributes of
/// interest, and does not check that the document is well-formed.
struct S3XML {
    private let text: Substring

    init(_ text: some StringProtocol) { self.text = Substring(text) }

    /// Returns the contents of all elements with a name, in order. An element must not contain another one with the
    /// same name.
    func all(_ name: String) -> [S3XML] {
        var found: [S3XML] = []
        var rest = text
        while let start = rest.firstRange(of: "<\(name)") {
            rest = rest[start.upperBound...]
            // `<Code` is also the beginning of `<CodeName>`.
            guard let next = rest.first, next == ">" || next == " " || next == "/",
                let end = rest.firstIndex(of: ">")
            else { continue }
            let isEmpty = rest[..<end].hasSuffix("/")
            rest = rest[end...].dropFirst()
            guard !isEmpty, let close = rest.firstRange(of: "</\(name)>") else {
                found.append(S3XML(""))
                continue
            }
            found.append(S3XML(rest[..<close.lowerBound]))
            rest = rest[close.upperBound...]
        }
        return found
    }

    /// Returns the text of the first element with a name; nil if there is none.
    func first(_ name: String) -> String? { all(name).first?.unescaped }

    private var unescaped: String {
        var result = ""
        var rest = text
        while let mark = rest.firstIndex(of: "&") {
            result += rest[..<mark]
            rest = rest[mark...]
            guard let end = rest.firstIndex(of: ";"), let character = Self.character(rest[..<end].dropFirst()) else {
                result += "&"
                rest = rest.dropFirst()
                continue
            }
            result.append(character)
            rest = rest[end...].dropFirst()
        }
        return result + rest
    }

    private static func character(_ name: Substring) -> Character? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let digits = name.dropFirst()
            let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return number.flatMap { Unicode.Scalar($0) }.map { Character($0) }
        }
    }

    /// Returns a text as the content of an element.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
