// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import NIOCore
import StrataModel
import StrataWire

/// Delivery of changes and typing signals from the fan-out to the sockets of this loop.
extension LoopRegistry {
    /// Delivers a change. Changes of a conversation arrive in order of position.
    func deliver(_ delivery: Delivery) {
        let change = delivery.change
        guard let conversation = conversations[change.conversationID] else { return }
        conversation.cursor.advance(to: change.position)
        conversation.messageCount = max(conversation.messageCount, change.messageCount)
        conversation.messageCountAtLast = change.messageCount
        switch change.content {
        case .messageCreated: conversation.lastMessages.created(at: change.position, hiddenFrom: change.hiddenFrom)
        case .messageDeleted(_, _, let last) where last.changed:
            conversation.lastMessages.deleted(at: change.position, hiddenFrom: change.hiddenFrom)
        default: break
        }
        let stamp = stamp(atLeast: change.createdAt)
        if delivery.isPlainMessage {
            deliverMessage(delivery, in: conversation, stamp: stamp)
        } else {
            deliverIndividually(delivery, in: conversation, stamp: stamp)
        }
        applyMembership(of: change, in: conversation)
        flushDeferred()
    }

    /// Delivers a plain message on the hot path: without a lookup for each socket, and with two renderings for each
    /// protocol version.
    private func deliverMessage(_ delivery: Delivery, in conversation: LocalConversation, stamp: Stamp) {
        let change = delivery.change
        var tails = PlainTails(delivery: delivery, output: output)
        var returning: [any RegisteredSocket] = []
        for index in conversation.members.indices
        where LogCursor.isNews(change.position, to: conversation.members[index].skip) {
            let isSender = conversation.members[index].registration.key.user == change.actor
            if isSender { applyCounts(of: delivery, to: index, in: conversation) }
            let member = conversation.members[index]
            if member.isHidden {
                if change.position > member.hiddenUpTo { returning.append(member.socket) }
                continue
            }
            let registration = member.registration
            member.socket.deliver(
                delivery,
                as: !member.countState.areCurrent
                    ? tails.withoutCounts(registration)
                    : isSender ? tails.sender(registration) : tails.other(registration),
                values: member.values(messageCount: change.messageCount), stamp: stamp)
        }
        output.deliveries.increment(by: conversation.members.count)
        rejoinHidden(returning, to: conversation, by: change)
    }

    /// Rejoins a conversation that the user had deleted from their devices. The client receives the whole conversation
    /// first, then the message.
    private func rejoinHidden(_ sockets: [any RegisteredSocket], to conversation: LocalConversation, by change: Change)
    {
        for socket in sockets {
            leave(socket, from: conversation, at: change.position)
            socket.membershipChanged(.returns(conversation.id, after: Position(change.position.rawValue - 1)))
        }
    }

    /// Delivers a change that is no plain message: its rendering and its visibility can differ for each user.
    private func deliverIndividually(_ delivery: Delivery, in conversation: LocalConversation, stamp: Stamp) {
        let change = delivery.change
        // A message read from the log may already have been delivered to users or read by them.
        let isMessage = if case .messageCreated(_, _, _?) = change.content { true } else { false }
        var returning: [any RegisteredSocket] = []
        for index in conversation.members.indices
        where LogCursor.isNews(change.position, to: conversation.members[index].skip) {
            let user = conversation.members[index].registration.key.user
            applyCounts(of: delivery, to: index, in: conversation)
            let member = conversation.members[index]
            if change.hiddenFrom.contains(user) { continue }
            if member.isHidden {
                if isMessage, change.position > member.hiddenUpTo { returning.append(member.socket) }
                continue
            }
            let rendering = delivery.rendering(
                for: user, version: member.registration.version, includesCounts: member.countState.areCurrent,
                by: output.renderer, in: output.budget)
            member.socket.deliver(
                delivery, as: rendering, values: member.values(messageCount: change.messageCount), stamp: stamp)
        }
        output.deliveries.increment(by: conversation.members.count)
        rejoinHidden(returning, to: conversation, by: change)
    }

    /// Updates the counts of a member for a change.
    private func applyCounts(of delivery: Delivery, to index: Int, in conversation: LocalConversation) {
        let member = conversation.members[index]
        conversation.members[index].countState
            .apply(
                delivery.change, isFromLog: delivery.isFromLog, to: member.registration.key.user,
                isTold: !member.isHidden)
        guard !member.countState.isPending, conversation.members[index].countState.isPending else { return }
        // A packet without counts leaves the client's counts stale. Until they are sent, a replay must start before
        // this change.
        gapOpened(.conversation(conversation.id), since: delivery.change.createdAt)
    }

    /// Removes the sockets of former participants from the conversation, and makes those of new participants join it.
    private func applyMembership(of change: Change, in conversation: LocalConversation) {
        switch change.content {
        case .conversationDeleted:
            for member in conversation.members where LogCursor.isNews(change.position, to: member.skip) {
                leave(member.socket, from: conversation, at: change.position)
            }
        case .participantsChanged(let added, let removed, _, _):
            if !removed.isEmpty {
                let gone = conversation.members.filter {
                    LogCursor.isNews(change.position, to: $0.skip) && removed.contains($0.registration.key.user)
                }
                for member in gone {
                    sendCountsOnLeave(member, in: conversation)
                    leave(member.socket, from: conversation, at: change.position)
                    member.socket.membershipChanged(.canRejoin)
                }
            }
            for identity in added {
                services.remember(identity, in: conversation.app)
                for member in conversation.members { watchPresence(of: [identity], by: member.socket) }
                userAdded(
                    UserKey(app: conversation.app, user: identity.userID), to: conversation.id, at: change.position)
            }
        case .messageCreated(_, _, let message?):
            if case .user(let sender) = message.sender { services.remember(sender, in: conversation.app) }
        default: break
        }
    }

