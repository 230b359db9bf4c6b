// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ChatExample

@Suite("output to a terminal")
struct FrameWriterTests {
    private func frame(_ lines: [StyledLine], columns: Int = 10) -> Frame {
        Frame(size: ScreenSize(columns: columns, rows: lines.count), lines: lines, cursorRow: 0, cursorColumn: 3)
    }

    @Test("only lines that have changed are written")
    func difference() {
        var writer = FrameWriter()
        #expect(writer.text(for: frame([StyledLine("one"), StyledLine("two")])).contains("one"))
        let text = writer.text(for: frame([StyledLine("one"), StyledLine("three")]))
        #expect(!text.contains("one"))
        #expect(text.contains("\u{1B}[2;1H\u{1B}[0m\u{1B}[2Kthree"))
        #expect(writer.text(for: frame([StyledLine("one"), StyledLine("three")])).isEmpty)
    }

    @Test("a change of size clears the screen and writes everything")
    func resize() {
        var writer = FrameWriter()
        _ = writer.text(for: frame([StyledLine("one")]))
        let text = writer.text(for: frame([StyledLine("one")], columns: 11))
        #expect(text.contains("\u{1B}[2J"))
        #expect(text.contains("one"))
    }

    @Test("the cursor is placed at the input")
    func cursor() {
        var writer = FrameWriter()
        #expect(writer.text(for: frame([StyledLine("one")])).hasSuffix("\u{1B}[1;4H\u{1B}[?25h"))
    }

    @Test("text after characters of uncertain width is positioned explicitly")
    func columns() {
        var line = StyledLine("日本")
        line.append("│", style: .dim)
        line.append("x")
        var writer = FrameWriter()
        #expect(writer.text(for: frame([line])).contains("日本\u{1B}[5G\u{1B}[2m│\u{1B}[0m\u{1B}[6Gx"))
    }

    @Test("escape sequences in other users' text are not written")
    func injection() {
        var writer = FrameWriter()
        let text = writer.text(for: frame([StyledLine("\u{1B}]0;title\u{07}\u{1B}[31m")]))
        #expect(!text.contains("\u{1B}]"))
        #expect(!text.contains("\u{07}"))
        #expect(!text.contains("\u{1B}[31m"))
    }
}
