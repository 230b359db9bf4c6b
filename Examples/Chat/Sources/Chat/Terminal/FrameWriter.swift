// SPDX-License-Identifier: Apache-2.0

struct Frame: Hashable, Sendable {
    var size: ScreenSize
    var lines: [StyledLine]
    /// The row of the input cursor, counted from 0.
    var cursorRow: Int
    var cursorColumn: Int
}

/// The size of a screen in characters.
struct ScreenSize: Hashable, Sendable {
    var columns: Int
    var rows: Int
}

/// A writer that turns frames into terminal output. It writes only lines that have changed.
struct FrameWriter: Sendable {
    private var shown: Frame?

    /// Switches to the alternate screen, disables line wrapping, and enables bracketed paste.
    static let begin = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?2004h\u{1B}[2J"
    /// Reverts ``begin`` and restores the original screen.
    static let end = "\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Returns the output that makes the screen show this frame; empty if it already does.
    mutating func text(for frame: Frame) -> String {
        guard frame != shown else { return "" }
        let isSameSize = shown?.size == frame.size
        // Hide the cursor while lines are written.
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
            // Terminals disagree on the width of some characters, so the column is set explicitly.
            if !isCertain { out += "\u{1B}[\(column + 1)G" }
            let codes = codes(of: span.style)
            out += codes.isEmpty ? span.text.string : "\u{1B}[\(codes)m\(span.text.string)\u{1B}[0m"
            column += span.text.width
            isCertain = span.text.string.utf8.allSatisfy { $0 < 0x80 }
        }
        return out
    }

    private static func codes(of style: TextStyle) -> String {
        let all: [(TextStyle, String)] = [
            (.bold, "1"), (.dim, "2"), (.accent, "36"), (.warning, "33"), (.reversed, "7"),
        ]
        return all.filter { style.contains($0.0) }.map(\.1).joined(separator: ";")
    }
}
