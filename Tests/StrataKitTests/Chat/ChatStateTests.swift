// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataModel
import Testing

@testable import ChatExample

@Suite("the state of the example Chat")
struct ChatStateTests {
    private let bob = UserID(trusted: "bob")

    private func state(_ conversations: ChatConversation...) -> ChatState {
        var state = ChatState(user: "alice")
        state.show(conversations: conversations)
        return state
    }

    @Test("Enter sends the line and clears it")
    func send() {
        var state = state(.sample("Lunch"))
        #expect(state.type("Hi!\r") == [.type, .type, .type, .send("Hi!")])
        #expect(state.input.isEmpty)
        #expect(state.type("  \r").last != .send("  "))
    }

    @Test("commands become actions, and typing them sends no typing signal")
    func commands() {
        var state = state(.sample("Lunch"))
        #expect(state.type("/set title Dinner\r") == [.setMetadata(path: "title", value: "Dinner")])
        #expect(state.type("/new bob\r") == [.create([bob])])
        #expect(state.type("/leave\r/offline\r/online\r/quit\r") == [.leave, .disconnect, .connect, .quit])
    }

    @Test("a wrong command stays in the line, and a notice explains the error until the next key")
    func wrong() {
        var state = state(.sample("Lunch"))
        #expect(state.type("/bogus\r") == [])
        #expect(state.input.text == "/bogus")
        #expect(state.notice?.contains("/bogus") == true)
        #expect(state.press(.backspace) == [])
        #expect(state.notice == nil)
    }

    @Test("nothing can be sent without a conversation")
    func nowhere() {
        var state = state()
        #expect(state.type("Hi\r") == [.type, .type])
        #expect(state.notice?.contains("/new") == true)
    }

    @Test("clearing the line ends typing")
    func stopTyping() {
        var state = state(.sample("Lunch"))
        #expect(state.type("ab\u{7F}\u{7F}\u{7F}") == [.type, .type, .type, .stopTyping])
        #expect(state.type("a") + state.press(.control("u")) == [.type, .stopTyping])
    }

    @Test("up and down select conversations, and the messages of the previous one disappear")
    func selection() {
        let (lunch, trip) = (ChatConversation.sample("Lunch"), ChatConversation.sample("Trip"))
        var state = state(lunch, trip)
        state.show(messages: [.sample("Hi")], of: lunch.id)
        _ = state.press(.down)
        #expect(state.current == trip)
        #expect(state.messages.isEmpty)
        state.show(messages: [.sample("Hi")], of: lunch.id)
        #expect(state.messages.isEmpty)
        _ = state.press(.down)
        #expect(state.current == trip)
        _ = state.press(.up)
        #expect(state.current == lunch)
    }

    @Test("the selected conversation stays selected when others move; another is selected when it disappears")
    func order() {
        let (lunch, trip) = (ChatConversation.sample("Lunch"), ChatConversation.sample("Trip"))
        var state = state(lunch, trip)
        state.show(conversations: [trip, lunch])
        #expect(state.current == lunch)
        state.show(conversations: [trip])
        #expect(state.current == trip)
    }

    @Test("a new conversation is listed before its first message, and only once afterwards")
    func draft() {
        var state = state(.sample("Lunch"))
        var trip = ChatConversation.sample("Trip")
        trip.isDraft = true
        state.show(new: trip)
        #expect(state.current == trip)
        state.show(conversations: state.conversations.filter { !$0.isDraft })
        #expect(state.conversations.map(\.title) == ["Trip", "Lunch"])
        trip.isDraft = false
        state.show(conversations: [trip])
        #expect(state.conversations == [trip])
    }

    @Test("an existing distinct conversation replaces a new one")
    func merge() {
        let lunch = ChatConversation.sample("Lunch")
        var state = state(lunch)
        var draft = ChatConversation.sample("alice")
        draft.isDraft = true
        state.show(new: draft)
        state.merge(draft.id, into: lunch.id)
        #expect(state.current == lunch)
        #expect(state.conversations == [lunch])
    }

    @Test("typing users are shown for the selected conversation, until they stop or the connection is lost")
    func typing() {
        let (lunch, trip) = (ChatConversation.sample("Lunch"), ChatConversation.sample("Trip"))
        var state = state(lunch, trip)
        state.showTyping(true, by: bob, named: "Bob", in: lunch.id)
        state.showTyping(true, by: UserID(trusted: "carol"), named: "Carol", in: trip.id)
        #expect(state.typing == ["Bob"])
        state.showTyping(false, by: bob, named: "Bob", in: lunch.id)
        #expect(state.typing.isEmpty)
        state.showTyping(true, by: bob, named: "Bob", in: lunch.id)
        state.forgetTyping()
        #expect(state.typing.isEmpty)
    }

    @Test("scrolling back to the oldest message requests older ones")
    func scroll() {
        let lunch = ChatConversation.sample("Lunch")
        var state = state(lunch)
        state.show(messages: (0..<8).map { .sample("\($0)") }, of: lunch.id)
        #expect(state.press(.pageUp) == [])
        #expect(state.press(.pageUp) == [.fetchOlderMessages])
        #expect(state.scrolled == 7)
        _ = state.press(.pageDown)
        #expect(state.scrolled == 2)
    }

    @Test("Ctrl-C always exits, Ctrl-D only with an empty line, and any other key closes the help")
    func quit() {
        var state = state()
        #expect(state.press(.control("d")) == [.quit])
        #expect(state.press(.help) + state.press(.text("x")) == [])
        #expect(state.input.isEmpty)
        #expect(state.type("x") + state.press(.control("d")) == [.type])
        #expect(state.press(.help) + state.press(.control("c")) == [.quit])
    }
}

extension ChatState {
    /// Presses the keys for which a terminal sends this text.
    mutating func type(_ text: String) -> [Action] {
        var reader = KeyReader()
        var actions: [Action] = []
        for key in reader.read(text.utf8) { actions += press(key) }
        return actions
    }
}

extension ChatConversation {
    static func sample(_ title: String) -> ChatConversation {
        ChatConversation(id: ConversationID(rawValue: UUID()), title: title, unreadCount: 0, people: [], metadata: [:])
    }
}

extension ChatMessage {
    static func sample(_ text: String, receipt: Receipt? = nil) -> ChatMessage {
        ChatMessage(sender: receipt == nil ? "Bob" : "alice", time: "12:03", text: text, receipt: receipt)
    }
}
