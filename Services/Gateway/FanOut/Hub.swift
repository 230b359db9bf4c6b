// SPDX-License-Identifier: Apache-2.0

import Contracts
import CoreMetrics
import Logging
import Model
import NIOCore
import Wire

/// The sockets of one event loop, and who of them is in which conversation.
///
/// Everything here is touched on `loop` only, which is what makes `@unchecked Sendable` true. No task and no lock is on the way
/// of a delivery; what is sent to a socket during one turn of the loop is flushed once, at its end.
final class Hub: @unchecked Sendable {
    /// A conversation that sockets of this loop are in, or are about to be.
    final class Room {
        let id: ConversationID
        let app: AppID
        /// How far this loop was handed the conversation's changes.
        var cursor = LogCursor()
        var last: Position { cursor.last }
        /// Position of the newest message handed to this loop.
        var lastMessage = Position.zero
        /// Of the newest change handed to this loop that told what the last message is.
        var lastMessageTold = Position.zero
        /// Messages ever sent, as of the newest change that a socket here was told.
        var messageCount: Int64 = 0
        /// Messages ever sent, as of ``last``.
        var messageCountAtLast: Int64 = 0
        /// Numbers that were read along with the log, until the gap closes: they may be newer than what was handed on so far.
        var numbersRead: [UserID: UserNumbers] = [:]
        var members: [Member] = []
        /// Catch-ups that will attach sockets here: the room must stay subscribed for them.
        var joining = 0
        init(id: ConversationID, app: AppID) {
            self.id = id
            self.app = app
        }
    }

    /// One socket in one conversation.
    struct Member {
        let socket: Socket
        var tracked: MemberNumbers
        var numbers: UserNumbers { tracked.known }
        /// Changes up to here reached the socket by its catch-up.
        var skip: Position
        /// He deleted the conversation from his devices, and nothing came since: the next message brings it back.
        var isHidden: Bool
        /// Up to where he did: what comes late from before does not bring it back.
        var hiddenUpTo = Position.zero
    }

    /// The sockets of one user.
    final class Resident {
        var sockets: [Socket] = []
        /// How far this loop was handed his own log.
        var cursor = LogCursor()
    }

    let index: Int
    let loop: any EventLoop
    let fanOut: FanOut
    let services: GatewayServices
    let logger: Logger

    var rooms: [ConversationID: Room] = [:]
    var residents: [UserKey: Resident] = [:]
    var watchers: [UserKey: [Socket]] = [:]
    /// A log whose sequence may have a gap.
    enum Log: Hashable {
        case conversation(ConversationID)
        case user(UserKey)
    }

    /// Logs whose sequence has a gap, with the time no packet may be stamped beyond (ARCHITECTURE §6, replay).
    private var gaps: [Log: Timestamp] = [:] { didSet { limitStamps() } }
    /// The least of these.
    private(set) var gapFloor: Timestamp?
    /// The same because of what nobody can know of yet (``HeadsWatch``).
    var stampLimit: Timestamp? { didSet { limitStamps() } }
    /// No packet of any socket here may be stamped later.
    private(set) var ceiling: Timestamp?
    /// Buffers that were written and are free again. Without them a large room makes the allocator get thousands of pages from the kernel and give
    /// them back for every message.
    private var spareBuffers: [ByteBuffer] = []
    /// The fewest spare buffers there were since the last upkeep: so many were of no use.
    private var idleBuffers = 0
    /// Sockets touched in one turn from which on their flush waits for ``flushPause``.
    private static let manySockets = 128
    private static let flushPause = TimeAmount.milliseconds(4)
    private var dirty: [Socket] = []
    /// Sockets with entries of their user's own log that wait for a conversation.
    var holding: [Socket] = []
    var isTellingHeld = false
    private var isFlushPlanned = false
    var upkeepTask: RepeatedTask?
    var upkeepTurn = 0
    var isDraining = false
    /// As ``FanOut/era``.
    private(set) var era = 0

    init(index: Int, loop: any EventLoop, fanOut: FanOut, services: GatewayServices) {
        self.index = index
        self.loop = loop
        self.fanOut = fanOut
        self.services = services
        logger = services.logger
    }

    /// Runs `body` on the loop, after everything enqueued before. Callable from anywhere.
    func enqueue(_ body: @escaping @Sendable (Hub) -> Void) {
        loop.execute { body(self) }
    }

    // MARK: Sockets come and go

