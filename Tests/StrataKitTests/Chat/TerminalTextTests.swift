// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ChatExample

@Suite("text on a terminal")
struct TerminalTextTests {
    @Test("other users' control characters become visible and move nothing")
    func control() {
        #expect(TerminalText("\u{1B}[2J\u{07}\u{7F}").string == "␛[2J␇␡")
        #expect(TerminalText("a\tb\r\n").string == "a b␍␊")
        #expect(TerminalText("\u{9B}31m\u{9D}").string == "\u{FFFD}31m\u{FFFD}")
    }

    @Test(
        "characters that change text direction or are invisible are replaced",
        arguments: ["\u{202E}", "\u{2066}", "\u{200B}", "\u{2028}", "\u{E000}"])
    func invisible(_ text: String) { #expect(TerminalText(text).string == "\u{FFFD}") }

    @Test(
        "letters and emoji of any script stay unchanged", arguments: ["é", "e\u{301}", "日本", "👨‍👩‍👧", "👍🏽", "नमस्ते", "שלום"])
    func kept(_ text: String) { #expect(TerminalText(text).string == text) }

    @Test(
        "columns are counted as in terminals",
        arguments: [
            ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한국", 4), ("😀", 2), ("👍🏽", 2), ("🇩🇪", 2), ("❤️", 2),
            ("Ａ", 2), ("…", 1), ("", 0),
        ])
    func width(_ text: String, _ columns: Int) { #expect(text.terminalWidth == columns) }

    @Test("a line is cut with an ellipsis or padded to fit exactly", arguments: 1...12)
    func fitted(_ columns: Int) {
        var line = StyledLine("日本", .bold)
        line.append("abc")
        #expect(line.fitted(to: columns).width == columns)
        #expect(line.fitted(to: columns).text.hasPrefix("日本abc") == (columns >= 7))
        #expect(line.fitted(to: columns).text.contains("…") == (columns < 7))
    }

    @Test("text is broken at spaces and line feeds, and long words anywhere")
    func wrapped() {
        #expect("one two three".wrapped(to: 8) == ["one two", "three"])
        #expect("abcdefgh".wrapped(to: 3) == ["abc", "def", "gh"])
        #expect("日本語".wrapped(to: 4) == ["日本", "語"])
        #expect("a\n\nb\r\nc".wrapped(to: 10) == ["a", "", "b", "c"])
        #expect("one two".wrapped(to: 3) == ["one", "two"])
    }

    @Test("no wrapped line is too long", arguments: 2...20)
    func wrapBounds(_ columns: Int) {
        let text = "Hello, 世界! 👨‍👩‍👧 a  long-winded sentence,\nwith   spaces "
        #expect(text.wrapped(to: columns).allSatisfy { $0.terminalWidth <= columns })
    }
}
