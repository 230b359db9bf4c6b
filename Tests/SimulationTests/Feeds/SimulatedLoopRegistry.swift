// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

@testable import FanOut
@testable import Gateway

/// One event loop with sockets: the shell around conversations and their members, doing what ``LoopRegistry`` does.
final class SimulatedLoopRegistry {
    final class LocalConversation {
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
    private var conversations: [LocalConversation?]
    private var userSockets: [(cursor: LogCursor, sockets: [SimulatedSocket])?]
    private var gaps: [Log: Timestamp] = [:] { didSet { limitStamps() } }
    var clock: DatabaseClock? { didSet { limitStamps() } }
    private var gapFloor: Timestamp?
    private(set) var ceiling: Timestamp?
    private var dirty: [SimulatedSocket] = []
    var world: FeedWorld { gateway.world }
    private var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }

    init(_ index: Int, _ gateway: SimulatedGateway) {
        self.index = index
        self.gateway = gateway
        loop = SimulatedLoop(gateway.world.simulation)
        conversations = Array(repeating: nil, count: gateway.world.scenario.conversations)
        userSockets = Array(repeating: nil, count: gateway.world.scenario.users)
    }

    // MARK: Sockets come and go

    func add(_ socket: SimulatedSocket) {
        if userSockets[socket.user] == nil {
            userSockets[socket.user] = (LogCursor(), [])
            gateway.retainUser(socket.user, for: index)
        }
        userSockets[socket.user]?.sockets.append(socket)
    }

    func remove(_ socket: SimulatedSocket) {
        leaveAll(socket)
        userSockets[socket.user]?.sockets.removeAll { $0 === socket }
        guard userSockets[socket.user]?.sockets.isEmpty == true else { return }
        userSockets[socket.user] = nil
        gapClosed(.user(socket.user))
        gateway.releaseUser(socket.user, for: index)
    }

    func leaveAll(_ socket: SimulatedSocket) {
        var released: [Int] = []
        for id in socket.conversations.sorted() {
            conversations[id]?.members.removeAll { $0.socket === socket }
            if forgetIfEmpty(id) { released.append(id) }
        }
        socket.conversations = []
        if !released.isEmpty { gateway.release(released, for: index) }
    }

    private func leave(_ socket: SimulatedSocket, _ id: Int, at position: Position) {
        world.simulation.note(.init(what: "left: socket, conversation, position", a: socket.number, b: id, c: position.rawValue))
        conversations[id]?.members.removeAll { $0.socket === socket }
        socket.membership.left(world.log.ids[id], record: LeaveRecord(position: position, seenUpTo: .zero))
        socket.conversations.remove(id)
        if forgetIfEmpty(id) { gateway.release([id], for: index) }
    }

    private func forgetIfEmpty(_ id: Int) -> Bool {
        guard let conversation = conversations[id], conversation.members.isEmpty, conversation.joining == 0 else { return false }
        conversations[id] = nil
        gapClosed(.conversation(id))
        return true
    }

    // MARK: Joining

    func beginJoining(_ ids: [Int]) {
        var new: [Int] = []
        for id in ids {
            let conversation = conversations[id] ?? LocalConversation()
            if conversations[id] == nil {
                conversations[id] = conversation
                new.append(id)
            }
            conversation.joining += 1
        }
        if !new.isEmpty { gateway.retain(new, for: index) }
    }

    func endJoining(_ ids: [Int]) {
        var released: [Int] = []
        for id in ids {
            conversations[id]?.joining -= 1
            if forgetIfEmpty(id) { released.append(id) }
        }
        if !released.isEmpty { gateway.release(released, for: index) }
    }

    func attach(_ socket: SimulatedSocket, at point: JoinPoint) -> Bool {
        let id = world.log.index(of: point.id)
        guard let conversation = conversations[id], socket.isOpen else { return true }
        let isAdmitted = conversation.cursor.admits(readTo: point.position, fanOutLast: point.fanOutLast)
        guard isAdmitted || sabotage == .noAttachRule else {
            world.counts["refused", default: 0] += 1
            return false
        }
        guard !socket.conversations.contains(id) else { return true }
        conversation.members.append(Member(socket: socket, skip: point.position, tracked: MemberNumbers(point.numbers)))
        socket.conversations.insert(id)
        socket.membership.attached(point.id, at: point.position)
        world.simulation.note(.init(what: "attached: socket, conversation, position", a: socket.number, b: id, c: point.position.rawValue))
        return true
    }

    func attachUser(_ socket: SimulatedSocket, position: Position, fanOutLast: Position) -> Bool {
        guard userSockets[socket.user] != nil, socket.isOpen else { return true }
        guard userSockets[socket.user]?.cursor.admits(readTo: position, fanOutLast: fanOutLast) == true || sabotage == .noAttachRule else {
            return false
        }
        socket.userPosition = position
        return true
    }

    // MARK: What arrives

