// SPDX-License-Identifier: Apache-2.0

/// The screen, as lines for a terminal of a given size.
struct ChatScreen: Sendable {
    private static let smallest = ScreenSize(columns: 24, rows: 6)

    let state: ChatState
    let size: ScreenSize

    var frame: Frame {
        guard size.columns >= Self.smallest.columns, size.rows >= Self.smallest.rows else { return tooSmall }
        let input = ChatInputLine(input: state.input, columns: size.columns)
        let top = [header] + (banner.map { [$0] } ?? [])
        let lines = top + body(rows: size.rows - top.count - 2) + [notice, input.line]
        return Frame(
            size: size, lines: lines.map { $0.fitted(to: size.columns) }, cursorRow: size.rows - 1,
            cursorColumn: input.cursor)
    }

    private var tooSmall: Frame {
        var lines = Array(repeating: StyledLine(), count: max(size.rows, 0))
        if !lines.isEmpty { lines[0] = StyledLine("Too small.").fitted(to: max(size.columns, 0)) }
        return Frame(size: size, lines: lines, cursorRow: 0, cursorColumn: 0)
    }

    // MARK: Header and footer

    private var header: StyledLine {
        let link =
            switch state.link {
            case .online where state.waitingChanges > 0: "sending \(state.waitingChanges)"
            case .online: "online"
            case .connecting: "connecting"
            case .offline: "offline"
            }
        let right = " \(link) "
        let left = StyledLine(" Strata · \(state.user)", .reversed)
            .fitted(to: max(size.columns - right.terminalWidth, 0), fill: .reversed)
        var line = left
        line.append(right, style: .reversed)
        return line
    }

    /// The banner that is shown only without a connection.
    private var banner: StyledLine? {
        guard state.link == .offline else { return nil }
        let waiting =
            switch state.waitingChanges {
            case 0: "No changes wait."
            case 1: "1 change waits and goes out with the next connection."
            case let count: "\(count) changes wait and go out with the next connection."
            }
        let style: TextStyle = [.reversed, .warning]
        return StyledLine(" Offline. \(waiting)", style).fitted(to: size.columns, fill: style)
    }

    private var notice: StyledLine {
        if let notice = state.notice { return StyledLine(notice, .warning) }
        return StyledLine(
            state.conversations.isEmpty
                ? "F1 help · Ctrl-C quit" : "F1 help · ↑↓ conversation · PgUp older · Ctrl-C quit", .dim)
    }

    // MARK: Columns

    /// The width of each column; 0 if there is no room for it.
    private var widths: (list: Int, messages: Int, details: Int) {
        let list = size.columns >= 44 ? min(size.columns / 4, 28) : 0
        let details = size.columns >= 72 ? min(size.columns / 4, 34) : 0
        // One column for each border.
        let messages = size.columns - (list > 0 ? list + 1 : 0) - (details > 0 ? details + 1 : 0)
        return (list, messages, details)
    }

    private func body(rows: Int) -> [StyledLine] {
        guard !state.showsHelp else { return Self.exactly(rows, of: ChatHelp(columns: size.columns).lines) }
        let widths = widths
        let list = ChatConversationList(
            conversations: state.conversations, selected: state.selected, columns: widths.list, rows: rows
        )
        .lines
        let messages = ChatMessageList(state: state, columns: widths.messages, rows: rows).lines
        let details = ChatDetails(conversation: state.current, columns: widths.details).lines
        let columns = [(list, widths.list), (messages, widths.messages), (details, widths.details)].filter { $0.1 > 0 }
        return (0..<rows)
            .map { row in
                var line = StyledLine()
                for (number, (lines, width)) in columns.enumerated() {
                    if number > 0 { line.append("│", style: .dim) }
                    line.append((lines.indices.contains(row) ? lines[row] : StyledLine()).fitted(to: width))
                }
                return line
            }
    }

    private static func exactly(_ rows: Int, of lines: [StyledLine]) -> [StyledLine] {
        Array(lines.prefix(rows)) + Array(repeating: StyledLine(), count: max(rows - lines.count, 0))
    }
}

/// The input line, with as much text as fits around the cursor.
struct ChatInputLine: Sendable {
    let line: StyledLine
    let cursor: Int

    init(input: InputLine, columns: Int) {
        let prompt = "> "
        let room = columns - prompt.count - 1
        let before = TerminalText(input.before).string.suffix(columns: room)
        let after = TerminalText(input.after).string.prefix(columns: room - before.terminalWidth)
        var line = StyledLine(prompt, .accent)
        line.append(String(before))
        line.append(String(after))
        self.line = line
        cursor = prompt.count + before.terminalWidth
    }
}

struct ChatHelp: Sendable {
    let columns: Int

    private static let keys = [
        ("Enter", "sends the line"), ("↑ ↓", "another conversation"), ("PgUp PgDn", "older and newer messages"),
        ("Ctrl-C", "the end"),
    ]

    var lines: [StyledLine] {
        let rows = Self.keys + ChatLine.explanations.map { ($0.usage, $0.meaning) }
        let width = min(22, columns / 2)
        return [StyledLine(), StyledLine(" What you can type", .bold), StyledLine()]
            + rows.map { usage, meaning in
                var line = StyledLine("   " + usage, .accent).fitted(to: width + 3)
                line.append("  " + meaning)
                return line
            }
            + [StyledLine(), StyledLine(" Any key goes back.", .dim)]
    }
}
