// SPDX-License-Identifier: Apache-2.0

/// What a screen shows at one moment.
struct Frame: Hashable, Sendable {
    var size: ScreenSize
    var lines: [StyledLine]
    /// Where the user types; 0 is the first.
    var cursorRow: Int
    var cursorColumn: Int
}

/// How large a screen is, in characters.
struct ScreenSize: Hashable, Sendable {
    var columns: Int
    var rows: Int
}

/// Makes what is written to the terminal out of what is to be seen: only lines that have changed.
struct FrameWriter: Sendable {
    private var shown: Frame?

    /// Takes over the whole screen, which gets its old content back at the end; no line breaks by itself, and pastes are marked.
    static let begin = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?2004h\u{1B}[2J"
    /// Undoes ``begin``, whatever was shown.
    static let end = "\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// What has to be written so that the screen shows this; empty if it does.
    mutating func text(for frame: Frame) -> String {
        guard frame != shown else { return "" }
        let isSameSize = shown?.size == frame.size
        // The cursor is hidden while lines are written.
        var out = "\u{1B}[?25l" + (isSameSize ? "" : "\u{1B}[0m\u{1B}[2J")
        for (row, line) in frame.lines.enumerated() where !isSameSize || shown?.lines[row] != line {
            out += "\u{1B}[\(row + 1);1H\u{1B}[0m\u{1B}[2K" + Self.text(of: line)
        }
        shown = frame
        return out + "\u{1B}[\(frame.cursorRow + 1);\(frame.cursorColumn + 1)H\u{1B}[?25h"
    }

    private static func text(of line: StyledLine) -> String {
        var out = ""
        var column = 0
        var isCertain = true
        for span in line.spans {
            // Terminals do not agree on the width of all characters.
            if !isCertain { out += "\u{1B}[\(column + 1)G" }
            let codes = codes(of: span.style)
            out += codes.isEmpty ? span.text.string : "\u{1B}[\(codes)m\(span.text.string)\u{1B}[0m"
            column += span.text.width
            isCertain = span.text.string.utf8.allSatisfy { $0 < 0x80 }
        }
        return out
    }

    private static func codes(of style: TextStyle) -> String {
        let all: [(TextStyle, String)] = [(.bold, "1"), (.dim, "2"), (.accent, "36"), (.warning, "33"), (.reversed, "7")]
        return all.filter { style.contains($0.0) }.map(\.1).joined(separator: ";")
    }
}
