// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

@testable import Gateway

/// One event loop with sockets: the shell around rooms and their members, doing what ``Hub`` does.
final class SimulatedHub {
    final class Room {
        var cursor = LogCursor()
        var messageCountAtLast: Int64 = 0
        var numbersRead: [UserID: UserNumbers] = [:]
        var members: [Member] = []
        var joining = 0
    }

    struct Member {
        let socket: SimulatedSocket
        var skip: Position
        var tracked: MemberNumbers
    }

    enum Log: Hashable {
        case conversation(Int)
        case user(Int)
    }

    let index: Int
    unowned let gateway: SimulatedGateway
    let loop: SimulatedLoop
    private var rooms: [Room?]
    private var residents: [(cursor: LogCursor, sockets: [SimulatedSocket])?]
    private var gaps: [Log: Timestamp] = [:] { didSet { limitStamps() } }
    var stampLimit: Timestamp? { didSet { limitStamps() } }
    private var gapFloor: Timestamp?
    private(set) var ceiling: Timestamp?
    private var dirty: [SimulatedSocket] = []
    var world: FeedWorld { gateway.world }
    private var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }

    init(_ index: Int, _ gateway: SimulatedGateway) {
        self.index = index
        self.gateway = gateway
        loop = SimulatedLoop(gateway.world.simulation)
        rooms = Array(repeating: nil, count: gateway.world.scenario.conversations)
        residents = Array(repeating: nil, count: gateway.world.scenario.users)
    }

    // MARK: Sockets come and go

    func add(_ socket: SimulatedSocket) {
        if residents[socket.user] == nil {
            residents[socket.user] = (LogCursor(), [])
            gateway.retainUser(socket.user, for: index)
        }
        residents[socket.user]?.sockets.append(socket)
    }

    func remove(_ socket: SimulatedSocket) {
        leaveAll(socket)
        residents[socket.user]?.sockets.removeAll { $0 === socket }
        guard residents[socket.user]?.sockets.isEmpty == true else { return }
        residents[socket.user] = nil
        gapClosed(.user(socket.user))
        gateway.releaseUser(socket.user, for: index)
    }

    func leaveAll(_ socket: SimulatedSocket) {
        var released: [Int] = []
        for id in socket.rooms.sorted() {
            rooms[id]?.members.removeAll { $0.socket === socket }
            if forgetIfEmpty(id) { released.append(id) }
        }
        socket.rooms = []
        if !released.isEmpty { gateway.release(released, for: index) }
    }

    private func leave(_ socket: SimulatedSocket, _ id: Int, at position: Position) {
        world.simulation.note(.init(what: "left: socket, conversation, position", a: socket.number, b: id, c: position.rawValue))
        rooms[id]?.members.removeAll { $0.socket === socket }
        socket.membership.left(world.log.ids[id], Departure(position: position, seenUpTo: .zero))
        socket.rooms.remove(id)
        if forgetIfEmpty(id) { gateway.release([id], for: index) }
    }

    private func forgetIfEmpty(_ id: Int) -> Bool {
        guard let room = rooms[id], room.members.isEmpty, room.joining == 0 else { return false }
        rooms[id] = nil
        gapClosed(.conversation(id))
        return true
    }

    // MARK: Joining

    func beginJoining(_ ids: [Int]) {
        var new: [Int] = []
        for id in ids {
            let room = rooms[id] ?? Room()
            if rooms[id] == nil {
                rooms[id] = room
                new.append(id)
            }
            room.joining += 1
        }
        if !new.isEmpty { gateway.retain(new, for: index) }
    }

    func endJoining(_ ids: [Int]) {
        var released: [Int] = []
        for id in ids {
            rooms[id]?.joining -= 1
            if forgetIfEmpty(id) { released.append(id) }
        }
        if !released.isEmpty { gateway.release(released, for: index) }
    }

    func attach(_ socket: SimulatedSocket, _ attachment: Attachment) -> Bool {
        let id = world.log.index(of: attachment.id)
        guard let room = rooms[id], socket.isOpen else { return true }
        let isAdmitted = room.cursor.admits(readTo: attachment.position, fanOutLast: attachment.fanOutLast)
        guard isAdmitted || sabotage == .noAttachRule else {
            world.counts["refused", default: 0] += 1
            return false
        }
        guard !socket.rooms.contains(id) else { return true }
        room.members.append(Member(socket: socket, skip: attachment.position, tracked: MemberNumbers(attachment.numbers)))
        socket.rooms.insert(id)
        socket.membership.attached(attachment.id, at: attachment.position)
        world.simulation.note(.init(what: "attached: socket, conversation, position", a: socket.number, b: id, c: attachment.position.rawValue))
        return true
    }

    func attachUser(_ socket: SimulatedSocket, position: Position, fanOutLast: Position) -> Bool {
        guard residents[socket.user] != nil, socket.isOpen else { return true }
        guard residents[socket.user]?.cursor.admits(readTo: position, fanOutLast: fanOutLast) == true || sabotage == .noAttachRule else {
            return false
        }
        socket.userPosition = position
        return true
    }

    // MARK: What arrives

    func deliver(_ change: Change, of id: Int, isFromLog: Bool = false) {
        guard let room = rooms[id] else { return }
        room.cursor.advance(to: change.position)
        room.messageCountAtLast = change.messageCount
        let stamp = gateway.wallClock
        for index in room.members.indices where LogCursor.isNews(change.position, to: room.members[index].skip) || sabotage == .noSkip {
            if world.scenario.hasNumbers { hand(change, of: id, isFromLog: isFromLog && sabotage != .staleNumbers, to: &room.members[index]) }
            let member = room.members[index]
            member.socket.send(.change(id, change.position, counts(with: change, to: member)), stamp: stamp)
        }
        settle(change, of: id, in: room)
    }

    private func hand(_ change: Change, of id: Int, isFromLog: Bool, to member: inout Member) {
        let wasOwed = member.tracked.isOwed
        member.tracked.handed(change, isFromLog: isFromLog, to: world.log.userIDs[member.socket.user], isTold: true)
        if !wasOwed, member.tracked.isOwed { gapOpened(.conversation(id), since: change.createdAt) }
    }

    /// What the packets about a change tell of the counts.
    private func counts(with change: Change, to member: Member) -> LogService.Counts? {
        guard world.scenario.hasNumbers else { return nil }
        let (user, numbers) = (world.log.userIDs[member.socket.user], member.tracked.known)
        guard member.tracked.areKnown else { return nil }
        let (unread, total) = (numbers.unread(of: change.messageCount), numbers.total(of: change.messageCount))
        return switch change.content {
        case .messageCreated: .init(unread: change.actor == user ? nil : unread, total: total)
        case .messageDeleted: .init(unread: unread, total: total)
        case .receipts(let receipts) where receipts.contains { $0.user == user }: .init(unread: unread)
        case .allRead(user, _, _): .init(unread: unread)
        default: nil
        }
    }

    // MARK: Numbers after a repair

    func users(in id: Int) -> [Int] { rooms[id]?.members.map(\.socket.user) ?? [] }

    func numbersRead(_ numbers: [UserID: UserNumbers], of id: Int) { rooms[id]?.numbersRead = numbers }

    func gapClosed(_ id: Int, numbers: [UserID: UserNumbers]) {
        if world.scenario.hasNumbers, let room = rooms[id] {
            room.numbersRead.merge(numbers) { $0.position > $1.position ? $0 : $1 }
            guard tellNumbersRead(of: id, in: room) else { return gateway.numbersMissing(in: id) }
            room.numbersRead = [:]
        }
        gapClosed(.conversation(id))
    }

    private func tellNumbersRead(of id: Int, in room: Room) -> Bool {
        var areAllKnown = true
        for index in room.members.indices {
            let user = world.log.userIDs[room.members[index].socket.user]
            if let numbers = room.numbersRead[user], numbers.position <= room.cursor.last { room.members[index].tracked.take(numbers) }
            guard room.members[index].tracked.isOwed else { continue }
            guard room.members[index].tracked.areKnown else {
                areAllKnown = false
                continue
            }
            room.members[index].tracked.settled()
            tellNumbers(of: id, room.members[index], in: room)
        }
        return areAllKnown
    }

    private func tellNumbers(of id: Int, _ member: Member, in room: Room) {
        guard sabotage != .noNumbersAfterRepair else { return }
        let (numbers, messages) = (member.tracked.known, room.messageCountAtLast)
        let counts = LogService.Counts(unread: numbers.unread(of: messages), total: numbers.total(of: messages))
        member.socket.send(.numbers(id, at: room.cursor.last, counts), stamp: gateway.wallClock)
    }

    private func settle(_ change: Change, of id: Int, in room: Room) {
        guard case .participantsChanged(let added, let removed, _, _) = change.content else { return }
        let gone = room.members.filter { LogCursor.isNews(change.position, to: $0.skip) && removed.contains(world.log.userIDs[$0.socket.user]) }
        for member in gone {
            if member.tracked.isOwed {
                if member.tracked.areKnown { tellNumbers(of: id, member, in: room) } else { member.socket.close() }
            }
            leave(member.socket, id, at: change.position)
            member.socket.startLateJoins()
        }
        for identity in added { userAdded(world.log.index(of: identity.userID), to: id, at: change.position) }
    }

    func userAdded(_ user: Int, to id: Int, at position: Position) {
        for socket in residents[user]?.sockets ?? [] {
            world.simulation.note(.init(what: "added: socket, conversation, position", a: socket.number, b: id, c: position.rawValue))
            socket.wasAdded(to: id, at: position)
        }
    }

    func known(_ id: Int) -> Position? { rooms[id]?.cursor.last }

    func deliver(_ change: UserChange, to user: Int) {
        guard residents[user] != nil else { return }
        residents[user]?.cursor.advance(to: change.position)
        for socket in residents[user]?.sockets ?? [] {
            guard let last = socket.userPosition, LogCursor.isNews(change.position, to: last) || sabotage == .noSkip else { continue }
            socket.userPosition = change.position
            socket.send(.own(change.position), stamp: gateway.wallClock)
        }
    }

    func signal(in id: Int) {
        for member in rooms[id]?.members ?? [] { member.socket.sendEphemeral(stamp: gateway.wallClock) }
    }

    // MARK: Gaps

    func gapOpened(_ log: Log, since time: Timestamp) {
        switch log {
        case .conversation(let id): if rooms[id] == nil { return }
        case .user(let user): if residents[user] == nil { return }
        }
        world.counts["gaps", default: 0] += 1
        gaps[log] = min(gaps[log] ?? time, time)
    }

    func gapClosed(_ log: Log) {
        if gaps[log] != nil { gaps[log] = nil }
    }

    private func limitStamps() {
        gapFloor = sabotage == .noGapFloor ? nil : gaps.values.min()
        ceiling = [gapFloor, sabotage == .noStampLimit ? nil : stampLimit].compactMap(\.self).min()
    }

    func sendAway(openedBefore time: NIODeadline) {
        for resident in residents { for socket in resident?.sockets ?? [] where socket.since < time { socket.close() } }
    }

    // MARK: Flushing

    /// What is sent in one turn leaves at its end; if many are touched, a little later.
    func touched(_ socket: SimulatedSocket) {
        dirty.append(socket)
        guard dirty.count == 1 else { return }
        if world.simulation.chance(100) {
            world.simulation.after(4000, .init(what: "late flush", a: gateway.index, b: index)) { [self] in flush() }
        } else {
            loop.execute(.init(what: "flush", a: gateway.index, b: index)) { [self] in flush() }
        }
    }

    private func flush() {
        let sockets = dirty
        dirty = []
        for socket in sockets { socket.flush() }
    }
}
