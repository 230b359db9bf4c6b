// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// Everything that the screen of `strata chat` shows, and what keys do with it. A value: it does nothing by itself, and says what is to be done as
/// ``Action``.
struct ChatState: Hashable, Sendable {
    /// The connection, as far as the user needs to know.
    enum Link: Hashable, Sendable { case connecting, online, offline }

    /// Something for the client to do in the selected conversation.
    enum Action: Hashable, Sendable {
        case send(String)
        case create(Set<UserID>)
        case setMetadata(path: String, value: String)
        case deleteMetadata([String])
        case addParticipants(Set<UserID>)
        case removeParticipants(Set<UserID>)
        case leave
        /// The user types a message.
        case type
        /// What the user typed is gone.
        case stopTyping
        case fetchOlderMessages
        case disconnect, connect, quit
    }

    /// So many messages the keys scroll.
    private static let scrollStep = 5

    let user: String
    private(set) var conversations: [ChatConversation] = []
    private(set) var selected: ConversationID?
    /// Of the selected conversation, in order.
    private(set) var messages: [ChatMessage] = []
    private var typists: [ConversationID: [UserID: String]] = [:]
    var link = Link.connecting
    /// Changes that were made here and that the server has not confirmed.
    var waitingChanges = 0
    private(set) var input = InputLine()
    /// Something that the user should know, until the next key.
    var notice: String?
    private(set) var showsHelp = false
    /// So many of the newest messages are below the screen.
    private(set) var scrolled = 0
    /// A conversation that has no message yet: it is in no list but here.
    private var draft: ChatConversation?

    init(user: String) { self.user = user }

    var current: ChatConversation? { conversations.first { $0.id == selected } }

    /// The names of those who type in the selected conversation.
    var typing: [String] { (selected.flatMap { typists[$0] } ?? [:]).values.sorted() }

    // MARK: News

    /// The conversations that the client has, the newest first.
    mutating func show(conversations found: [ChatConversation]) {
        if let id = draft?.id, found.contains(where: { $0.id == id }) { draft = nil }
        conversations = (draft.map { [$0] } ?? []) + found
        if current == nil { select(conversations.first?.id) }
    }

    /// A conversation that was made here. It is selected.
    mutating func show(new conversation: ChatConversation) {
        if conversation.isDraft {
            draft = conversation
            conversations.removeAll { $0.isDraft }
            conversations.insert(conversation, at: 0)
        }
        select(conversation.id)
    }

    /// A conversation without a message was left.
    mutating func forgetDraft() {
        conversations.removeAll { $0.isDraft }
        draft = nil
        if current == nil { select(conversations.first?.id) }
    }

    /// The messages of a conversation; those of one that is no longer selected come too late.
    mutating func show(messages: [ChatMessage], of conversation: ConversationID) {
        if conversation == selected { self.messages = messages }
    }

    /// A distinct conversation that was made here existed already.
    mutating func merge(_ old: ConversationID, into new: ConversationID) {
        if draft?.id == old { draft = nil }
        conversations.removeAll { $0.id == old }
        if selected == old { select(new) }
    }

    mutating func showTyping(_ isTyping: Bool, by user: UserID, named name: String, in conversation: ConversationID) {
        typists[conversation, default: [:]][user] = isTyping ? name : nil
    }

    /// Without a connection nothing is known of who types.
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

    /// Commands are no business of others.
    private var isTypingMessage: Bool { !input.isEmpty && (!input.text.hasPrefix("/") || input.text.hasPrefix("//")) }

    private mutating func moveSelection(by step: Int) {
        guard let place = conversations.firstIndex(where: { $0.id == selected }) else { return select(conversations.first?.id) }
        let next = place + step
        if conversations.indices.contains(next) { select(conversations[next].id) }
    }

    /// At the oldest message that is here the next ones are asked for.
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
