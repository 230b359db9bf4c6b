// SPDX-License-Identifier: Apache-2.0

import Contracts
import CoreMetrics
import Model
import NIOCore
import Wire

/// What arrives from the fan-out, on its way to the sockets of this loop.
extension Hub {
    private var renderer: Renderer { services.renderer }

    /// A change, in order of position within its conversation.
    func deliver(_ delivery: Delivery) {
        let change = delivery.change
        guard let room = rooms[change.conversationID] else { return }
        room.cursor.advance(to: change.position)
        room.messageCount = max(room.messageCount, change.messageCount)
        room.messageCountAtLast = change.messageCount
        switch change.content {
        case .messageCreated: (room.lastMessage, room.lastMessageTold) = (change.position, change.position)
        case .messageDeleted(_, _, let last) where last.changed: room.lastMessageTold = change.position
        default: break
        }
        let stamp = Stamp(.now())
        if delivery.isPlainMessage {
            deliverMessage(delivery, in: room, stamp)
        } else {
            deliverAnything(delivery, in: room, stamp)
        }
        settle(change, in: room)
        tellHeld()
    }

    /// The hot path: no look-up per socket, two renderings for all of a version.
    private func deliverMessage(_ delivery: Delivery, in room: Room, _ stamp: Stamp) {
        let change = delivery.change
        var tails = PlainTails(delivery: delivery, services: services)
        var returning: [Socket] = []
        for index in room.members.indices where LogCursor.isNews(change.position, to: room.members[index].skip) {
            let isSender = room.members[index].socket.key.user == change.actor
            if isSender { hand(delivery, to: index, in: room) }
            let member = room.members[index]
            if member.isHidden {
                if change.position > member.hiddenUpTo { returning.append(member.socket) }
                continue
            }
            if isSender { member.socket.answer(from: change) }
            member.socket.send(
                !member.tracked.areKnown ? tails.withoutNumbers(member.socket) : isSender ? tails.sender(member.socket) : tails.other(member.socket),
                values: member.values(messageCount: change.messageCount), stamp: stamp)
        }
        services.metrics.deliveries.increment(by: room.members.count)
        bringBack(returning, to: room, by: change)
    }

    /// What he had deleted from his devices comes back whole: the conversation first, then the message.
    private func bringBack(_ sockets: [Socket], to room: Room, by change: Change) {
        for socket in sockets {
            leave(socket, room, at: change.position)
            socket.join([room.id: Position(change.position.rawValue - 1)])
        }
    }

    private func deliverAnything(_ delivery: Delivery, in room: Room, _ stamp: Stamp) {
        let change = delivery.change
        // A message that was read from the log may have been received or read by somebody already.
        let isMessage = if case .messageCreated(_, _, _?) = change.content { true } else { false }
        var returning: [Socket] = []
        for index in room.members.indices where LogCursor.isNews(change.position, to: room.members[index].skip) {
            let user = room.members[index].socket.key.user
            hand(delivery, to: index, in: room)
            let member = room.members[index]
            if member.isHidden {
                if isMessage, change.position > member.hiddenUpTo { returning.append(member.socket) }
                continue
            }
            member.socket.answer(from: change)
            let rendering = delivery.rendering(
                for: user, version: member.socket.version, includesNumbers: member.tracked.areKnown, by: renderer, in: services.answers)
            member.socket.send(rendering, values: member.values(messageCount: change.messageCount), stamp: stamp)
        }
        services.metrics.deliveries.increment(by: room.members.count)
        bringBack(returning, to: room, by: change)
    }

    /// What the change makes of a member's numbers.
    private func hand(_ delivery: Delivery, to index: Int, in room: Room) {
        let member = room.members[index]
        room.members[index].tracked
            .handed(delivery.change, isFromLog: delivery.isFromLog, to: member.socket.key.user, isTold: !member.isHidden)
        guard !member.tracked.isOwed, room.members[index].tracked.isOwed else { return }
        // What the client is told now without its counts must be in its replay until it has been told them.
        gapOpened(.conversation(room.id), since: delivery.change.createdAt)
    }

    /// Whoever is not a participant any more leaves the room; whoever has just become one joins it.
    private func settle(_ change: Change, in room: Room) {
        switch change.content {
        case .conversationDeleted:
            for member in room.members where LogCursor.isNews(change.position, to: member.skip) { leave(member.socket, room, at: change.position) }
        case .participantsChanged(let added, let removed, _, _):
            if !removed.isEmpty {
                let gone = room.members.filter { LogCursor.isNews(change.position, to: $0.skip) && removed.contains($0.socket.key.user) }
                for member in gone {
                    tellNumbersAtLeaving(member, room)
                    leave(member.socket, room, at: change.position)
                    member.socket.startLateJoins()
                }
            }
            for identity in added {
                services.identities.remember(identity, in: room.app)
                for member in room.members { meet([identity], member.socket) }
                userAdded(UserKey(app: room.app, user: identity.userID), to: room.id, at: change.position)
            }
        case .messageCreated(_, _, let message?): services.identities.remember(message.sender, in: room.app)
        default: break
        }
    }

    /// The user takes part in a conversation that his sockets may not be in yet.
    func userAdded(_ key: UserKey, to id: ConversationID, at position: Position) {
        guard let resident = residents[key] else { return }
        for socket in resident.sockets { socket.wasAdded(to: id, at: position) }
    }

