// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit

/// A chat session that connects a client to a terminal. It shows the client's data and performs the user's actions. All
/// events come through one stream and are handled in order.
final class ChatSession {
    private enum Event: Sendable {
        case terminal(TerminalDevice.Event)
        /// The terminal was silent for a moment after the given number of input portions.
        case quiet(Int)
        case conversations([Conversation])
        case messages(of: ConversationID, [Message])
        case typing(TypingIndicator)
        case client(ClientEvent)
        /// The store or the queue of changes has changed.
        case changed
    }

    /// The time that an Escape waits for the rest of a sequence.
    private static let escapePatience = Duration.milliseconds(50)
    /// The initial number of newest messages. It grows when older ones are fetched.
    private static let window = 200

    private let client: StrataClient
    private let account: ChatAccount
    private let terminal: TerminalDevice
    private let me: UserID
    private let events: AsyncStream<Event>
    private let inbox: AsyncStream<Event>.Continuation
    private var state: ChatState
    private var keys = KeyReader()
    private var writer = FrameWriter()
    private var portions = 0
    /// The conversations of the client's last update.
    private var conversations: [Conversation] = []
    /// A conversation that was created here and has no message yet.
    private var draft: Conversation?
    private var following: (id: ConversationID, task: Task<Void, Never>)?

    init(client: StrataClient, account: ChatAccount, terminal: TerminalDevice) {
        self.client = client
        self.account = account
        self.terminal = terminal
        me = account.user
        (events, inbox) = AsyncStream.makeStream(of: Event.self)
        state = ChatState(user: account.displayName ?? account.user.rawValue)
    }

    /// Runs until the user or a signal ends the session. The terminal is then restored.
    func run() async throws {
        let sources = follow()
        defer {
            for source in sources { source.cancel() }
            following?.task.cancel()
            terminal.restore()
        }
        // Read the state from before the subscriptions.
        if await client.connectionState == .connected { state.link = .online }
        await readQueue()
        draw()
        for await event in events {
            guard await handleEvent(event) else { break }
            draw()
        }
        terminal.restore()
        await client.close()
    }

    private func draw() { terminal.write(writer.text(for: ChatScreen(state: state, size: terminal.size).frame)) }

    // MARK: Sources

    /// Starts one task for each source of events.
    private func follow() -> [Task<Void, Never>] {
        let (client, account, terminal, inbox) = (client, account, terminal, inbox)
        let (typing, events, changes) = (client.typingIndicators, client.events, client.objectChanges)
        let challenges = client.authenticationChallenges
        return [
            Task { for await event in terminal.events { inbox.yield(.terminal(event)) } },
            Task { for await indicator in typing { inbox.yield(.typing(indicator)) } },
            Task { for await event in events { inbox.yield(.client(event)) } },
            Task { for await _ in changes { inbox.yield(.changed) } },
            Task { for await nonce in challenges { try? await account.authenticate(client, nonce: nonce) } },
            Task {
                let query = Query<Conversation>(sortBy: [.descending(\.lastMessage.receivedAt)])
                await ChatSession.follow(query, in: client) { inbox.yield(.conversations($0)) }
            },
        ]
    }

    /// Passes the result of a query to `show`, and each later result.
    private static func follow<Element>(
        _ query: Query<Element>, in client: StrataClient, window: Int? = nil, show: ([Element]) -> Void
    ) async {
        guard let controller = try? await client.queryController(query, paginationWindow: window),
            (try? await controller.execute()) != nil
        else {
            return
        }
        let (objects, updates) = await controller.observe()
        show(objects)
        for await update in updates { show(update.snapshotAfter) }
    }

    private func followSelection() {
        guard following?.id != state.selected else { return }
        following?.task.cancel()
        following = state.selected.map { id in
            let (client, inbox) = (client, inbox)
            let query = Query<Message>(where: { $0.conversationID == id }, sortBy: [.ascending(\.position)])
            return (
                id,
                Task {
                    await ChatSession.follow(query, in: client, window: -ChatSession.window) {
                        inbox.yield(.messages(of: id, $0))
                    }
                }
            )
        }
    }

    // MARK: Events

