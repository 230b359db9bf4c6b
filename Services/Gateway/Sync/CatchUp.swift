// SPDX-License-Identifier: Apache-2.0
import Logging
import Model
import NIOCore

/// Brings one socket from the past to the present: reads from the logs what it is owed, sends it, and attaches it to the fan-out at
/// exactly the positions where its reading ended, so that nothing is lost and nothing doubled in between (ARCHITECTURE §6).
///
/// The reading is pulled as the socket drains: it never runs into the bound of outgoing bytes, and live changes are not queued beside it.
struct CatchUp {
    /// Why, and from where.
    enum Reason: Sendable {
        /// A new socket whose client did not ask for a replay: it loaded its lists over REST just before (a margin covers that).
        case opened(since: Timestamp)
        /// `Event.replay`.
        case replay(since: Timestamp)
        /// The user is in these conversations since after these positions.
        case joined([ConversationID: Position])
    }

    /// How many changes one read brings.
    static let pageSize = 128
    /// Reads without reaching the present before the catch-up gives up; each brings a page.
    static let maximumReads = 10_000
    /// Conversations looked up side by side, at most.
    static let viewsAtOnce = 8

    private let socket: Socket
    private let hub: Hub
    private let services: GatewayServices
    private let key: UserKey
    private var log = OwedLog()
    /// Views that the page in hand will need, looked up side by side; each is used once.
    private var views: [ConversationID: Result<ConversationView, Failure>] = [:]

    init(_ socket: Socket) {
        self.socket = socket
        hub = socket.hub
        services = socket.hub.services
        key = socket.key
    }

    /// - Returns: whether the log reached back as far as was asked for.
    /// - Throws: `Failure` if a service could not be asked; the socket is then attached to nothing new. `CancellationError` if the socket closed.
    static func run(_ reason: Reason, for socket: Socket) async throws -> Bool {
        var catchUp = CatchUp(socket)
        return try await catchUp.run(reason)
    }

    private mutating func run(_ reason: Reason) async throws -> Bool {
        let isComplete = try await start(reason)
        let joining = Array(log.members)
        await onLoop { $0.hub.beginJoining(joining, app: $0.key.app) }
        do {
            await hub.fanOut.confirmation(of: joining, user: key)
            try await readUntilPresent()
            await onLoop { $0.hub.endJoining(joining) }
        } catch {
            await onLoop { $0.hub.endJoining(joining) }
            throw error
        }
        return isComplete
    }

    private mutating func start(_ reason: Reason) async throws -> Bool {
        switch reason {
        case .joined(let conversations):
            let position = try await hub.loop.submit { [socket] in socket.yieldUserLog() }.get()
            log = OwedLog(joined: conversations, userPosition: position)
            return true
        case .opened(let since), .replay(let since):
            let baseline = try await services.baseline(since: since, GatewayServices.Call(key))
            log = OwedLog(baseline)
            return baseline.isComplete
        }
    }

    // MARK: Reading

    private mutating func readUntilPresent() async throws {
        for _ in 0..<Self.maximumReads {
            try Task.checkCancellation()
            // What the fan-out does not follow yet may have moved between the baseline and the subscription.
            if log.isEverythingRead {
                try await findWhatMoved()
                if log.isEverythingRead, try await attach() { return }
                continue
            }
            let page = try await services.readLogs(
                log.owedCursors, userAfter: log.userPosition, limit: Self.pageSize, GatewayServices.Call(key))
            try await send(try await prepared(page.entries))
            log.finish(page)
        }
        throw Failure(.requestTimeout, "There are more changes than can be replayed.")
    }

    /// Tells the fan-out where this reading ended. Conversations it is ahead in, or that it follows only from now on, are read again.
    private mutating func findWhatMoved() async throws {
        let unverified = log.takeUnverified()
        if !unverified.isEmpty {
            log.owe(unverified)
            return
        }
        let positions = log.memberPositions
        let lasts = try await hub.fanOut.baseline(positions).get()
        for (entry, last) in zip(positions, lasts) { log.fanOutIsAt(last, in: entry.id) }
        if let position = log.userPosition {
            log.userFanOutLast = try await hub.fanOut.baseline(key, position).get()
            if log.userFanOutLast > position { log.userOwed = true }
        }
    }

    private mutating func attach() async throws -> Bool {
        let attachments = log.attachments
        let user = log.userPosition.map { (position: $0, fanOutLast: log.userFanOutLast) }
        let (refused, isUserRefused) = try await hub.loop
            .submit { [socket, summaries = log.summaries, departures = log.departures] in
                for (id, position) in departures { socket.hasLeft(id, at: position) }
                var refused: [ConversationID] = []
                let isUserRefused = user.map { !socket.hub.attachUser(socket, position: $0.position, fanOutLast: $0.fanOutLast) } ?? false
                // What he did meanwhile may concern these conversations.
                if isUserRefused { return (attachments.map(\.id), true) }
                for attachment in attachments {
                    guard socket.hub.attach(socket, attachment) else {
                        refused.append(attachment.id)
                        continue
                    }
                    if let summary = summaries[attachment.id] { socket.sendSummary(summary, numbers: attachment.numbers) }
                }
                return (refused, isUserRefused)
            }
            .get()
        log.attached(except: refused)
        log.userOwed = isUserRefused
        return refused.isEmpty && !isUserRefused
    }

    // MARK: Sending

