// SPDX-License-Identifier: Apache-2.0

import StrataKit

/// The state of the screen, and the effects of keys on it. It is a pure value; the actions for its owner
/// are returned as ``Action``.
struct ChatState: Hashable, Sendable {
    enum Link: Hashable, Sendable { case connecting, online, offline }

    /// An action for the client, in the selected conversation.
    enum Action: Hashable, Sendable {
        case send(String)
        case create(Set<UserID>)
        case setMetadata(path: String, value: String)
        case deleteMetadata([String])
        case addParticipants(Set<UserID>)
        case removeParticipants(Set<UserID>)
        case leave
        /// The user is typing a message.
        case type
        /// The user has cleared the input.
        case stopTyping
        case fetchOlderMessages
        case disconnect, connect, quit
    }

    /// The number of messages that one key press scrolls.
    private static let scrollStep = 5

    let user: String
    private(set) var conversations: [ChatConversation] = []
    private(set) var selected: ConversationID?
    /// The messages of the selected conversation, in order.
    private(set) var messages: [ChatMessage] = []
    private var typists: [ConversationID: [UserID: String]] = [:]
    var link = Link.connecting
    /// The number of local changes that the server has not confirmed.
    var waitingChanges = 0
    private(set) var input = InputLine()
    /// A notice to the user, shown until the next key press.
    var notice: String?
    private(set) var showsHelp = false
    /// The number of newest messages that are scrolled out of view.
    private(set) var scrolled = 0
    /// A conversation without a message, which is not part of the client's list.
    private var draft: ChatConversation?

    init(user: String) { self.user = user }

    var current: ChatConversation? { conversations.first { $0.id == selected } }

    /// The names of the users who are typing in the selected conversation.
    var typing: [String] { (selected.flatMap { typists[$0] } ?? [:]).values.sorted() }

    // MARK: Updates

    /// Replaces the list with the client's conversations, newest first.
    mutating func show(conversations found: [ChatConversation]) {
        if let id = draft?.id, found.contains(where: { $0.id == id }) { draft = nil }
        conversations = (draft.map { [$0] } ?? []) + found
        if current == nil { select(conversations.first?.id) }
    }

    /// Adds a conversation that was created here, and selects it.
    mutating func show(new conversation: ChatConversation) {
        if conversation.isDraft {
            draft = conversation
            conversations.removeAll { $0.isDraft }
            conversations.insert(conversation, at: 0)
        }
        select(conversation.id)
    }

    /// Removes the draft, after the user has left it.
    mutating func forgetDraft() {
        conversations.removeAll { $0.isDraft }
        draft = nil
        if current == nil { select(conversations.first?.id) }
    }

    /// Shows the messages of a conversation. Those of a conversation that is not selected are ignored.
    mutating func show(messages: [ChatMessage], of conversation: ConversationID) {
        if conversation == selected { self.messages = messages }
    }

    /// Replaces a distinct conversation that was created here with the existing one.
    mutating func merge(_ old: ConversationID, into new: ConversationID) {
        if draft?.id == old { draft = nil }
        conversations.removeAll { $0.id == old }
        if selected == old { select(new) }
    }

    mutating func showTyping(_ isTyping: Bool, by user: UserID, named name: String, in conversation: ConversationID) {
        typists[conversation, default: [:]][user] = isTyping ? name : nil
    }

    /// Clears all typing indicators, which are unknown without a connection.
    mutating func forgetTyping() { typists = [:] }

    private mutating func select(_ id: ConversationID?) {
        guard selected != id else { return }
        selected = id
        messages = []
        scrolled = 0
    }

    // MARK: Keys

    mutating func press(_ key: Key) -> [Action] {
        notice = nil
        if showsHelp, key != .control("c") {
            showsHelp = false
            return []
        }
        switch key {
        case .control("c"): return [.quit]
        case .control("d") where input.isEmpty: return [.quit]
        case .help: showsHelp = true
        case .up: moveSelection(by: -1)
        case .down: moveSelection(by: 1)
        case .pageUp: return scrollBack()
        case .pageDown: scrolled = max(scrolled - Self.scrollStep, 0)
        case .escape: scrolled = 0
        case .enter: return enter()
        default: return edit(key)
        }
        return []
    }

    private mutating func edit(_ key: Key) -> [Action] {
        let wasTyping = isTypingMessage
        let old = input.text
        guard input.press(key), input.text != old else { return [] }
        if isTypingMessage { return [.type] }
        return wasTyping ? [.stopTyping] : []
    }

    /// True if the input is a message. Commands cause no typing indicators.
    private var isTypingMessage: Bool { !input.isEmpty && (!input.text.hasPrefix("/") || input.text.hasPrefix("//")) }

    private mutating func moveSelection(by step: Int) {
        guard let place = conversations.firstIndex(where: { $0.id == selected }) else {
            return select(conversations.first?.id)
        }
        let next = place + step
        if conversations.indices.contains(next) { select(conversations[next].id) }
    }

    /// Scrolls back. At the oldest local message, older ones are fetched.
    private mutating func scrollBack() -> [Action] {
        let limit = max(messages.count - 1, 0)
        scrolled = min(scrolled + Self.scrollStep, limit)
        return scrolled == limit && current != nil ? [.fetchOlderMessages] : []
    }

    private mutating func enter() -> [Action] {
        guard !input.text.allSatisfy(\.isWhitespace) else { return [] }
        let line: ChatLine
        do throws(ChatLine.Problem) {
            line = try ChatLine(parsing: input.text)
        } catch {
            notice = error.message
            return []
        }
        guard selected != nil || !line.needsConversation else {
            notice = "Make a conversation first, for example: /new bob"
            return []
        }
        input.clear()
        return actions(for: line)
    }

    private mutating func actions(for line: ChatLine) -> [Action] {
        switch line {
        case .message(let text):
            scrolled = 0
            return [.send(text)]
        case .new(let users): return [.create(users)]
        case .set(let path, let value): return [.setMetadata(path: path, value: value)]
        case .unset(let paths): return [.deleteMetadata(paths)]
        case .add(let users): return [.addParticipants(users)]
        case .remove(let users): return [.removeParticipants(users)]
        case .leave: return [.leave]
        case .offline: return [.disconnect]
        case .online: return [.connect]
        case .quit: return [.quit]
        case .help:
            showsHelp = true
            return []
        }
    }
}

extension ChatLine {
    fileprivate var needsConversation: Bool {
        switch self {
        case .message, .set, .unset, .add, .remove, .leave: true
        case .new, .offline, .online, .help, .quit: false
        }
    }
}
