// SPDX-License-Identifier: Apache-2.0

import StrataKit

/// The column of conversations, with the unread count of each. The selected conversation is reversed.
struct ChatConversationList: Sendable {
    let conversations: [ChatConversation]
    let selected: ConversationID?
    let columns: Int
    let rows: Int

    var lines: [StyledLine] {
        guard !conversations.isEmpty else {
            return [StyledLine(" no conversations", .dim), StyledLine(" /new bob", .accent)]
        }
        // Scroll so that the selected conversation stays visible.
        let place = conversations.firstIndex { $0.id == selected } ?? 0
        let first = max(place - rows + 1, 0)
        return conversations.dropFirst(first).prefix(rows).map(line)
    }

    private func line(_ conversation: ChatConversation) -> StyledLine {
        let count = conversation.unreadCount > 0 ? " \(conversation.unreadCount) " : " "
        let isSelected = conversation.id == selected
        var style: TextStyle = isSelected ? .reversed : []
        if conversation.unreadCount > 0 { style.insert(.bold) }
        let title = " " + conversation.title + (conversation.isDraft ? " (new)" : "")
        var line = StyledLine(title, style).fitted(to: max(columns - count.count, 0), fill: style)
        line.append(count, style: conversation.unreadCount > 0 ? style.union(.accent) : style)
        return line
    }
}

/// The column of messages. The newest ones that fit are at the bottom, followed by a line with the typing users.
struct ChatMessageList: Sendable {
    let state: ChatState
    let columns: Int
    let rows: Int

    var lines: [StyledLine] {
        let room = max(rows - 1, 0)
        var lines: [StyledLine] = []
        for message in state.messages.dropLast(state.scrolled).reversed() {
            lines = self.lines(of: message) + lines
            if lines.count >= room { break }
        }
        if state.messages.isEmpty { lines = [StyledLine(hint, .dim)] }
        let shown = Array(lines.suffix(room))
        return Array(repeating: StyledLine(), count: room - shown.count) + shown + [typing]
    }

    private var hint: String {
        guard let current = state.current else { return " /new USER… makes a conversation." }
        return current.isDraft ? " Others see this conversation with its first message." : " No messages are here."
    }

    /// Returns the lines of a message, `12:03 alice: …`, with the delivery progress of an own message.
    private func lines(of message: ChatMessage) -> [StyledLine] {
        let indent = " "
        let texts = "\(message.time) \(message.sender): \(message.text)".wrapped(to: columns - 2)
        var lines = texts.enumerated()
            .map { number, text in
                let head = "\(message.time) \(message.sender):"
                guard number == 0, text.hasPrefix(head) else { return StyledLine(indent + text) }
                var line = StyledLine(indent + message.time + " ", .dim)
                line.append(message.sender + ":", style: message.receipt == nil ? [.bold, .accent] : .bold)
                line.append(String(text.dropFirst(head.count)))
                return line
            }
        guard let receipt = message.receipt else { return lines }
        let style: TextStyle = if case .refused = receipt { .warning } else { .dim }
        let mark = "  · \(receipt.text)"
        if let last = lines.last, last.width + mark.terminalWidth <= columns {
            lines[lines.count - 1].append(mark, style: style)
        } else {
            lines.append(StyledLine(mark, style))
        }
        return lines
    }

    private var typing: StyledLine {
        switch state.typing.count {
        case 0: StyledLine()
        case 1: StyledLine(" \(state.typing[0]) is typing …", .accent)
        case 2: StyledLine(" \(state.typing[0]) and \(state.typing[1]) are typing …", .accent)
        case let count: StyledLine(" \(count) people are typing …", .accent)
        }
    }
}

struct ChatDetails: Sendable {
    let conversation: ChatConversation?
    let columns: Int

    var lines: [StyledLine] {
        guard let conversation else { return [] }
        return [StyledLine(" People", .bold)] + conversation.people.map(line) + [
            StyledLine(), StyledLine(" Metadata", .bold),
        ]
            + metadata(conversation)
    }

    private func line(_ person: ChatConversation.Person) -> StyledLine {
        var line = StyledLine(person.isOnline == true ? " ● " : " ○ ", person.isOnline == true ? .accent : .dim)
        line.append(person.name)
        return line
    }

    private func metadata(_ conversation: ChatConversation) -> [StyledLine] {
        guard !conversation.metadata.isEmpty else { return [StyledLine(" none: /set title Lunch", .dim)] }
        return conversation.metadata.sorted { $0.key < $1.key }
            .flatMap { path, value in
                [StyledLine(" " + path, .accent)]
                    + value.wrapped(to: columns - 3).prefix(3).map { StyledLine("   " + $0) }
            }
    }
}