    func add(_ socket: Socket) {
        let resident = residents[socket.key] ?? Resident()
        if resident.sockets.isEmpty {
            residents[socket.key] = resident
            fanOut.retain(socket.key, for: self)
        }
        resident.sockets.append(socket)
        services.metrics.sockets.increment()
        if isDraining { socket.close(.goingAway) }
    }

    func remove(_ socket: Socket) {
        leaveAll(socket)
        unwatchAll(socket)
        services.metrics.sockets.decrement()
        guard let resident = residents[socket.key] else { return }
        resident.sockets.removeAll { $0 === socket }
        if resident.sockets.isEmpty {
            residents[socket.key] = nil
            gapClosed(.user(socket.key))
            fanOut.release(socket.key, for: self)
        }
    }

    /// Takes the socket out of every conversation, as a replay does before it starts anew.
    func leaveAll(_ socket: Socket) {
        var released: [ConversationID] = []
        for room in socket.rooms {
            room.members.removeAll { $0.socket === socket }
            if forgetIfEmpty(room) { released.append(room.id) }
        }
        socket.rooms = []
        if !released.isEmpty { fanOut.release(released, for: self) }
    }

    /// - Parameter position: of the change because of which it leaves.
    func leave(_ socket: Socket, _ room: Room, at position: Position) {
        if let index = room.members.firstIndex(where: { $0.socket === socket }) {
            let member = room.members.remove(at: index)
            socket.membership.left(
                room.id,
                Departure(
                    position: position, seenUpTo: max(room.lastMessage, member.isHidden ? .zero : member.skip), numbers: member.numbers,
                    messageCount: room.messageCount, lastMessageTold: max(room.lastMessageTold, member.skip)))
        }
        socket.rooms.removeAll { $0 === room }
        if forgetIfEmpty(room) { fanOut.release([room.id], for: self) }
    }

    private func forgetIfEmpty(_ room: Room) -> Bool {
        guard room.members.isEmpty, room.joining == 0 else { return false }
        rooms[room.id] = nil
        gapClosed(.conversation(room.id))
        return true
    }

    // MARK: Joining (called by catch-ups, on the loop)

    /// Keeps these conversations subscribed until ``endJoining(_:)``.
    func beginJoining(_ ids: [ConversationID], app: AppID) {
        var new: [(id: ConversationID, app: AppID)] = []
        for id in ids {
            let room = rooms[id] ?? Room(id: id, app: app)
            if rooms[id] == nil {
                rooms[id] = room
                new.append((id, app))
            }
            room.joining += 1
        }
        if !new.isEmpty { fanOut.retain(new, for: self) }
    }

    func endJoining(_ ids: [ConversationID]) {
        var released: [ConversationID] = []
        for id in ids {
            guard let room = rooms[id] else { continue }
            room.joining -= 1
            if forgetIfEmpty(room) { released.append(id) }
        }
        if !released.isEmpty { fanOut.release(released, for: self) }
    }

    /// Makes the socket a member, from where its catch-up ended.
    /// - Returns: false if the loop has seen changes that the catch-up has not: then it must read on.
    func attach(_ socket: Socket, _ attachment: Attachment) -> Bool {
        guard let room = rooms[attachment.id], socket.isOpen else { return true }
        guard room.cursor.admits(readTo: attachment.position, fanOutLast: attachment.fanOutLast) else { return false }
        room.messageCount = max(room.messageCount, attachment.messageCount)
        guard !socket.rooms.contains(where: { $0 === room }) else { return true }
        room.members.append(
            Member(socket: socket, tracked: MemberNumbers(attachment.numbers), skip: attachment.position, isHidden: attachment.isHidden))
        socket.rooms.append(room)
        socket.membership.attached(room.id, at: attachment.position)
        return true
    }

    /// The same for the user's own log.
    func attachUser(_ socket: Socket, position: Position, fanOutLast: Position) -> Bool {
        guard let resident = residents[socket.key], socket.isOpen else { return true }
        guard resident.cursor.admits(readTo: position, fanOutLast: fanOutLast) else { return false }
        socket.userPosition = position
        return true
    }

    /// The users who have sockets in a conversation. Callable from anywhere.
    func users(in id: ConversationID) async -> [UserID] {
        let users = try? await loop.submit { Set(self.rooms[id]?.members.map(\.socket.key.user) ?? []) }.get()
        return Array(users ?? [])
    }

    // MARK: Presence

    func watch(_ users: [UserKey], by socket: Socket) {
        var new: [UserKey] = []
        for user in users where socket.watched.insert(user).inserted {
            if watchers[user] == nil { new.append(user) }
            watchers[user, default: []].append(socket)
        }
        if !new.isEmpty { fanOut.retainPresence(of: new, for: self) }
    }

