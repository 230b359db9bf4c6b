// SPDX-License-Identifier: Apache-2.0
import FanOut
import Logging
import NIOCore
import StrataModel

/// Brings one socket from the past to the present. It reads from the logs what the socket is owed, sends it, and attaches the socket to the fan-out
/// at exactly the positions where the reading ended, so that nothing is lost and nothing doubled in between (docs/architecture.md §6).
///
/// The reading is pulled as the socket drains: it never runs into the bound of outgoing bytes, and live changes are not queued beside it. What is
/// read is bounded in bytes, a page of the logs as well as the conversations that it makes necessary to show. A conversation that cannot be shown
/// does not hold up the others: the catch-up goes on without it, and the socket looks at it again later.
struct CatchUp {
    /// Why, and from where.
    enum Reason: Sendable {
        /// A new socket whose client did not ask for a replay: it loaded its lists over REST just before (a margin covers that).
        case opened
        /// `Event.replay`.
        case replay(since: Timestamp)
        /// The user is in these conversations since after these positions.
        case joined([ConversationID: Position])
    }

    /// How many changes one read brings at least, if so many are owed and they are not too long. A read looks into all logs that are read together, so that it
    /// brings as many changes as there are logs: 10,000 messages in 1,000 conversations are 10 reads, and not 80.
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
        /// Of the database that was read; empty where it was not asked for, or the service did not say.
        let epoch: String
        /// Up to then all logs have been read, by the database's clock; nil for logs that were joined.
        let asOf: Timestamp?
        /// Conversations that could not be shown, and up to where their logs were read.
        let setAside: [ConversationID: Position]
    }

    /// More is owed than one catch-up brings. A client that comes back and replays goes on where this one ended.
    struct TooMuch: Error {}

    private let socket: Socket
    private let registry: LoopRegistry
    private let services: GatewayServices
    private let key: UserKey
    /// Another one may take its place at any time: whatever this one does to the socket, it does only while it is the one that counts.
    private let attempt: Int
    private var plan = ReplayPlan()
    private var vainLooks = 0
    private var vainReads = 0
    /// Conversations that stay subscribed meanwhile.
    private var joining: [ConversationID] = []
    /// Where to go on if a service cannot be asked: all before has been sent, and nothing after.
    private var checkpoint = ReplayPlan()
    /// Read, and not sent yet.
    private var items: [ReplayItem] = []
    /// The conversations that the page in hand will need.
    private var views: ViewLookups

    init(_ socket: Socket, attempt: Int) {
        self.socket = socket
        self.attempt = attempt
        registry = socket.registry
        services = socket.home.services
        key = socket.key
        views = ViewLookups(of: [], for: socket.key, through: socket.home.services)
    }

    /// - Throws: `Failure` if a service could not be asked; the socket is then attached to nothing new. ``TooMuch`` if the present is too far away.
    ///   `CancellationError` if the socket closed, or another catch-up took the place of this one.
    static func run(_ reason: Reason, for socket: Socket, attempt: Int) async throws -> Outcome {
        var catchUp = CatchUp(socket, attempt: attempt)
        return try await catchUp.run(reason)
    }

    private mutating func run(_ reason: Reason) async throws -> Outcome {
        let baseline = try await start(reason)
        do {
            await join(plan.members)
            // A client that asked for a replay asks again; of any other catch-up the client knows nothing.
            let isAskedFor = if case .replay = reason { true } else { false }
            try await readUntilPresent(isPatient: !isAskedFor)
            await leaveJoining()
        } catch {
            await leaveJoining()
            throw error
        }
        return Outcome(isComplete: baseline?.isComplete ?? true, epoch: baseline?.epoch ?? "", asOf: baseline?.asOf, setAside: plan.setAside)
    }

    /// Keeps these conversations subscribed until ``leaveJoining()``, and waits until everything published from now on will be heard.
    private mutating func join(_ conversations: [ConversationID]) async {
        joining += conversations
        await onLoop { $0.registry.beginJoining(conversations, app: $0.key.app) }
        await registry.fanOut.confirmation(of: conversations, user: key)
    }

    private func leaveJoining() async { await onLoop { [joining] in $0.registry.endJoining(joining) } }

    private mutating func start(_ reason: Reason) async throws -> Baseline? {
        if case .joined(let conversations) = reason {
            plan = ReplayPlan(joined: conversations, since: try await whileCurrent { $0.beginning })
            return nil
        }
        // The user's own channel tells of conversations that they are added to after this has been read.
        await registry.fanOut.confirmation(of: [], user: key)
        let baseline = try await baseline(of: reason)
        plan = ReplayPlan(baseline)
        try await whileCurrent { $0.learn(databaseTime: baseline.asOf) }
        if !baseline.epoch.isEmpty { registry.fanOut.compareEpoch(baseline.epoch) }
        return baseline
    }

    /// The age that is asked for counts from the moment at which the database reads. If that was much later than it was asked, it is asked again, with a margin.
    private func baseline(of reason: Reason) async throws -> Baseline {
        let asked = NIODeadline.now()
        let first = try await services.baseline(try await origin(of: reason), for: GatewayServices.Call(key))
        guard case .opened = reason, asked.elapsed(until: .now()) > Self.promptly else { return first }
        return try await services.baseline(try await origin(of: reason, margin: Self.patience), for: GatewayServices.Call(key))
    }

    /// How fast a baseline is answered usually.
    private static let promptly = Duration.seconds(1)
    /// The longest that a call for one may take.
    private static let patience = Duration.seconds(10)

    /// - Parameter margin: how much earlier to begin than necessary.
    private func origin(of reason: Reason, margin: Duration = .zero) async throws -> BaselineOrigin {
        if case .replay(let since) = reason { return .replay(since: since) }
        return try await whileCurrent { socket in
            .recent(
                socket.since.elapsed(until: socket.registry.loop.now) + Socket.openingMargin + margin, notBefore: socket.session.createdAt,
                orSince: socket.beginning)
        }
    }

    // MARK: Reading

    /// - Parameter isPatient: whether it waits for a service that cannot be asked, since the client would not ask once more.
    private mutating func readUntilPresent(isPatient: Bool) async throws {
        var reads = 0
        while reads < Self.maximumReads {
            try Task.checkCancellation()
            checkpoint = plan
            do {
                if try await readOn() { return }
                reads += 1
            } catch let failure as Failure where isPatient {
                services.logger.debug("a catch-up waits for a service", metadata: ["error.code": "\(failure.code.id)"])
                plan = checkpoint
                items = []
                try await Task.sleep(for: .milliseconds(.random(in: 500...1000)))
            }
        }
        throw TooMuch()
    }

    /// One step. Should it fail, what has been sent of it is what lies before the checkpoint.
    /// - Returns: whether all is done.
    private mutating func readOn() async throws -> Bool {
        switch plan.nextStep(joined: joining) {
        case .read(let cursors, let userAfter):
            let page = plan.due(try await read(cursors, userAfter: userAfter))
            try await tell(page.entries)
            plan.finish(page)
            try await pauseIfVain(page)
            return false
        case .join(let new):
            await join(new)
            plan.owe(new)
            return false
        case .show(let unshown):
            try await show(unshown)
            return false
        case .compare(let positions, let user):
            try await findWhatMoved(positions, userPosition: user)
            return plan.isEverythingRead ? try await attach() : false
        }
    }

    private func read(_ cursors: [ConversationID: Position], userAfter: Position?) async throws(Failure) -> LogPage {
        try await services.inTurn(of: key) { [services, key] answers throws(Failure) in
            try await services.readLogs(
                cursors, userAfter: userAfter, limit: max(Self.pageSize, cursors.count), for: GatewayServices.Call(key, answers: answers))
        }
    }

    /// The fan-out was handed changes that the log does not hold: it is not the log that it was, unless what is read next shows them after all.
    private mutating func pauseIfVain(_ page: LogPage) async throws {
        vainReads = page.reachesHeads && page.entries.isEmpty ? vainReads + 1 : 0
        guard vainReads > Self.maximumVainReads else { return }
        registry.fanOut.doubt()
        try await Task.sleep(for: .milliseconds(250))
    }

    /// Nothing in the log shows these, since all that is told of them lies before a deletion from the user's devices; but they are on the user's list again.
    private mutating func show(_ ids: [ConversationID]) async throws {
        views = ViewLookups(of: ids, for: key, through: services)
        for id in ids {
            try await makeRoom(for: id)
            switch try await lookUp(id) {
            case .view(let view):
                items.append(.conversationNow(view, at: plan.position(of: id)))
                plan.shown(view)
                plan.owe([id])
            case .unseen:
                // Something has just happened to it: the log tells what.
                vainLooks += 1
                if vainLooks < Self.maximumVainLooks { plan.owe([id]) } else { plan.hidden(id) }
            case .unshowable: plan.setAside(id)
            }
        }
        try await sendItems()
    }

    /// Tells the fan-out where this reading ended. Conversations it is ahead in, or that it follows only from now on, are read again.
    private mutating func findWhatMoved(_ positions: [(id: ConversationID, position: Position)], userPosition user: Position?) async throws {
        let lasts = try await registry.fanOut.baseline(positions, era: socket.era).get()
        for (entry, last) in zip(positions, lasts) { plan.fanOutIsAt(last, in: entry.id) }
        guard let user else { return }
        plan.userFanOutIsAt(try await registry.fanOut.baseline(of: key, readTo: user, era: socket.era).get())
    }

    /// The user's own log first: whatever it tells from then on waits for the conversation that it concerns.
    private mutating func attach() async throws -> Bool {
        let joinPoints = plan.joinPoints
        let user = plan.userPosition.map { (position: $0, fanOutLast: plan.userFanOutLast) }
        let (refused, isUserRefused) = try await whileCurrent { [registry, summaries = plan.summaries, leaveRecords = plan.leaveRecords] socket in
            for (id, record) in leaveRecords { socket.membership.left(id, record: record) }
            // What the user did meanwhile may concern these conversations.
            if let user, !registry.attachUser(socket, position: user.position, fanOutLast: user.fanOutLast) {
                return (joinPoints.map(\.id), true)
            }
            var refused: [ConversationID] = []
            for id in leaveRecords.keys { if let summary = summaries[id] { socket.sendSummary(summary) } }
            for point in joinPoints {
                guard socket.attach(at: point) else {
                    refused.append(point.id)
                    continue
                }
                if let summary = summaries[point.id] { socket.sendSummary(summary) }
            }
            socket.membership.pending = Set(refused)
            registry.flushDeferred()
            return (refused, false)
        }
        if isUserRefused {
            plan.userRefused()
        } else {
            plan.attached(except: refused)
            plan.userAttached()
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
        try await sendItems()
        checkpoint = plan
    }

    /// The conversation that has to be looked up for this entry.
    private func needed(for entry: LogPage.Entry) -> ConversationID? {
        switch entry {
        case .change(let change): plan.needsLookUp(change, by: key.user) ? change.conversationID : nil
        case .userChange(let change): if case .conversationHidden(let id, _, wholly: false) = change.content { id } else { nil }
        case .skipped: nil
        }
    }

    // MARK: Sending

    private mutating func tell(_ entries: [LogPage.Entry]) async throws {
        views = ViewLookups(of: entries.compactMap { needed(for: $0) }, for: key, through: services)
        for entry in entries {
            if let id = needed(for: entry) { try await makeRoom(for: id) }
            switch entry {
            case .skipped(let id, let position): plan.advance(id, to: position)
            case .userChange(let change): try await prepareUserChange(change)
            case .change(let change):
                try await prepareChange(change)
                plan.advance(change.conversationID, to: change.position)
            }
        }
        try await sendItems()
    }

    private mutating func prepareUserChange(_ change: UserChange) async throws {
        plan.advanceUser(to: change.position)
        switch change.content {
        case .conversationHidden(let id, _, let wholly):
            plan.concerns(id)
            if wholly { plan.hidden(id) }
        case .messageHidden(_, let view?), .messagesHidden(_, let view):
            plan.concerns(view.conversation.id)
            plan.counted(view)
        case .messageDeleted(_, _, let view?): plan.counted(view)
        case .conversationDeleted(let id): plan.deleted(id)
        case .conversationShown(let view?):
            plan.returns(view.conversation.id)
            plan.shown(view)
        default: break
        }
        items.append(.userChange(change))
        if case .conversationHidden(let id, _, wholly: false) = change.content { try await showAgain(id, after: change) }
    }

    private mutating func prepareChange(_ change: Change) async throws {
        switch plan.decide(on: change, for: key.user) {
        case .nothing: return
        case .change: items.append(.change(plan.told(change)))
        case .lookUp:
            // A conversation that is new to this client is shown as it is now; what lies between and is contained in that is not sent again.
            switch try await lookUp(change.conversationID) {
            case .view(let view):
                plan.shown(view)
                items.append(.conversation(view, change))
            // Deleted, or taken from the user, since: that is further on in the log.
            case .unseen: break
            case .unshowable: plan.setAside(change.conversationID)
            }
            if plan.tells(afterLookUp: change, by: key.user) { items.append(.change(plan.told(change))) }
        }
    }

    /// What the user had deleted from their devices has come back since. The client keeps the conversation and removes the messages, but what else changed
    /// before the deletion is not told any more: so the conversation is shown as it is now.
    private mutating func showAgain(_ id: ConversationID, after change: UserChange) async throws {
        guard case .view(let view) = try await lookUp(id) else { return }
        plan.shown(view)
        items.append(
            .userChange(
                UserChange(
                    appID: change.appID, user: change.user, position: change.position, createdAt: change.createdAt, content: .conversationShown(view))
            ))
    }

    /// Sends what was prepared, as the channel takes it.
    private mutating func sendItems() async throws {
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
        let result = try await registry.loop.submit { [socket, attempt] in socket.isCurrent(attempt) ? body(socket) : nil }.get()
        guard let result else { throw CancellationError() }
        return result
    }

    private func onLoop(_ body: @escaping @Sendable (Socket) -> Void) async {
        try? await registry.loop.submit { [socket] in body(socket) }.get()
    }
}
