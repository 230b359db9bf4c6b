// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
package import NIOCore
package import StrataModel
package import StrataWire

/// The sockets of one event loop and their memberships in conversations.
///
/// All state is accessed on `loop` only; `@unchecked Sendable` relies on this. A delivery involves no task and no lock.
/// Packets sent to a socket during one turn of the loop are flushed once, at its end.
package final class LoopRegistry: @unchecked Sendable {
    /// A conversation that sockets of this loop are in, or are about to join.
    final class LocalConversation {
        let id: ConversationID
        let app: AppID
        var cursor = LogCursor()
        var last: Position { cursor.last }
        var lastMessages = LastMessages()
        /// The number of messages ever sent, as of the newest change that a socket of this loop has received.
        var messageCount: Int64 = 0
        /// The number of messages ever sent, as of ``last``.
        var messageCountAtLast: Int64 = 0
        /// Counts read along with the log, kept until the gap closes. They may be newer than the delivered changes.
        var loadedCounts: [UserID: UserCounts] = [:]
        var members: [Member] = []
        /// The number of catch-ups that will attach sockets here. The conversation stays subscribed for them.
        var joining = 0
        init(id: ConversationID, app: AppID) {
            self.id = id
            self.app = app
        }
    }

    struct Member {
        let socket: any RegisteredSocket
        /// The socket's registration, stored here because every delivery uses it.
        let registration: Registration
        /// The member's counts, with the record of whether the client has received them.
        var countState: MemberCounts
        /// The member's latest known counts, which can be outdated (``MemberCounts/areCurrent``).
        var counts: UserCounts { countState.known }
        /// The position up to which the catch-up has sent the socket all changes.
        var skip: Position
        /// True if the user deleted the conversation from their devices and no message has followed. The next message
        /// brings it back.
        var isHidden: Bool
        /// The position up to which the user deleted the conversation. An earlier change that arrives late does not
        /// bring it back.
        var hiddenUpTo = Position.zero
    }

    final class UserSockets {
        var sockets: [any RegisteredSocket] = []
        var cursor = LogCursor()
        var blocks = BlockedUsers()
        /// True if ``blocks`` has been read from the service.
        var knowsBlocks = false
    }

    /// The dependencies and metrics of deliveries.
    struct Output {
        let renderer: Renderer
        /// The memory budget that renderings are charged to.
        let budget: AnswerBudget
        let sockets = Meter(label: "strata_gateway_sockets")
        /// The number of changes delivered, counted once for each socket.
        let deliveries = Counter(label: "strata_gateway_deliveries_total")
    }

    /// The sockets with deferred entries of their user's own log.
    struct Deferring {
        var sockets: [any RegisteredSocket] = []
        /// True while entries are being sent, so that a nested call of ``LoopRegistry/flushDeferred()`` does nothing.
        var isSending = false
    }

    let index: Int
    package let loop: any EventLoop
    package let fanOut: FanOut
    let services: any RegistryServices
    let output: Output

    var conversations: [ConversationID: LocalConversation] = [:]
    var userSockets: [UserKey: UserSockets] = [:]
    var watchers = PresenceWatchers()
    private var limits = StampLimits()
    /// The sockets with packets to write at the end of the event-loop turn.
    var flushQueue = FlushQueue()
    var deferring = Deferring()
    private var isDraining = false
    /// The ``FanOut/era`` of this loop's state.
    package private(set) var era = 0

    package init(
        index: Int, loop: any EventLoop, fanOut: FanOut, renderer: Renderer, answers: AnswerBudget,
        services: any RegistryServices
    ) {
        self.index = index
        self.loop = loop
        self.fanOut = fanOut
        self.services = services
        output = Output(renderer: renderer, budget: answers)
    }

    /// Runs `body` on the loop, after everything enqueued before. Callable from any thread.
    package func enqueue(_ body: @escaping @Sendable (LoopRegistry) -> Void) {
        loop.execute { body(self) }
    }

    // MARK: Opening and closing sockets

    package func add(_ socket: any RegisteredSocket) {
        let key = socket.registration.key
        let user = userSockets[key] ?? UserSockets()
        if user.sockets.isEmpty {
            userSockets[key] = user
            fanOut.retainUser(key, for: self)
        }
        user.sockets.append(socket)
        socket.registration.blocks = user.blocks
        output.sockets.increment()
        if isDraining { socket.end(.goingAway) }
    }

    package func remove(_ socket: any RegisteredSocket) {
        let key = socket.registration.key
        socket.registration.deferredUserChanges = []
        detachAll(socket)
        unwatchAll(socket)
        output.sockets.decrement()
        guard let user = userSockets[key] else { return }
        user.sockets.removeAll { $0 === socket }
        if user.sockets.isEmpty {
            userSockets[key] = nil
            gapClosed(.user(key))
            fanOut.releaseUser(key, for: self)
        }
    }

    /// Detaches a socket from all logs, for a replay. It receives nothing until its catch-up has reached the fan-out's
    /// position.
    package func resetForReplay(_ socket: any RegisteredSocket) {
        detachAll(socket)
        socket.registration.userPosition = nil
        socket.registration.deferredUserChanges = []
    }

    /// Detaches the socket from all its conversations, without reports to it. The user's participation is unaffected.
    package func detachAll(_ socket: any RegisteredSocket) {
        var released: [ConversationID] = []
        for conversation in socket.registration.conversations {
            conversation.members.removeAll { $0.socket === socket }
            if forgetIfEmpty(conversation) { released.append(conversation.id) }
        }
        socket.registration.removeConversations()
        if !released.isEmpty { fanOut.releaseConversations(released, for: self) }
    }

    /// Detaches the socket from a conversation and reports it to the socket, with a leave record
    /// (``MembershipEvent/left(_:_:)``).
    /// - Parameter position: the position of the change that causes the departure.
    func leave(_ socket: any RegisteredSocket, from conversation: LocalConversation, at position: Position) {
        if let index = conversation.members.firstIndex(where: { $0.socket === socket }) {
            let member = conversation.members.remove(at: index)
            let record = LeaveRecord(
                position: position,
                seenUpTo: max(
                    conversation.lastMessages.newest(of: member.registration.key.user),
                    member.isHidden ? .zero : member.skip),
                counts: member.counts, messageCount: conversation.messageCount,
                lastMessagePosition: max(
                    conversation.lastMessages.lastUpdate(for: member.registration.key.user), member.skip))
            socket.membershipChanged(.left(conversation.id, record))
        }
        socket.registration.remove(conversation.id)
        if forgetIfEmpty(conversation) { fanOut.releaseConversations([conversation.id], for: self) }
    }

    /// Forgets a conversation without sockets.
    /// - Returns: true if it was forgotten. The caller must then release it in the fan-out.
    private func forgetIfEmpty(_ conversation: LocalConversation) -> Bool {
        guard conversation.members.isEmpty, conversation.joining == 0 else { return false }
        conversations[conversation.id] = nil
        gapClosed(.conversation(conversation.id))
        return true
    }

    // MARK: Joining (called by catch-ups, on the loop)

    /// Keeps these conversations subscribed until ``endJoining(_:)``.
    package func beginJoining(_ ids: [ConversationID], app: AppID) {
        var new: [(id: ConversationID, app: AppID)] = []
        for id in ids {
            let conversation = conversations[id] ?? LocalConversation(id: id, app: app)
            if conversations[id] == nil {
                conversations[id] = conversation
                new.append((id, app))
            }
            conversation.joining += 1
        }
        if !new.isEmpty { fanOut.retainConversations(new, for: self) }
    }

    package func endJoining(_ ids: [ConversationID]) {
        var released: [ConversationID] = []
        for id in ids {
            guard let conversation = conversations[id] else { continue }
            conversation.joining -= 1
            if forgetIfEmpty(conversation) { released.append(id) }
        }
        if !released.isEmpty { fanOut.releaseConversations(released, for: self) }
    }

    /// Makes the socket a member of a conversation at the point where its catch-up ended.
    /// - Returns: false if the loop has received changes that the catch-up has not read. The catch-up must then read
    ///   on. True also if there is nothing to attach to.
    package func attach(_ socket: any RegisteredSocket, at point: JoinPoint) -> Bool {
        let registration = socket.registration
        guard let conversation = conversations[point.id] else { return true }
        guard conversation.cursor.admits(readTo: point.position, fanOutLast: point.fanOutLast) else { return false }
        conversation.messageCount = max(conversation.messageCount, point.messageCount)
        guard !registration.isIn(point.id) else { return true }
        conversation.members.append(
            Member(
                socket: socket, registration: registration, countState: MemberCounts(point.counts),
                skip: point.position,
                isHidden: point.isHidden))
        registration.insert(conversation)
        return true
    }

    /// Attaches the socket to its user's own log, like ``attach(_:at:)`` does for a conversation.
    package func attachUser(_ socket: any RegisteredSocket, position: Position, fanOutLast: Position) -> Bool {
        let registration = socket.registration
        guard let user = userSockets[registration.key] else { return true }
        guard user.cursor.admits(readTo: position, fanOutLast: fanOutLast) else { return false }
        registration.userPosition = position
        return true
    }

    /// Returns the open sockets of a user on this loop.
    package func sockets(of key: UserKey) -> [any RegisteredSocket] { userSockets[key]?.sockets ?? [] }

    /// Returns the users who have sockets in a conversation. Callable from any thread.
    func users(in id: ConversationID) -> EventLoopFuture<Set<UserID>> {
        loop.submit { Set(self.conversations[id]?.members.map(\.registration.key.user) ?? []) }
    }

    // MARK: Upkeep

    /// Runs the periodic work of all sockets once a second, instead of one timer for each socket.
    package func upkeep(turn: Int) {
        flushQueue.freeIdleBuffers()
        flushDeferred()
        for user in userSockets.values {
            for socket in user.sockets { socket.upkeep(turn: turn) }
        }
    }

    /// Closes all open and future sockets, so that clients connect elsewhere. Callable from any thread.
    package func drain() {
        enqueue { registry in
            registry.isDraining = true
            registry.closeSockets()
        }
    }

    /// Closes the sockets opened before `time`, by default all of them. Their clients reconnect, here or elsewhere, and
    /// replay.
    func closeSockets(openedBefore time: NIODeadline = .distantFuture) {
        for socket in socketsByAge() where socket.registration.since < time { socket.end(.goingAway) }
    }

    /// Closes the sockets of apps that have moved to another database. Their clients reconnect and replay.
    func closeSockets(of apps: Set<AppID>) {
        let users = userSockets.keys.filter { apps.contains($0.app) }
        guard !users.isEmpty else { return }
        // Cached sessions name the former database.
        for user in users { services.sessionEnded(user, tokenDigest: nil) }
        for socket in socketsByAge() where apps.contains(socket.registration.key.app) { socket.end(.goingAway) }
    }

    /// Returns all sockets of this loop, the oldest first. A dictionary has no stable order.
    private func socketsByAge() -> [any RegisteredSocket] {
        userSockets.values.flatMap(\.sockets).sorted { $0.registration.since < $1.registration.since }
    }

    /// Handles the published end of a session: informs the services and closes the session's sockets. A nil digest
    /// means all sessions of the user.
    func sessionEnded(_ key: UserKey, tokenDigest: [UInt8]?) {
        services.sessionEnded(key, tokenDigest: tokenDigest)
        for socket in userSockets[key]?.sockets ?? []
        where tokenDigest == nil || socket.registration.tokenDigest == tokenDigest {
            socket.end(.sessionEnded)
        }
    }

    /// Closes the sockets of sessions that a periodic check found to have ended, because the publication can be lost.
    /// - Parameter digests: the token digests of the ended sessions.
    package func closeSockets(ofEndedSessions digests: Set<[UInt8]>) {
        for socket in socketsByAge() where digests.contains(socket.registration.tokenDigest) {
            socket.end(.sessionEnded)
        }
    }

    // MARK: Gaps

    /// Limits the times on packets to `time` until the log's gap closes. Has no effect for a log without sockets here.
    func gapOpened(_ log: StampLimits.Log, since time: Timestamp) {
        switch log {
        case .conversation(let id): if conversations[id] == nil { return }
        case .user(let key): if userSockets[key] == nil { return }
        }
        limits.gapOpened(log, since: time)
    }

    /// Lifts the limit of ``gapOpened(_:since:)``.
    func gapClosed(_ log: StampLimits.Log) { limits.gapClosed(log) }

    /// Ends the repair of a conversation, whose missing changes have been delivered: sends the missing counts and
    /// closes the gap. If counts are still unknown, the gap stays open and the fan-out reads them.
    /// - Parameter counts: the counts read along with the log.
    func repairEnded(of id: ConversationID, counts: [UserID: UserCounts]) {
        if let conversation = conversations[id] {
            conversation.loadedCounts.merge(counts) { $0.position > $1.position ? $0 : $1 }
            // Until these counts are sent, no packet may carry a time from which a replay would omit them.
            guard sendLoadedCounts(in: conversation) else { return fanOut.countsMissing(in: id) }
            conversation.loadedCounts = [:]
        }
        gapClosed(.conversation(id))
        flushDeferred()
    }

    /// Begins an era, after a change of the database's epoch: discards all positions and closes all sockets. Their
    /// clients reconnect and replay.
    func beginEra(_ era: Int) {
        self.era = era
        for conversation in conversations.values {
            conversation.cursor = LogCursor()
            (conversation.lastMessages, conversation.messageCount) = (LastMessages(), 0)
            (conversation.messageCountAtLast, conversation.loadedCounts) = (0, [:])
        }
        for user in userSockets.values { user.cursor = LogCursor() }
        limits.closeAll()
        closeSockets()
    }

    /// The database's clock as of the last comparison of heads. nil: unknown.
    package var clock: DatabaseClock? {
        get { limits.clock }
        set { limits.clock = newValue }
    }
    /// The earliest time limit among open gaps.
    var gapFloor: Timestamp? { limits.gapFloor }
    /// The latest time that packets of this loop's sockets may be stamped with.
    package var ceiling: Timestamp? { limits.ceiling }

    /// Returns the time to state on a packet: the database's present time, but never before `time`.
    ///
    /// If the database's clock is unknown, the result is the distant future. Each socket lowers the result to its own
    /// limit.
    /// - Parameter time: the time of the change that the packet describes.
    package func stamp(atLeast time: Timestamp = Timestamp(microseconds: 0)) -> Stamp {
        Stamp(max(limits.clock?.now(at: loop.now) ?? .distantFuture, time))
    }
}