    func unwatch(_ user: UserKey, by socket: Socket) {
        guard user != socket.key, socket.watched.remove(user) != nil else { return }
        watchers[user]?.removeAll { $0 === socket }
        guard watchers[user]?.isEmpty == true else { return }
        watchers[user] = nil
        fanOut.releasePresence(of: [user], for: self)
    }

    func unwatchAll(_ socket: Socket) {
        var released: [UserKey] = []
        for user in socket.watched {
            watchers[user]?.removeAll { $0 === socket }
            if watchers[user]?.isEmpty == true {
                watchers[user] = nil
                released.append(user)
            }
        }
        socket.watched = []
        if !released.isEmpty { fanOut.releasePresence(of: released, for: self) }
    }

    // MARK: Flushing

    /// The socket has something to flush at the end of this turn.
    func touched(_ socket: Socket) {
        dirty.append(socket)
        guard !isFlushPlanned else { return }
        isFlushPlanned = true
        loop.execute { self.turnEnded() }
    }

    /// An empty buffer for what a socket will be sent.
    func takeBuffer() -> ByteBuffer {
        let buffer = spareBuffers.popLast() ?? ByteBuffer()
        idleBuffers = min(idleBuffers, spareBuffers.count)
        return buffer
    }

    /// Takes back a buffer that was handed to the channel. If that still needs it, this one gets other memory.
    func giveBack(_ buffer: consuming ByteBuffer) {
        guard spareBuffers.count < 512, buffer.capacity <= 16 * 1024 else { return }
        buffer.clear()
        spareBuffers.append(buffer)
    }

    /// Once a second: what was not used in that time is freed.
    func freeIdleBuffers() {
        spareBuffers.removeFirst(min(idleBuffers, spareBuffers.count))
        idleBuffers = spareBuffers.count
    }

    /// A large room costs milliseconds to flush, nearly all of it in the kernel: if many sockets are touched, what arrives in the meantime goes
    /// with them. A few sockets never wait.
    private func turnEnded() {
        guard dirty.count >= Self.manySockets else { return flush() }
        loop.scheduleTask(in: Self.flushPause) { self.flush() }
    }

    /// What sockets hand on before the loop turns to what else there is.
    private static let turnBytes = 2 << 20

    private func flush() {
        isFlushPlanned = false
        var (count, bytes) = (0, 0)
        // Sockets that are touched meanwhile have the next turn.
        let sockets = dirty.count
        while count < sockets, bytes < Self.turnBytes {
            bytes += dirty[count].flush()
            count += 1
        }
        if count == dirty.count {
            dirty.removeAll(keepingCapacity: true)
        } else {
            dirty.removeFirst(count)
            guard !isFlushPlanned else { return }
            isFlushPlanned = true
            loop.execute { self.flush() }
        }
    }

    // MARK: Gaps

    func gapOpened(_ log: Log, since time: Timestamp) {
        switch log {
        case .conversation(let id): if rooms[id] == nil { return }
        case .user(let key): if residents[key] == nil { return }
        }
        gaps[log] = min(gaps[log] ?? time, time)
    }

    func gapClosed(_ log: Log) {
        if gaps[log] != nil { gaps[log] = nil }
    }

    /// - Parameter numbers: what was read along with the log.
    func gapClosed(_ id: ConversationID, numbers: [UserID: UserNumbers]) {
        if let room = rooms[id] {
            room.numbersRead.merge(numbers) { $0.position > $1.position ? $0 : $1 }
            // Until these are told, too, no packet may carry a time from which a replay would not tell them.
            guard tellNumbersRead(in: room) else { return fanOut.numbersMissing(in: id) }
            room.numbersRead = [:]
        }
        gapClosed(.conversation(id))
        tellHeld()
    }

    /// The database was put back: how far logs were handed on says nothing any more. Who was told of them comes back and replays.
    func startAnew(era: Int) {
        self.era = era
        for room in rooms.values {
            room.cursor = LogCursor()
            (room.lastMessage, room.lastMessageTold, room.messageCount) = (.zero, .zero, 0)
            (room.messageCountAtLast, room.numbersRead) = (0, [:])
        }
        for resident in residents.values { resident.cursor = LogCursor() }
        gaps = [:]
        sendAway()
    }

    private func limitStamps() {
        gapFloor = gaps.values.min()
        ceiling = [gapFloor, stampLimit].compactMap(\.self).min()
    }
}
