// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Model
import NIOCore

/// Reading from the log what pub/sub did not bring.
extension FanOut {
    // MARK: One conversation

    /// Sockets in this conversation must not be given a later time than `time` until the gap is closed: a client that loses its
    /// connection meanwhile replays from the time of its last packet.
    func notifyGap(of id: ConversationID, _ subscription: Subscription, since time: Timestamp) {
        subscription.hubs.forEach { hubs[$0].enqueue { $0.gapOpened(id, since: time) } }
    }

    func repairIfNeeded(_ id: ConversationID) {
        guard !isStopped, let subscription = conversations[id], !subscription.isRepairing else { return }
        guard let last = subscription.sequencer.last else { return }
        guard subscription.sequencer.hasGap || subscription.target > last else {
            return subscription.hubs.forEach { hubs[$0].enqueue { $0.gapClosed(id, numbers: [:]) } }
        }
        subscription.isRepairing = true
        repairs.increment()
        let interested = hubs.filter { subscription.hubs.contains($0.index) }
        Task {
            var users: Set<UserID> = []
            for hub in interested { users.formUnion(await hub.users(in: id)) }
            let page: ChangePage?
            do {
                page = try await source.changes(of: id, after: last, users: Array(users))
            } catch {
                page = nil
            }
            loop.execute { self.repaired(id, page) }
        }
    }

    /// The conversation has come as far as `position`, as another log tells. What has not arrived by itself soon is read. Callable from anywhere.
    func expect(_ position: Position, of id: ConversationID, since time: Timestamp) {
        loop.execute {
            guard let subscription = self.conversations[id] else { return }
            subscription.target = max(subscription.target, position)
            self.loop.scheduleTask(in: self.timing.gapPatience) {
                guard let subscription = self.conversations[id], let last = subscription.sequencer.last, position > last else { return }
                self.notifyGap(of: id, subscription, since: time)
                self.repairIfNeeded(id)
            }
        }
    }

    private func repaired(_ id: ConversationID, _ page: ChangePage?) {
        guard let subscription = conversations[id] else { return }
        subscription.isRepairing = false
        guard let page else {
            // The service is away; the gap stays, and so do the sockets' older timestamps.
            loop.scheduleTask(in: timing.repairPause) { self.repairIfNeeded(id) }
            return
        }
        for change in page.changes {
            if case .deliver(let changes) = subscription.sequencer.received(change) { dispatch(changes, of: subscription) }
        }
        if page.changes.isEmpty, let last = subscription.sequencer.last, page.head <= last { subscription.target = last }
        subscription.target = max(subscription.target, page.head)
        if let last = subscription.sequencer.last, subscription.target > last || subscription.sequencer.hasGap {
            let pause = page.changes.isEmpty ? timing.repairPause : .zero
            loop.scheduleTask(in: pause) { self.repairIfNeeded(id) }
        } else {
            subscription.hubs.forEach { hubs[$0].enqueue { $0.gapClosed(id, numbers: page.numbers) } }
        }
    }

    // MARK: One user's own log

    func repairUser(_ key: UserKey) {
        guard !isStopped, let subscription = users[key], let last = subscription.last, !subscription.isRepairing else { return }
        subscription.isRepairing = true
        repairs.increment()
        Task {
            let changes = try? await source.userChanges(of: key, after: last)
            loop.execute {
                guard let subscription = self.users[key] else { return }
                subscription.isRepairing = false
                guard let changes else {
                    self.loop.scheduleTask(in: self.timing.repairPause) { self.repairUser(key) }
                    return
                }
                for change in changes { self.received(change, key, subscription) }
            }
        }
    }

    // MARK: Heads

    /// Plans the next comparison of heads: soon while pub/sub is away and just after, else at a quarter of an interval's jitter around the interval.
    func scheduleHeads() {
        headsTimer?.cancel()
        guard !isStopped else { return }
        if let end = mistrustedUntil, loop.now >= end { mistrustedUntil = nil }
        let base = isPubSubAvailable && mistrustedUntil == nil ? timing.headsInterval : timing.headsIntervalWhileAway
        let delay = TimeAmount.nanoseconds(Int64(Double(base.nanoseconds) * Double.random(in: 0.875...1.125)))
        headsTimer = loop.scheduleTask(in: delay) { self.fetchHeads() }
    }

    /// Asks what moved lately, and has everything repaired that did not come by itself.
    func fetchHeads() {
        guard !isStopped, !isFetchingHeads else { return }
        guard !conversations.isEmpty || !users.isEmpty else { return scheduleHeads() }
        isFetchingHeads = true
        let since = headsSince
        Task {
            let heads = try? await source.heads(since: since)
            loop.execute {
                self.isFetchingHeads = false
                if let heads { self.compare(heads) }
                self.scheduleHeads()
            }
        }
    }

    private func compare(_ heads: Heads) {
        headsSince = heads.asOf
        for (id, position) in heads.conversations {
            guard let subscription = conversations[id], let last = subscription.sequencer.last, position > last else { continue }
            subscription.target = max(subscription.target, position)
            // Its publication may be on its way: only what does not come by itself is a loss.
            loop.scheduleTask(in: timing.repairPause) {
                guard let subscription = self.conversations[id], let last = subscription.sequencer.last, position > last else { return }
                self.headsFound.increment()
                self.notifyGap(of: id, subscription, since: heads.asOf)
                self.repairIfNeeded(id)
            }
        }
        for added in heads.added {
            users[added.user]?.hubs.forEach { hubs[$0].enqueue { $0.userAdded(added.user, to: added.conversation, at: added.position) } }
        }
        for (key, position) in heads.users {
            guard let last = users[key]?.last, position > last else { continue }
            repairUser(key)
        }
    }
}