    /// Looks up what must be shown whole. Runs before anything of the page is sent.
    private mutating func prepared(_ entries: [LogPage.Entry]) async throws -> [ReplayItem] {
        await lookUpViews(for: entries)
        var items: [ReplayItem] = []
        for entry in entries {
            switch entry {
            case .skipped(let id, let position): log.advance(id, to: position)
            case .userChange(let change):
                log.advanceUser(to: change.position)
                switch change.content {
                case .conversationHidden(let id, _, true): log.hidden(id)
                case .conversationShown(let view?):
                    log.returns(view.conversation.id)
                    log.shown(view)
                default: break
                }
                items.append(.userChange(change))
                if let shown = try await shownAgain(after: change) { items.append(shown) }
            case .change(let change):
                items += try await prepared(change)
                log.advance(change.conversationID, to: change.position)
            }
        }
        return items
    }

    private mutating func lookUpViews(for entries: [LogPage.Entry]) async {
        let ids = entries.reduce(into: Set<ConversationID>()) { ids, entry in
            guard case .change(let change) = entry, !log.isContained(change) else { return }
            if change.introduces(key.user) || log.needsShowing(change.conversationID) { ids.insert(change.conversationID) }
        }
        views = await Self.views(of: Array(ids), services, key)
    }

    private typealias FoundView = (id: ConversationID, view: Result<ConversationView, Failure>)

    private static func views(
        of ids: [ConversationID], _ services: GatewayServices, _ key: UserKey
    ) async -> [ConversationID: Result<ConversationView, Failure>] {
        await withTaskGroup(of: FoundView.self) { group in
            var views: [ConversationID: Result<ConversationView, Failure>] = [:]
            for (number, id) in ids.enumerated() {
                if number >= viewsAtOnce, let found = await group.next() { views[found.id] = found.view }
                group.addTask {
                    do throws(Failure) {
                        return (id, .success(try await services.conversation(id, GatewayServices.Call(key))))
                    } catch {
                        return (id, .failure(error))
                    }
                }
            }
            for await found in group { views[found.id] = found.view }
            return views
        }
    }

    private mutating func prepared(_ change: Change) async throws -> [ReplayItem] {
        let id = change.conversationID
        if change.introduces(key.user) {
            return log.isContained(change) ? [] : try await shownWhole(change)
        }
        if log.isGone(id) {
            if change.excludes(key.user) { log.left(id) }
            guard case .messageCreated(_, _, _?) = change.content else { return [] }
            log.returns(id)
        }
        let introduction = log.needsShowing(id) ? try await shownWhole(change) : []
        switch change.content {
        case .conversationCreated: break
        case .participantsChanged(_, let removed, _, _):
            if log.isContained(change) { return introduction }
            if removed.contains(key.user) { log.left(id) }
        case .metadataChanged:
            if log.isContained(change) { return introduction }
        case .conversationDeleted: log.left(id)
        case .messageCreated(_, _, let message):
            guard let message else { return introduction }
            log.lastMessageBecame(message, in: id)
        case .messageDeleted(_, _, let last):
            if last.changed { log.lastMessageBecame(last.overrides[key.user] ?? last.message, in: id) }
        case .receipts, .allRead: log.countsChanged(in: id)
        case .partsChanged(_, _, _, let message): if message == nil { return introduction }
        }
        return introduction + [.change(change)]
    }

    /// A conversation that is new to this client is shown as it is now; what lies between and is contained in that is not sent again.
    private mutating func shownWhole(_ change: Change) async throws -> [ReplayItem] {
        let view: ConversationView
        do throws(Failure) {
            if let found = views.removeValue(forKey: change.conversationID) {
                view = try found.get()
            } else {
                view = try await services.conversation(change.conversationID, GatewayServices.Call(key))
            }
        } catch {
            // Deleted, or taken from him, since: that is further on in the log.
            if error.code == .notFound || error.code == .accessDenied { return [] }
            throw error
        }
        log.shown(view)
        return [.conversation(view, change)]
    }

    /// What he had deleted from his devices has come back since. The client keeps the conversation and removes the messages, but what else changed
    /// before the deletion is not told any more: so the conversation is shown as it is now.
    private mutating func shownAgain(after change: UserChange) async throws -> ReplayItem? {
        guard case .conversationHidden(let id, _, wholly: false) = change.content else { return nil }
        do throws(Failure) {
            let view = try await services.conversation(id, GatewayServices.Call(key))
            log.shown(view)
            return .userChange(
                UserChange(
                    appID: change.appID, user: change.user, position: change.position, createdAt: change.createdAt, content: .conversationShown(view))
            )
        } catch {
            if error.code == .notFound || error.code == .accessDenied { return nil }
            throw error
        }
    }

    private func send(_ items: [ReplayItem]) async throws {
        var next = 0
        while next < items.count {
            try Task.checkCancellation()
            let start = next
            next = try await hub.loop.submit { [socket] in socket.sendReplay(items, from: start) }.get()
            if next < items.count { try await socket.drained() }
        }
    }

    private func onLoop(_ body: @escaping @Sendable (Socket) -> Void) async {
        try? await hub.loop.submit { [socket] in body(socket) }.get()
    }
}

/// One thing to send during a catch-up.
enum ReplayItem: Sendable {
    case change(Change)
    /// A conversation as it is now, because of this change.
    case conversation(ConversationView, Change)
    case userChange(UserChange)

    /// No packet of a replay is stamped later than this.
    var createdAt: Timestamp {
        switch self {
        case .change(let change), .conversation(_, let change): change.createdAt
        case .userChange(let change): change.createdAt
        }
    }
}

extension Change {
    /// Whether this is how `user` came to the conversation.
    fileprivate func introduces(_ user: UserID) -> Bool {
        switch content {
        case .conversationCreated: true
        case .participantsChanged(let added, _, _, _): added.contains { $0.userID == user }
        default: false
        }
    }

    /// Whether `user` has no part in the conversation any more because of it.
    func excludes(_ user: UserID) -> Bool {
        switch content {
        case .participantsChanged(_, let removed, _, _): removed.contains(user)
        case .conversationDeleted: true
        default: false
        }
    }
}
