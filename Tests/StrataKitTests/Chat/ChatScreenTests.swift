// SPDX-License-Identifier: Apache-2.0

import StrataModel
import Testing

@testable import ChatExample

@Suite("the screen of the example Chat")
struct ChatScreenTests {
    private func text(_ state: ChatState, _ columns: Int = 80, _ rows: Int = 12) -> [String] {
        ChatScreen(state: state, size: ScreenSize(columns: columns, rows: rows)).frame.lines.map(\.text)
    }

    private func state(
        _ messages: [ChatMessage] = [], _ change: (inout ChatConversation) -> Void = { _ in }
    ) -> ChatState {
        var state = ChatState(user: "alice")
        var conversation = ChatConversation.sample("Lunch")
        change(&conversation)
        state.link = .online
        state.show(conversations: [conversation])
        state.show(messages: messages, of: conversation.id)
        return state
    }

    @Test(
        "the lines fill screens of any size exactly",
        arguments: [(1, 1), (0, 0), (24, 6), (40, 10), (50, 8), (80, 24), (200, 60)])
    func size(_ columns: Int, _ rows: Int) {
        let messages = (0..<30)
            .map { ChatMessage.sample("日本語 and a long message that needs to be broken, number \($0)", receipt: .sent) }
        var full = state(messages) { $0.metadata = ["a.b": "a value that is longer than the column", "c": ""] }
        _ = full.type("a long line that does not fit onto a small screen")
        for state in [full, ChatState(user: "alice")] {
            let frame = ChatScreen(state: state, size: ScreenSize(columns: columns, rows: rows)).frame
            #expect(frame.lines.count == rows)
            #expect(frame.lines.allSatisfy { $0.width == columns || rows == 1 })
            #expect(frame.cursorRow < max(rows, 1) && frame.cursorColumn < max(columns, 1))
        }
    }

    @Test("conversations show their number of unread messages")
    func unread() {
        let line = text(state { $0.unreadCount = 3 })[1]
        #expect(line.hasPrefix(" Lunch"))
        #expect(line.split(separator: "│")[0].hasSuffix(" 3 "))
    }

    @Test("own messages show their status")
    func receipts() {
        let messages = [
            ChatMessage.sample("one", receipt: .read(2, of: 2)), .sample("two", receipt: .delivered(1, of: 2)),
            .sample("three", receipt: .sent),
            .sample("four", receipt: .waiting), .sample("five"),
        ]
        let lines = text(state(messages), 120, 12).joined(separator: "\n")
        #expect(lines.contains("alice: one  · read "))
        #expect(lines.contains("alice: two  · delivered to 1 of 2"))
        #expect(lines.contains("alice: three  · sent"))
        #expect(lines.contains("alice: four  · waiting"))
        #expect(lines.contains("Bob: five "))
    }

    @Test("receipts show the status of all recipients, or how many have the highest one")
    func receiptSummary() {
        #expect(ChatMessage.Receipt(sentTo: []) == .sent)
        #expect(ChatMessage.Receipt(sentTo: [.none, .none]) == .sent)
        #expect(ChatMessage.Receipt(sentTo: [.none, .delivered]) == .delivered(1, of: 2))
        #expect(ChatMessage.Receipt(sentTo: [.read, .delivered]) == .read(1, of: 2))
    }

    @Test("the newest message is at the bottom, and scrolling shows earlier ones")
    func scrolling() {
        var state = state((0..<40).map { .sample("number \($0).") })
        #expect(text(state).contains { $0.contains("number 39.") })
        #expect(!text(state).contains { $0.contains("number 30.") })
        _ = state.press(.pageUp)
        #expect(!text(state).contains { $0.contains("number 39.") })
        #expect(text(state).contains { $0.contains("number 30.") })
    }

    @Test("metadata and participants are shown beside the messages")
    func details() {
        let state = state {
            $0.metadata = ["theme.color": "blue", "title": "Lunch"]
            $0.people = [.init(name: "alice", isOnline: true), .init(name: "bob")]
        }
        let details = text(state).dropFirst()
            .compactMap { $0.split(separator: "│", omittingEmptySubsequences: false).last.map(String.init) }
        for part in [" ● alice", " ○ bob", " theme.color", "   blue", " title", "   Lunch"] {
            #expect(details.contains { $0.hasPrefix(part) })
        }
    }

    @Test("a banner reports a missing connection and the number of pending changes")
    func offline() {
        var state = state()
        #expect(!text(state).joined().contains("Offline"))
        state.link = .offline
        state.waitingChanges = 2
        #expect(text(state)[1].hasPrefix(" Offline. 2 changes wait"))
    }

    @Test("typing users are shown below the messages")
    func typing() throws {
        var state = state()
        let conversation = try #require(state.selected)
        state.showTyping(true, by: UserID(trusted: "bob"), named: "Bob", in: conversation)
        #expect(text(state)[9].contains("Bob is typing"))
        state.showTyping(true, by: UserID(trusted: "carol"), named: "Carol", in: conversation)
        #expect(text(state)[9].contains("Bob and Carol are typing"))
    }

    @Test("the help lists every command and fits into 80 columns and 24 rows")
    func help() {
        var state = state()
        _ = state.press(.help)
        let lines = text(state, 80, 24).joined(separator: "\n")
        for explanation in ChatLine.explanations { #expect(lines.contains(explanation.usage)) }
        #expect(lines.contains("Any key goes back."))
    }

    @Test("a long line shows the part around the cursor")
    func input() {
        var state = state()
        _ = state.type(String(repeating: "x", count: 100) + "end")
        let frame = ChatScreen(state: state, size: ScreenSize(columns: 40, rows: 12)).frame
        #expect(frame.lines[11].text.hasSuffix("end "))
        #expect(frame.cursorColumn == 39)
        _ = state.press(.home)
        #expect(ChatScreen(state: state, size: ScreenSize(columns: 40, rows: 12)).frame.cursorColumn == 2)
    }
}
