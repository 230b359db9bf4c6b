// SPDX-License-Identifier: Apache-2.0
import Logging
import Model
import NIOCore

/// Brings one socket from the past to the present: reads from the logs what it is owed, sends it, and attaches it to the fan-out at
/// exactly the positions where its reading ended, so that nothing is lost and nothing doubled in between (ARCHITECTURE §6).
///
/// The reading is pulled as the socket drains: it never runs into the bound of outgoing bytes, and live changes are not queued beside it. What is read is
/// bounded in bytes, a page of the logs as well as the conversations that it makes necessary to show. A conversation that cannot be shown does not hold up the
/// others: the catch-up goes on without it, and the socket looks at it again later.
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
    /// Reads without reaching the present before the catch-up ends with ``TooMuch``; each brings a page.
    static let maximumReads = 10_000
    /// Looks at conversations that were on the user's list a moment ago and are not to be seen, before one is given up.
    static let maximumVainLooks = 100
    /// Reads, one after the other, that showed nothing where something is owed, before the fan-out is told.
    static let maximumVainReads = 3

    /// What a catch-up that reached the present came to.
    struct Outcome: Sendable {
        /// The log reached back as far as was asked for.
        let isComplete: Bool
        /// Conversations that could not be shown, and up to where their logs were read.
        let setAside: [ConversationID: Position]
    }

    /// More is owed than one catch-up brings. A client that comes back and replays goes on where this one ended.
    struct TooMuch: Error {}

    private let socket: Socket
    private let hub: Hub
    private let services: GatewayServices
    private let key: UserKey
    /// Another one may take its place at any time: whatever this one does to the socket, it does only while it is the one that counts.
    private let attempt: Int
    private var log = OwedLog()
    private var vainLooks = 0
    private var vainReads = 0
    /// Conversations that stay subscribed meanwhile.
    private var joining: [ConversationID] = []
    /// Where to go on if a service cannot be asked: all before has been sent, and nothing after.
    private var checkpoint = OwedLog()
    /// Read, and not sent yet.
    private var items: [ReplayItem] = []
    /// The conversations that the page in hand will need.
    private var views: ViewLookups

    init(_ socket: Socket, attempt: Int) {
        self.socket = socket
        self.attempt = attempt
        hub = socket.hub
        services = socket.hub.services
        key = socket.key
        views = ViewLookups([], socket.hub.services, socket.key)
    }

    /// - Throws: `Failure` if a service could not be asked; the socket is then attached to nothing new. ``TooMuch`` if the present is too far away.
    ///   `CancellationError` if the socket closed, or another catch-up took the place of this one.
    static func run(_ reason: Reason, for socket: Socket, attempt: Int) async throws -> Outcome {
        var catchUp = CatchUp(socket, attempt: attempt)
        return try await catchUp.run(reason)
    }

    private mutating func run(_ reason: Reason) async throws -> Outcome {
        let isComplete = try await start(reason)
        do {
            await join(log.members)
            // Whoever asked for a replay asks again; of any other catch-up nobody knows.
            let isAskedFor = if case .replay = reason { true } else { false }
            try await readUntilPresent(isPatient: !isAskedFor)
            await leaveJoining()
        } catch {
            await leaveJoining()
            throw error
        }
        return Outcome(isComplete: isComplete, setAside: log.setAside)
    }

    /// Keeps these conversations subscribed until ``leaveJoining()``, and waits until everything published from now on will be heard.
    private mutating func join(_ conversations: [ConversationID]) async {
        joining += conversations
        await onLoop { $0.hub.beginJoining(conversations, app: $0.key.app) }
        await hub.fanOut.confirmation(of: conversations, user: key)
    }

    private func leaveJoining() async { await onLoop { [joining] in $0.hub.endJoining(joining) } }

    private mutating func start(_ reason: Reason) async throws -> Bool {
        switch reason {
        case .joined(let conversations):
            log = OwedLog(joined: conversations, since: socket.beginning)
            return true
        case .opened(let since), .replay(let since):
            // Of what he is added to after this has been read, his own channel tells.
            await hub.fanOut.confirmation(of: [], user: key)
            let baseline = try await services.baseline(since: since, GatewayServices.Call(key))
            log = OwedLog(baseline)
            return baseline.isComplete
        }
    }

    // MARK: Reading

    /// - Parameter isPatient: whether a service that cannot be asked is waited for, as nobody would ask once more.
    private mutating func readUntilPresent(isPatient: Bool) async throws {
        var reads = 0
        while reads < Self.maximumReads {
            try Task.checkCancellation()
            checkpoint = log
            do {
                if try await readOn() { return }
                reads += 1
            } catch let failure as Failure where isPatient {
                services.logger.debug("a catch-up waits for a service", metadata: ["error.code": "\(failure.code)"])
                log = checkpoint
                items = []
                try await Task.sleep(for: .milliseconds(.random(in: 500...1000)))
            }
        }
        throw TooMuch()
    }

    /// One step. Should it fail, what has been sent of it is what lies before the checkpoint.
    /// - Returns: whether all is done.
    private mutating func readOn() async throws -> Bool {
        switch log.nextStep(joined: joining) {
        case .read(let cursors, let userAfter):
            let page = log.due(try await read(cursors, userAfter: userAfter))
            try await tell(page.entries)
            log.finish(page)
            try await pauseIfVain(page)
            return false
        case .join(let new):
            await join(new)
            log.owe(new)
            return false
        case .show(let unshown):
            try await show(unshown)
            return false
        case .compare(let positions, let user):
            try await findWhatMoved(positions, user)
            return log.isEverythingRead ? try await attach() : false
        }
    }

    private func read(_ cursors: [ConversationID: Position], userAfter: Position?) async throws(Failure) -> LogPage {
        try await services.inTurn(key) { [services, key] () throws(Failure) in
            try await services.readLogs(cursors, userAfter: userAfter, limit: Self.pageSize, GatewayServices.Call(key))
        }
    }

    /// The fan-out was handed changes that the log does not hold: it is not the log that it was, unless what is read next shows them after all.
    private mutating func pauseIfVain(_ page: LogPage) async throws {
        vainReads = page.metHeads && page.entries.isEmpty ? vainReads + 1 : 0
        guard vainReads > Self.maximumVainReads else { return }
        hub.fanOut.doubt()
        try await Task.sleep(for: .milliseconds(250))
    }

    /// Nothing in the log shows these, since all that is told of them lies before a deletion from the user's devices; but they are on the user's list again.
    private mutating func show(_ ids: [ConversationID]) async throws {
        views = ViewLookups(ids, services, key)
        for id in ids {
            try await makeRoom(for: id)
            switch try await lookUp(id) {
            case .view(let view):
                items.append(.conversationNow(view, at: log.position(of: id)))
                log.shown(view)
                log.owe([id])
            case .unseen:
                // Something has just happened to it: the log tells what.
                vainLooks += 1
                if vainLooks < Self.maximumVainLooks { log.owe([id]) } else { log.hidden(id) }
            case .unshowable: log.setAside(id)
            }
        }
        try await send()
    }

    /// Tells the fan-out where this reading ended. Conversations it is ahead in, or that it follows only from now on, are read again.
    private mutating func findWhatMoved(_ positions: [(id: ConversationID, position: Position)], _ user: Position?) async throws {
        let lasts = try await hub.fanOut.baseline(positions, era: socket.era).get()
        for (entry, last) in zip(positions, lasts) { log.fanOutIsAt(last, in: entry.id) }
        guard let user else { return }
        log.userFanOutIsAt(try await hub.fanOut.baseline(key, user, era: socket.era).get())
    }

    /// The user's own log first: whatever it tells from then on waits for the conversation that it concerns.
    private mutating func attach() async throws -> Bool {
        let attachments = log.attachments
        let user = log.userPosition.map { (position: $0, fanOutLast: log.userFanOutLast) }
        let (refused, isUserRefused) = try await whileCurrent { [hub, summaries = log.summaries, departures = log.departures] socket in
            for (id, departure) in departures { socket.membership.left(id, departure) }
            // What he did meanwhile may concern these conversations.
            if let user, !hub.attachUser(socket, position: user.position, fanOutLast: user.fanOutLast) {
                return (attachments.map(\.id), true)
            }
            var refused: [ConversationID] = []
            for id in departures.keys { if let summary = summaries[id] { socket.sendSummary(summary) } }
            for attachment in attachments {
                guard hub.attach(socket, attachment) else {
                    refused.append(attachment.id)
                    continue
                }
                if let summary = summaries[attachment.id] { socket.sendSummary(summary) }
            }
            socket.membership.pending = Set(refused)
            hub.tellHeld()
            return (refused, false)
        }
        if isUserRefused {
            log.userRefused()
        } else {
            log.attached(except: refused)
            log.userAttached()
        }
        return refused.isEmpty && !isUserRefused
    }

    // MARK: Looking up

    private enum Look {
        case view(ConversationView)
        /// The user does not see it.
        case unseen
        /// It is there, and cannot be shown.
        case unshowable
    }

    private mutating func lookUp(_ id: ConversationID) async throws(Failure) -> Look {
        do throws(Failure) {
            return .view(try await views.take(id))
        } catch {
            switch error.code {
            case .notFound, .accessDenied: return .unseen
            case .internalServerError: return .unshowable
            default: throw error
            }
        }
    }

    /// Sends what was read so far, unless the conversation is at hand: what it takes to look it up comes in place of that. Should it fail, the catch-up goes on
    /// from here.
    private mutating func makeRoom(for id: ConversationID) async throws {
        guard !views.has(id), !items.isEmpty else { return }
        try await send()
        checkpoint = log
    }

    /// The conversation that has to be looked up for this entry.
    private func needed(for entry: LogPage.Entry) -> ConversationID? {
        switch entry {
        case .change(let change): log.needsLookUp(change, by: key.user) ? change.conversationID : nil
        case .userChange(let change): if case .conversationHidden(let id, _, wholly: false) = change.content { id } else { nil }
        case .skipped: nil
        }
    }

    // MARK: Sending

    private mutating func tell(_ entries: [LogPage.Entry]) async throws {
        views = ViewLookups(entries.compactMap { needed(for: $0) }, services, key)
        for entry in entries {
            if let id = needed(for: entry) { try await makeRoom(for: id) }
            switch entry {
            case .skipped(let id, let position): log.advance(id, to: position)
            case .userChange(let change): try await prepare(change)
            case .change(let change):
                try await prepare(change)
                log.advance(change.conversationID, to: change.position)
            }
        }
        try await send()
    }

    private mutating func prepare(_ change: UserChange) async throws {
        log.advanceUser(to: change.position)
        switch change.content {
        case .conversationHidden(let id, _, let wholly):
            log.concerns(id)
            if wholly { log.hidden(id) }
        case .messageHidden(_, let view?): log.concerns(view.conversation.id)
        case .conversationShown(let view?):
            log.returns(view.conversation.id)
            log.shown(view)
        default: break
        }
        items.append(.userChange(change))
        if case .conversationHidden(let id, _, wholly: false) = change.content { try await showAgain(id, after: change) }
    }

    private mutating func prepare(_ change: Change) async throws {
        switch log.met(change, by: key.user) {
        case .nothing: return
        case .change: items.append(.change(log.told(change)))
        case .lookUp:
            // A conversation that is new to this client is shown as it is now; what lies between and is contained in that is not sent again.
            switch try await lookUp(change.conversationID) {
            case .view(let view):
                log.shown(view)
                items.append(.conversation(view, change))
            // Deleted, or taken from the user, since: that is further on in the log.
            case .unseen: break
            case .unshowable: log.setAside(change.conversationID)
            }
            if log.tells(afterLookUp: change, by: key.user) { items.append(.change(log.told(change))) }
        }
    }

    /// What the user had deleted from their devices has come back since. The client keeps the conversation and removes the messages, but what else changed
    /// before the deletion is not told any more: so the conversation is shown as it is now.
    private mutating func showAgain(_ id: ConversationID, after change: UserChange) async throws {
        guard case .view(let view) = try await lookUp(id) else { return }
        log.shown(view)
        items.append(
            .userChange(
                UserChange(
                    appID: change.appID, user: change.user, position: change.position, createdAt: change.createdAt, content: .conversationShown(view))
            ))
    }

    /// Sends what was prepared, as the channel takes it.
    private mutating func send() async throws {
        let items = items
        self.items = []
        var next = 0
        while next < items.count {
            try Task.checkCancellation()
            let start = next
            next = try await whileCurrent { $0.sendReplay(items, from: start) }
            if next < items.count { try await socket.drained() }
        }
    }

    /// Runs `body` on the loop, unless another catch-up has taken the place of this one before the loop gets to it.
    private func whileCurrent<T: Sendable>(_ body: @escaping @Sendable (Socket) -> T) async throws -> T {
        let result = try await hub.loop.submit { [socket, attempt] in socket.isCurrent(attempt) ? body(socket) : nil }.get()
        guard let result else { throw CancellationError() }
        return result
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
    /// A conversation as it is now, though the log does not say why.
    case conversationNow(ConversationView, at: Position)
    case userChange(UserChange)

    /// No packet of a replay is stamped later than this; nil: not later than the one before it.
    var createdAt: Timestamp? {
        switch self {
        case .change(let change), .conversation(_, let change): change.createdAt
        case .conversationNow: nil
        case .userChange(let change): change.createdAt
        }
    }
}
