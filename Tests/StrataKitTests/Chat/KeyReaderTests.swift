// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ChatExample

@Suite("keys of a terminal")
struct KeyReaderTests {
    private func keys(_ text: String) -> [Key] {
        var reader = KeyReader()
        return reader.read(text.utf8)
    }

    @Test("each letter is one key of text, for any UTF-8 length")
    func text() {
        #expect(keys("aé日😀") == [.text("a"), .text("é"), .text("日"), .text("😀")])
    }

    @Test("control characters are recognized as their keys")
    func control() {
        #expect(keys("\r\n\t\u{7F}\u{08}\u{03}") == [.enter, .enter, .tab, .backspace, .backspace, .control("c")])
        #expect(keys("\0\u{1C}").isEmpty)
    }

    @Test(
        "terminal sequences are recognized as keys, with or without modifiers",
        arguments: [
            ("\u{1B}[A", Key.up), ("\u{1B}OB", .down), ("\u{1B}[1;5C", .right), ("\u{1B}[3~", .delete),
            ("\u{1B}[5~", .pageUp), ("\u{1B}OP", .help),
            ("\u{1B}[[A", .help), ("\u{1B}[11~", .help), ("\u{1B}[H", .home),
        ])
    func sequences(_ bytes: String, _ key: Key) { #expect(keys(bytes) == [key]) }

    @Test("unknown sequences are dropped completely")
    func unknown() { #expect(keys("\u{1B}[24~\u{1B}xa\u{1B}[?1;2cb") == [.text("a"), .text("b")]) }

    @Test("the division of bytes into reads makes no difference")
    func portions() {
        let bytes = Array("é\u{1B}[A😀\u{1B}[200~a\nb\u{1B}[201~\u{1B}OPx".utf8)
        var whole = KeyReader()
        let expected = whole.read(bytes)
        #expect(expected == [.text("é"), .up, .text("😀"), .text("a\nb"), .help, .text("x")])
        var reader = KeyReader()
        #expect(bytes.flatMap { reader.read([$0]) } == expected)
    }

    @Test("a single Escape is a key if nothing has followed it")
    func escape() {
        var reader = KeyReader()
        #expect(reader.read([0x1B]).isEmpty)
        #expect(reader.isUndecided)
        #expect(reader.flush() == [.escape])
        #expect(!reader.isUndecided)
        #expect(reader.read("a".utf8) == [.text("a")])
    }

    @Test("each invalid UTF-8 byte becomes a replacement character")
    func invalid() {
        var reader = KeyReader()
        #expect(reader.read([0xFF, 0xC3, 0x41]) == [.text("\u{FFFD}"), .text("\u{FFFD}"), .text("A")])
    }

    @Test("a paste is one text, also with line feeds and escape sequences")
    func paste() { #expect(keys("\u{1B}[200~one\r\u{1B}[A\u{1B}[201~\r") == [.text("one\r\u{1B}[A"), .enter]) }

    @Test("neither a paste nor a sequence without an end grows without limit")
    func bounds() {
        var reader = KeyReader()
        _ = reader.read("\u{1B}[200~".utf8)
        for _ in 0..<20 { _ = reader.read([UInt8](repeating: 0x61, count: 4096)) }
        let keys = reader.read("\u{1B}[201~".utf8)
        #expect(keys == [.text(String(repeating: "a", count: KeyReader.pasteLimit))])
        #expect(reader.read("\u{1B}[".utf8 + [UInt8](repeating: 0x31, count: 100)) == [])
        #expect(reader.read("b".utf8) == [.text("b")])
    }
}