    /// Tells the user's sockets to join a conversation, unless they are in it.
    func userAdded(_ key: UserKey, to id: ConversationID, at position: Position) {
        guard let user = userSockets[key] else { return }
        for socket in user.sockets { socket.membershipChanged(.added(id, at: position)) }
    }

    // MARK: Counts after a repair

    /// Stores counts that were read along with the log, which does not contain them. They apply once all changes that
    /// they include have been delivered.
    func countsLoaded(_ counts: [UserID: UserCounts], of id: ConversationID) {
        guard let conversation = conversations[id] else { return }
        conversation.loadedCounts = counts
    }

    /// Sends the counts that were missing from earlier packets, once the gap is closed.
    /// - Returns: false if some counts are still unknown.
    func sendLoadedCounts(in conversation: LocalConversation) -> Bool {
        var areAllKnown = true
        for index in conversation.members.indices {
            let user = conversation.members[index].registration.key.user
            if let counts = conversation.loadedCounts[user], counts.position <= conversation.last {
                conversation.members[index].countState.take(counts)
            }
            let member = conversation.members[index]
            guard member.countState.isPending else { continue }
            // The packets that bring the conversation back contain its counts.
            if member.isHidden {
                conversation.members[index].countState.settled()
            } else if member.countState.areCurrent {
                conversation.members[index].countState.settled()
                sendCounts(of: member, in: conversation)
            } else {
                areAllKnown = false
            }
        }
        return areAllKnown
    }

    /// Sends the final counts to a user who leaves. If they are unknown, the connection is closed, and the client's
    /// next replay brings them.
    private func sendCountsOnLeave(_ member: Member, in conversation: LocalConversation) {
        guard member.countState.isPending, !member.isHidden else { return }
        if member.countState.areCurrent {
            sendCounts(of: member, in: conversation)
        } else {
            member.socket.end(.goingAway)
        }
    }

    private func sendCounts(of member: Member, in conversation: LocalConversation) {
        let (counts, messages) = (member.counts, conversation.messageCountAtLast)
        let values = ReaderValues(
            reader: member.registration.key.user, unread: counts.unread(of: messages), total: counts.total(of: messages)
        )
        let tail = output.renderer.countsChanged(conversation.id, at: conversation.last)
        member.socket.send(Rendering([tail], in: output.budget), values: values, stamp: stamp())
    }

    /// Delivers a typing signal. It is ephemeral: a socket with a backlog does not receive it.
    func deliverTyping(_ signal: TypingSignal) {
        guard let conversation = conversations[signal.conversationID] else { return }
        let key = UserKey(app: conversation.app, user: signal.user)
        guard let sender = services.knownIdentity(of: key) else {
            services.identity(of: key, on: loop).whenSuccess { if $0 != nil { self.deliverTyping(signal) } }
            return
        }
        let tail = output.renderer.typing(signal.conversationID, sender: sender, action: signal.action)
        let stamp = stamp()
        for member in conversation.members
        where member.registration.key.user != signal.user && !member.registration.blocks.contains(signal.user) {
            member.socket.sendEphemeral(tail, presenceOf: nil, stamp: stamp)
        }
    }
}

extension LoopRegistry.Member {
    func values(messageCount: Int64) -> ReaderValues {
        ReaderValues(
            reader: registration.key.user, unread: counts.unread(of: messageCount),
            total: counts.total(of: messageCount))
    }
}

/// The renderings of a plain message that one loop has already used.
private struct PlainTails {
    let delivery: Delivery
    let output: LoopRegistry.Output
    private var senders: [WireVersion: Rendering] = [:]
    private var others: (v2: Rendering?, v3: Rendering?)

    init(delivery: Delivery, output: LoopRegistry.Output) {
        self.delivery = delivery
        self.output = output
    }

    mutating func sender(_ reader: Registration) -> Rendering {
        if let rendering = senders[reader.version] { return rendering }
        let rendering = self.rendering(for: reader)
        senders[reader.version] = rendering
        return rendering
    }

    /// Returns the rendering for a socket whose counts are not known at present.
    func withoutCounts(_ reader: Registration) -> Rendering { rendering(for: reader, includesCounts: false) }

    mutating func other(_ reader: Registration) -> Rendering {
        switch reader.version {
        case .v2:
            if let rendering = others.v2 { return rendering }
            let rendering = self.rendering(for: reader)
            others.v2 = rendering
            return rendering
        case .v3:
            if let rendering = others.v3 { return rendering }
            let rendering = self.rendering(for: reader)
            others.v3 = rendering
            return rendering
        }
    }

    private func rendering(for reader: Registration, includesCounts: Bool = true) -> Rendering {
        delivery.rendering(
            for: reader.key.user, version: reader.version, includesCounts: includesCounts, by: output.renderer,
            in: output.budget)
    }
}
