// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

@testable import Gateway

/// One event loop with sockets: the shell around rooms and their members, doing what ``Hub`` does.
final class SimulatedHub {
    final class Room {
        var cursor = LogCursor()
        var members: [(socket: SimulatedSocket, skip: Position)] = []
        var joining = 0
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
        room.members.append((socket, attachment.position))
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

    func deliver(_ change: Change, of id: Int) {
        guard let room = rooms[id] else { return }
        room.cursor.advance(to: change.position)
        let stamp = gateway.wallClock
        for member in room.members where LogCursor.isNews(change.position, to: member.skip) || sabotage == .noSkip {
            member.socket.send(.change(id, change.position), stamp: stamp)
        }
        settle(change, of: id, in: room)
    }

    private func settle(_ change: Change, of id: Int, in room: Room) {
        guard case .participantsChanged(let added, let removed, _, _) = change.content else { return }
        let gone = room.members.filter { LogCursor.isNews(change.position, to: $0.skip) && removed.contains(world.log.userIDs[$0.socket.user]) }
        for member in gone {
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
