// SPDX-License-Identifier: Apache-2.0

struct TextStyle: OptionSet, Hashable, Sendable {
    let rawValue: Int

    static let bold = TextStyle(rawValue: 1)
    static let dim = TextStyle(rawValue: 2)
    /// Exchanged foreground and background colours.
    static let reversed = TextStyle(rawValue: 4)
    /// A highlight, for names for example.
    static let accent = TextStyle(rawValue: 8)
    static let warning = TextStyle(rawValue: 16)
}

/// One line of a screen: pieces of text, each with a style. Its text can neither move the cursor nor change the
/// terminal; see ``TerminalText``.
struct StyledLine: Hashable, Sendable {
    struct Span: Hashable, Sendable {
        let text: TerminalText
        let style: TextStyle
    }

    private(set) var spans: [Span] = []

    init() {}

    init(_ text: String, _ style: TextStyle = []) { append(text, style: style) }

    mutating func append(_ text: String, style: TextStyle = []) {
        if !text.isEmpty { spans.append(Span(text: TerminalText(text), style: style)) }
    }

    mutating func append(_ line: StyledLine) { spans += line.spans }

    var width: Int { spans.reduce(0) { $0 + $1.text.width } }

    var text: String { spans.map(\.text.string).joined() }

    /// Returns the line in exactly `columns` columns. A longer line is cut and ends with `…`; a shorter one is padded
    /// with spaces.
    func fitted(to columns: Int, fill: TextStyle = []) -> StyledLine {
        var line = StyledLine()
        var left = columns
        let isCut = width > columns
        if isCut { left -= 1 }
        for span in spans where left > 0 {
            let text = String(span.text.string.prefix(columns: left))
            line.append(text, style: span.style)
            left -= text.terminalWidth
            if text.count < span.text.string.count { break }
        }
        if isCut, columns > 0 { line.append("…", style: .dim) }
        line.append(String(repeating: " ", count: max(columns - line.width, 0)), style: fill)
        return line
    }
}

/// Text that is safe to write to a terminal. Texts of other users may contain control sequences.
struct TerminalText: Hashable, Sendable {
    let string: String
    let width: Int

    /// Replaces unsafe characters. Control characters become visible symbols. Invisible characters, and those that
    /// change the text direction, become U+FFFD.
    init(_ text: some StringProtocol) {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(Self.visible(scalar)) }
        string = String(scalars)
        width = string.terminalWidth
    }

    private static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        case 0x09: " "
        case 0x00..<0x20: Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}"
        case 0x7F: "\u{2421}"
        case 0x80..<0xA0: "\u{FFFD}"
        // Joiners of emoji and letters.
        case 0x200C, 0x200D: scalar
        default: isInvisible(scalar) ? "\u{FFFD}" : scalar
        }
    }

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .format, .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}

extension String {
    /// Wraps the text into lines of at most `columns` columns, at spaces if possible. A line feed begins a new line.
    func wrapped(to columns: Int) -> [String] {
        let columns = max(columns, 2)
        return split(omittingEmptySubsequences: false) { $0.isNewline }.flatMap { Self.wrap($0, columns: columns) }
    }

    private static func wrap(_ line: Substring, columns: Int) -> [String] {
        var lines: [String] = []
        var rest = line
        while rest.terminalWidth > columns {
            let fitting = rest.prefix(columns: columns)
            let isWordEnd = rest[fitting.endIndex...].first == " "
            if !isWordEnd, let space = fitting.lastIndex(of: " "), space > fitting.startIndex {
                lines.append(String(rest[..<space]))
                rest = rest[rest.index(after: space)...]
            } else {
                lines.append(String(fitting))
                rest = rest[fitting.endIndex...].trimmingFirstSpace
            }
        }
        return lines + [String(rest)]
    }
}

extension Substring {
    fileprivate var trimmingFirstSpace: Substring { first == " " ? dropFirst() : self }
}