    /// Handles an event. Returns false if the session ends.
    private func handleEvent(_ event: Event) async -> Bool {
        switch event {
        case .terminal(.bytes(let bytes)): return await handleInput(bytes)
        case .terminal(.resized): break
        case .terminal(.closed): return false
        case .quiet(let number): if number == portions { return await press(keys.flush()) }
        case .conversations(let found): show(found)
        case .messages(let id, let messages): await show(messages, of: id)
        case .typing(let indicator): state.show(indicator)
        case .client(let event): await show(event)
        case .changed: await readQueue()
        }
        followSelection()
        return true
    }

    private func show(_ found: [Conversation]) {
        conversations = found
        if let id = draft?.id, found.contains(where: { $0.id == id }) { draft = nil }
        state.show(conversations: found.map { ChatConversation($0, me: me) })
    }

    /// Shows messages, and marks those of the selected conversation as read.
    private func show(_ messages: [Message], of id: ConversationID) async {
        state.show(messages: messages.map { ChatMessage($0, me: me) }, of: id)
        guard id == state.selected, messages.contains(where: \.isUnread) else { return }
        await attempt { try await self.selected?.markAllMessagesAsRead() }
    }

    private func show(_ event: ClientEvent) async {
        switch event {
        case .connection(let event): state.show(event)
        case .operationFailed(let failure): state.notice = "Refused (\(failure.operation)): \(failure.error.message)"
        case .storeFailed(let error): state.notice = error.message
        case .conversationMerged(let old, let new):
            if draft?.id == old { draft = nil }
            state.merge(old, into: new)
        default: break
        }
        await readQueue()
    }

    private func readQueue() async { state.waitingChanges = await client.pendingChangeCount }

    // MARK: Keys

    private func handleInput(_ bytes: [UInt8]) async -> Bool {
        portions += 1
        let goesOn = await press(keys.read(bytes))
        if keys.isUndecided {
            let (inbox, number) = (inbox, portions)
            Task {
                try? await Task.sleep(for: ChatSession.escapePatience)
                inbox.yield(.quiet(number))
            }
        }
        return goesOn
    }

    private func press(_ keys: [Key]) async -> Bool {
        for key in keys {
            for action in state.press(key) {
                if action == .quit { return false }
                await attempt { try await self.perform(action) }
            }
            followSelection()
        }
        return true
    }

    /// Performs an action, and shows an error to the user.
    private func attempt<Result>(_ body: () async throws -> Result) async {
        do { _ = try await body() } catch { state.notice = (error as? StrataError)?.message ?? "\(error)" }
    }

    // MARK: Actions

    private var selected: Conversation? {
        conversations.first { $0.id == state.selected } ?? draft.flatMap { $0.id == state.selected ? $0 : nil }
    }

    private func perform(_ action: ChatState.Action) async throws {
        switch action {
        case .create(let users): try await create(with: users)
        case .connect: try await client.connect()
        case .disconnect: await client.disconnect()
        case .quit: break
        default: if let conversation = selected { try await perform(action, in: conversation) }
        }
        await readQueue()
    }

    private func create(with users: Set<UserID>) async throws {
        let conversation = try await client.findOrCreate(with: users)
        let isKnown = conversations.contains { $0.id == conversation.id }
        if !isKnown { draft = conversation }
        state.show(new: ChatConversation(conversation, me: me, isDraft: !isKnown))
    }

    private func perform(_ action: ChatState.Action, in conversation: Conversation) async throws {
        switch action {
        case .send(let text): try await conversation.send(client.newMessage(parts: [.text(text)]))
        case .setMetadata(let path, let value): try await conversation.setMetadata(value, at: path)
        case .deleteMetadata(let paths): try await conversation.deleteMetadata(at: paths)
        case .addParticipants(let users): try await conversation.addParticipants(users)
        case .removeParticipants(let users): try await conversation.removeParticipants(users)
        case .leave:
            try await conversation.leave()
            if conversation.id == draft?.id { draft = nil; state.forgetDraft() }
        case .type: try await conversation.sendTypingIndicator(.begin)
        case .stopTyping: try await conversation.sendTypingIndicator(.finish)
        case .fetchOlderMessages: try await conversation.synchronizeMoreMessages(atLeast: 20)
        case .create, .connect, .disconnect, .quit: break
        }
    }
}