    /// Whoever wants to hear of presence hears of those he follows from now on, too.
    func meet(_ identities: [BasicIdentity], _ socket: Socket) {
        guard socket.wantsPresence else { return }
        watch(identities.map { UserKey(app: socket.key.app, user: $0.userID) }, by: socket)
    }

    // MARK: Numbers after a repair

    /// The log does not hold numbers, so those of everybody here were read along with it. They are of use when all has been handed on that they contain.
    func numbersRead(_ numbers: [UserID: UserNumbers], of id: ConversationID) {
        guard let room = rooms[id] else { return }
        room.numbersRead = numbers
    }

    /// Nothing is missing any more: sockets that were told changes without the counts they made are told these.
    /// - Returns: false if some are still unknown.
    func tellNumbersRead(in room: Room) -> Bool {
        var areAllKnown = true
        for index in room.members.indices {
            let user = room.members[index].socket.key.user
            if let numbers = room.numbersRead[user], numbers.position <= room.last { room.members[index].tracked.take(numbers) }
            let member = room.members[index]
            guard member.tracked.isOwed else { continue }
            // What brings the conversation back brings its counts.
            if member.isHidden {
                room.members[index].tracked.settled()
            } else if member.tracked.areKnown {
                room.members[index].tracked.settled()
                tellNumbers(of: member, in: room)
            } else {
                areAllKnown = false
            }
        }
        return areAllKnown
    }

    /// A user who has left keeps the counts they had, as their messages do. If these are not known, the client's next replay says them.
    private func tellNumbersAtLeaving(_ member: Member, _ room: Room) {
        guard member.tracked.isOwed, !member.isHidden else { return }
        if member.tracked.areKnown { tellNumbers(of: member, in: room) } else { member.socket.close(.goingAway) }
    }

    private func tellNumbers(of member: Member, in room: Room) {
        let (numbers, messages) = (member.numbers, room.messageCountAtLast)
        member.socket.sendSummary(
            OwedLog.Summary(id: room.id, position: room.last, unread: numbers.unread(of: messages), total: numbers.total(of: messages)))
    }

    /// Typing. Ephemeral: a socket that does not keep up is not told.
    func deliver(_ signal: TypingSignal) {
        guard let room = rooms[signal.conversationID] else { return }
        let key = UserKey(app: room.app, user: signal.user)
        guard let sender = services.identities.known(key) else {
            let (loop, services) = (loop, services)
            Task {
                guard await services.identities.load(key, services) != nil else { return }
                loop.execute { self.deliver(signal) }
            }
            return
        }
        let tail = renderer.typing(signal.conversationID, sender: sender, action: signal.action)
        let stamp = Stamp(.now())
        for member in room.members where member.socket.key.user != signal.user {
            member.socket.sendEphemeral(tail, stamp: stamp)
        }
    }

    func presenceChanged(_ publication: PresencePublication) {
        let key = UserKey(app: publication.appID, user: publication.user)
        guard let sockets = watchers[key] else { return }
        let stamp = Stamp(.now())
        let shown = renderer.presenceChanged(publication.user, publication.presence.forOthers)
        let real = renderer.presenceChanged(publication.user, publication.presence)
        for socket in sockets { socket.sendEphemeral(socket.key == key ? real : shown, stamp: stamp) }
    }

    func sessionEnded(_ key: UserKey, tokenDigest: [UInt8]?) {
        if let tokenDigest { services.sessions.forget(tokenDigest: tokenDigest) } else { services.sessions.forget(key) }
        for socket in residents[key]?.sockets ?? [] where tokenDigest == nil || socket.session.tokenDigest == tokenDigest {
            socket.close(.sessionEnded)
        }
    }
}

extension Hub.Member {
    func values(messageCount: Int64) -> ReaderValues {
        ReaderValues(reader: socket.key.user, unread: numbers.unread(of: messageCount), total: numbers.total(of: messageCount))
    }
}

/// The renderings of a plain message that one loop has used already.
private struct PlainTails {
    let delivery: Delivery
    let services: GatewayServices
    private var senders: [WireVersion: Rendering] = [:]
    private var others: (v2: Rendering?, v3: Rendering?)

    init(delivery: Delivery, services: GatewayServices) {
        self.delivery = delivery
        self.services = services
    }

    mutating func sender(_ socket: Socket) -> Rendering {
        if let rendering = senders[socket.version] { return rendering }
        let rendering = self.rendering(for: socket)
        senders[socket.version] = rendering
        return rendering
    }

    /// For a socket whose numbers are not known at present.
    func withoutNumbers(_ socket: Socket) -> Rendering { rendering(for: socket, includesNumbers: false) }

    mutating func other(_ socket: Socket) -> Rendering {
        switch socket.version {
        case .v2:
            if let rendering = others.v2 { return rendering }
            let rendering = self.rendering(for: socket)
            others.v2 = rendering
            return rendering
        case .v3:
            if let rendering = others.v3 { return rendering }
            let rendering = self.rendering(for: socket)
            others.v3 = rendering
            return rendering
        }
    }

    private func rendering(for socket: Socket, includesNumbers: Bool = true) -> Rendering {
        delivery.rendering(
            for: socket.key.user, version: socket.version, includesNumbers: includesNumbers, by: services.renderer, in: services.answers)
    }
}
