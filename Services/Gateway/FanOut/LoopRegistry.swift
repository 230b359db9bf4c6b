// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
package import NIOCore
package import StrataModel
package import StrataWire

/// The sockets of one event loop, and who of them is in which conversation.
///
/// Everything here is touched on `loop` only, which is what makes `@unchecked Sendable` true. No task and no lock is on the way
/// of a delivery; what is sent to a socket during one turn of the loop is flushed once, at its end.
package final class LoopRegistry: @unchecked Sendable {
    /// A conversation that sockets of this loop are in, or are about to be.
    final class LocalConversation {
        let id: ConversationID
        let app: AppID
        /// How far this loop was handed the conversation's changes.
        var cursor = LogCursor()
        var last: Position { cursor.last }
        /// What was handed to this loop about the newest message.
        var lastMessages = LastMessages()
        /// Messages ever sent, as of the newest change that a socket here was told.
        var messageCount: Int64 = 0
        /// Messages ever sent, as of ``last``.
        var messageCountAtLast: Int64 = 0
        /// Numbers that were read along with the log, until the gap closes: they may be newer than what was handed on so far.
        var numbersRead: [UserID: UserNumbers] = [:]
        var members: [Member] = []
        /// Catch-ups that will attach sockets here: the conversation must stay subscribed for them.
        var joining = 0
        init(id: ConversationID, app: AppID) {
            self.id = id
            self.app = app
        }
    }

    struct Member {
        let socket: any RegisteredSocket
        /// Of the socket, at hand for every delivery.
        let registration: Registration
        var tracked: MemberNumbers
        var numbers: UserNumbers { tracked.known }
        /// Changes up to here reached the socket by its catch-up.
        var skip: Position
        /// The user deleted the conversation from their devices, and nothing came since: the next message brings it back.
        var isHidden: Bool
        /// The position up to which the user deleted it: a change from before that arrives late does not bring it back.
        var hiddenUpTo = Position.zero
    }

    final class UserSockets {
        var sockets: [any RegisteredSocket] = []
        /// How far the fan-out has handed this loop the user's own log.
        var cursor = LogCursor()
        /// With whom the user has a block.
        var blocks = BlockedUsers()
        /// Whether ``blocks`` has been asked for.
        var knowsBlocks = false
    }

    /// What deliveries are made with.
    struct Output {
        let renderer: Renderer
        let answers: AnswerBudget
        let sockets = Meter(label: "strata_gateway_sockets")
        /// Changes handed to sockets, one for each.
        let deliveries = Counter(label: "strata_gateway_deliveries_total")
    }

    /// Sockets with entries of their user's own log that wait for a conversation.
    struct Deferring {
        var sockets: [any RegisteredSocket] = []
        var isFlushing = false
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
    var flushing = FlushQueue()
    var deferring = Deferring()
    private var isDraining = false
    /// As ``FanOut/era``.
    package private(set) var era = 0

    package init(index: Int, loop: any EventLoop, fanOut: FanOut, renderer: Renderer, answers: AnswerBudget, services: any RegistryServices) {
        self.index = index
        self.loop = loop
        self.fanOut = fanOut
        self.services = services
        output = Output(renderer: renderer, answers: answers)
    }

    /// Runs `body` on the loop, after everything enqueued before. Callable from anywhere.
    package func enqueue(_ body: @escaping @Sendable (LoopRegistry) -> Void) {
        loop.execute { body(self) }
    }

    // MARK: Sockets come and go

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
        leaveAll(socket)
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

    /// A replay begins: the socket is told nothing until its reading has caught up with the fan-out.
    package func startAnew(_ socket: any RegisteredSocket) {
        leaveAll(socket)
        socket.registration.userPosition = nil
        socket.registration.deferredUserChanges = []
    }

    /// Takes the socket out of every conversation.
    package func leaveAll(_ socket: any RegisteredSocket) {
        var released: [ConversationID] = []
        for conversation in socket.registration.conversations {
            conversation.members.removeAll { $0.socket === socket }
            if forgetIfEmpty(conversation) { released.append(conversation.id) }
        }
        socket.registration.conversations = []
        if !released.isEmpty { fanOut.releaseConversations(released, for: self) }
    }

    /// - Parameter position: of the change because of which it leaves.
    func leave(_ socket: any RegisteredSocket, from conversation: LocalConversation, at position: Position) {
        if let index = conversation.members.firstIndex(where: { $0.socket === socket }) {
            let member = conversation.members.remove(at: index)
            let record = LeaveRecord(
                position: position,
                seenUpTo: max(conversation.lastMessages.newest(of: member.registration.key.user), member.isHidden ? .zero : member.skip),
                numbers: member.numbers, messageCount: conversation.messageCount,
                lastMessageTold: max(conversation.lastMessages.told(to: member.registration.key.user), member.skip))
            socket.membershipChanged(.left(conversation.id, record))
        }
        socket.registration.conversations.removeAll { $0 === conversation }
        if forgetIfEmpty(conversation) { fanOut.releaseConversations([conversation.id], for: self) }
    }

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

    /// Makes the socket a member, from where its catch-up ended.
    /// - Returns: false if the loop has seen changes that the catch-up has not: then it must read on.
    package func attach(_ socket: any RegisteredSocket, at point: JoinPoint) -> Bool {
        let registration = socket.registration
        guard let conversation = conversations[point.id] else { return true }
        guard conversation.cursor.admits(readTo: point.position, fanOutLast: point.fanOutLast) else { return false }
        conversation.messageCount = max(conversation.messageCount, point.messageCount)
        guard !registration.conversations.contains(where: { $0 === conversation }) else { return true }
        conversation.members.append(
            Member(
                socket: socket, registration: registration, tracked: MemberNumbers(point.numbers), skip: point.position, isHidden: point.isHidden))
        registration.conversations.append(conversation)
        return true
    }

    /// The same for the user's own log.
    package func attachUser(_ socket: any RegisteredSocket, position: Position, fanOutLast: Position) -> Bool {
        let registration = socket.registration
        guard let user = userSockets[registration.key] else { return true }
        guard user.cursor.admits(readTo: position, fanOutLast: fanOutLast) else { return false }
        registration.userPosition = position
        return true
    }

    /// The users who have sockets in a conversation. Callable from anywhere.
    func users(in id: ConversationID) -> EventLoopFuture<Set<UserID>> {
        loop.submit { Set(self.conversations[id]?.members.map(\.registration.key.user) ?? []) }
    }

    // MARK: Upkeep

    /// Once a second, for every socket, without a timer for each.
    package func upkeep(turn: Int) {
        flushing.freeIdleBuffers()
        flushDeferred()
        for user in userSockets.values {
            for socket in user.sockets { socket.upkeep(turn: turn) }
        }
    }

    /// New sockets are refused, and those that are open told to go elsewhere. Callable from anywhere.
    package func drain() {
        enqueue { registry in
            registry.isDraining = true
            registry.sendAway()
        }
    }

    /// Sockets are told to come back, here or elsewhere, and to replay; with a time only those that are older.
    func sendAway(openedBefore time: NIODeadline = .distantFuture) {
        for socket in socketsByAge() where socket.registration.since < time { socket.end(.goingAway) }
    }

    /// All sockets of this loop, the oldest first: a dictionary has no order of its own.
    private func socketsByAge() -> [any RegisteredSocket] {
        userSockets.values.flatMap(\.sockets).sorted { $0.registration.since < $1.registration.since }
    }

    /// A publication says that a session, or all of a user's, have ended.
    func sessionEnded(_ key: UserKey, tokenDigest: [UInt8]?) {
        services.sessionEnded(key, tokenDigest: tokenDigest)
        for socket in userSockets[key]?.sockets ?? [] where tokenDigest == nil || socket.registration.tokenDigest == tokenDigest {
            socket.end(.sessionEnded)
        }
    }

    /// These sessions have ended, though no publication said so.
    package func sessionsEnded(_ digests: Set<[UInt8]>) {
        for socket in socketsByAge() where digests.contains(socket.registration.tokenDigest) { socket.end(.sessionEnded) }
    }

    // MARK: Gaps

    func gapOpened(_ log: StampLimits.Log, since time: Timestamp) {
        switch log {
        case .conversation(let id): if conversations[id] == nil { return }
        case .user(let key): if userSockets[key] == nil { return }
        }
        limits.gapOpened(log, since: time)
    }

    func gapClosed(_ log: StampLimits.Log) { limits.gapClosed(log) }

    /// - Parameter numbers: what was read along with the log.
    func gapClosed(_ id: ConversationID, numbers: [UserID: UserNumbers]) {
        if let conversation = conversations[id] {
            conversation.numbersRead.merge(numbers) { $0.position > $1.position ? $0 : $1 }
            // Until these are told, too, no packet may carry a time from which a replay would not tell them.
            guard tellNumbersRead(in: conversation) else { return fanOut.numbersMissing(in: id) }
            conversation.numbersRead = [:]
        }
        gapClosed(.conversation(id))
        flushDeferred()
    }

    /// The database was put back: how far logs were handed on says nothing any more. Who was told of them comes back and replays.
    func startAnew(era: Int) {
        self.era = era
        for conversation in conversations.values {
            conversation.cursor = LogCursor()
            (conversation.lastMessages, conversation.messageCount) = (LastMessages(), 0)
            (conversation.messageCountAtLast, conversation.numbersRead) = (0, [:])
        }
        for user in userSockets.values { user.cursor = LogCursor() }
        limits.closeAll()
        sendAway()
    }

    /// What the database's clock shows, as far as the last comparison of heads told; nil: it is not known.
    package var clock: DatabaseClock? {
        get { limits.clock }
        set { limits.clock = newValue }
    }
    /// The least time of what an open gap owes.
    var gapFloor: Timestamp? { limits.gapFloor }
    /// No packet of any socket here may be stamped later.
    package var ceiling: Timestamp? { limits.ceiling }

    /// The time for a packet that is made now, and tells of a change that was made at `time`: a change is never told with an earlier time than its own. Where
    /// the database's clock is not known, each socket has a limit of its own.
    package func stamp(atLeast time: Timestamp = Timestamp(microseconds: 0)) -> Stamp {
        Stamp(max(limits.clock?.now(at: loop.now) ?? .distantFuture, time))
    }
}