    func deliver(_ change: Change, of id: Int, isFromLog: Bool = false) {
        guard let conversation = conversations[id] else { return }
        conversation.cursor.advance(to: change.position)
        conversation.messageCountAtLast = change.messageCount
        let stamp = stamp(atLeast: change.createdAt)
        for index in conversation.members.indices where LogCursor.isNews(change.position, to: conversation.members[index].skip) || sabotage == .noSkip
        {
            if world.scenario.hasNumbers { hand(change, of: id, isFromLog: isFromLog && sabotage != .staleNumbers, to: &conversation.members[index]) }
            let member = conversation.members[index]
            member.socket.send(.change(id, change.position, counts(with: change, to: member)), stamp: stamp)
        }
        applyMembership(of: change, at: id, in: conversation)
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

    func users(in id: Int) -> [Int] { conversations[id]?.members.map(\.socket.user) ?? [] }

    func numbersRead(_ numbers: [UserID: UserNumbers], of id: Int) { conversations[id]?.numbersRead = numbers }

    func gapClosed(_ id: Int, numbers: [UserID: UserNumbers]) {
        if world.scenario.hasNumbers, let conversation = conversations[id] {
            conversation.numbersRead.merge(numbers) { $0.position > $1.position ? $0 : $1 }
            guard tellNumbersRead(of: id, in: conversation) else { return gateway.numbersMissing(in: id) }
            conversation.numbersRead = [:]
        }
        gapClosed(.conversation(id))
    }

    private func tellNumbersRead(of id: Int, in conversation: LocalConversation) -> Bool {
        var areAllKnown = true
        for index in conversation.members.indices {
            let user = world.log.userIDs[conversation.members[index].socket.user]
            if let numbers = conversation.numbersRead[user], numbers.position <= conversation.cursor.last {
                conversation.members[index].tracked.take(numbers)
            }
            guard conversation.members[index].tracked.isOwed else { continue }
            guard conversation.members[index].tracked.areKnown else {
                areAllKnown = false
                continue
            }
            conversation.members[index].tracked.settled()
            tellNumbers(of: id, conversation.members[index], in: conversation)
        }
        return areAllKnown
    }

    private func tellNumbers(of id: Int, _ member: Member, in conversation: LocalConversation) {
        guard sabotage != .noNumbersAfterRepair else { return }
        let (numbers, messages) = (member.tracked.known, conversation.messageCountAtLast)
        let counts = LogService.Counts(unread: numbers.unread(of: messages), total: numbers.total(of: messages))
        member.socket.send(.numbers(id, at: conversation.cursor.last, counts), stamp: stamp())
    }

    private func applyMembership(of change: Change, at id: Int, in conversation: LocalConversation) {
        guard case .participantsChanged(let added, let removed, _, _) = change.content else { return }
        let gone = conversation.members.filter {
            LogCursor.isNews(change.position, to: $0.skip) && removed.contains(world.log.userIDs[$0.socket.user])
        }
        for member in gone {
            if member.tracked.isOwed {
                if member.tracked.areKnown { tellNumbers(of: id, member, in: conversation) } else { member.socket.close() }
            }
            leave(member.socket, id, at: change.position)
            member.socket.startLateJoins()
        }
        for identity in added { userAdded(world.log.index(of: identity.userID), to: id, at: change.position) }
    }

    func userAdded(_ user: Int, to id: Int, at position: Position) {
        for socket in userSockets[user]?.sockets ?? [] {
            world.simulation.note(.init(what: "added: socket, conversation, position", a: socket.number, b: id, c: position.rawValue))
            socket.wasAdded(to: id, at: position)
        }
    }

    func known(_ id: Int) -> Position? { conversations[id]?.cursor.last }

    func deliver(_ change: UserChange, to user: Int) {
        guard userSockets[user] != nil else { return }
        userSockets[user]?.cursor.advance(to: change.position)
        for socket in userSockets[user]?.sockets ?? [] {
            guard let last = socket.userPosition, LogCursor.isNews(change.position, to: last) || sabotage == .noSkip else { continue }
            socket.userPosition = change.position
            socket.send(.own(change.position), stamp: stamp(atLeast: change.createdAt))
        }
    }

    func signal(in id: Int) {
        for member in conversations[id]?.members ?? [] { member.socket.sendEphemeral(stamp: stamp()) }
    }

    // MARK: Gaps

    func gapOpened(_ log: Log, since time: Timestamp) {
        switch log {
        case .conversation(let id): if conversations[id] == nil { return }
        case .user(let user): if userSockets[user] == nil { return }
        }
        world.counts["gaps", default: 0] += 1
        gaps[log] = min(gaps[log] ?? time, time)
    }

    func gapClosed(_ log: Log) {
        if gaps[log] != nil { gaps[log] = nil }
    }

    private func limitStamps() {
        gapFloor = sabotage == .noGapFloor ? nil : gaps.values.min()
        ceiling = [gapFloor, sabotage == .noStampLimit ? nil : clock?.asOf.advanced(by: HeadReconciler.trust)].compactMap(\.self).min()
    }

    /// A gateway that shows the present, or the time of the wall, asks no database.
    var isTimeKnown: Bool { clock != nil || sabotage == .noStampLimit || sabotage == .wallClock }

    func stamp(atLeast time: Timestamp = Timestamp(0)) -> Timestamp {
        switch sabotage {
        case .noStampLimit: Timestamp(world.simulation.now)
        case .wallClock: gateway.wallClock
        default: max(clock?.now(at: gateway.deadline) ?? .distantFuture, time)
        }
    }

    func sendAway(openedBefore time: NIODeadline) {
        for user in userSockets { for socket in user?.sockets ?? [] where socket.since < time { socket.close() } }
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
