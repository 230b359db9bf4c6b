// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import NIOCore
import StrataModel

/// Performs the actions of the feeds: reads changes from the log that pub/sub did not deliver.
extension FanOut {
    // MARK: One conversation

    func perform(_ actions: [ConversationFeed.Action], for id: ConversationID, subscription: Subscription) {
        for action in actions {
            switch action {
            case .deliver(let changes): dispatchChanges(changes, of: subscription)
            case .deliverFromLog(let changes, let counts):
                dispatchChanges(changes, of: subscription, isFromLog: true)
                subscription.loops.forEach { registries[$0].enqueue { $0.countsLoaded(counts, of: id) } }
            // Sockets in this conversation must not receive a later time until the gap is closed. A client that
            // loses its connection meanwhile replays from the time of its last packet.
            case .openGap(let time):
                subscription.loops.forEach { registries[$0].enqueue { $0.gapOpened(.conversation(id), since: time) } }
            case .closeGap(let counts):
                subscription.loops.forEach { registries[$0].enqueue { $0.repairEnded(of: id, counts: counts) } }
            case .read(let position): readLog(of: id, after: position, for: subscription)
            case .checkLater(let wait):
                loop.scheduleTask(in: timing.amount(wait)) { self.onFeed(of: id) { $0.repairIfBehind() } }
            case .checkArrival(let position, let time, let wait):
                loop.scheduleTask(in: timing.amount(wait)) {
                    self.onFeed(of: id) { $0.repairUnlessArrived(position, since: time) }
                }
            }
        }
    }

    /// Passes an event to the feed and performs the resulting actions. Does nothing if the conversation is not needed
    /// any longer.
    private func onFeed(of id: ConversationID, _ event: (inout ConversationFeed) -> [ConversationFeed.Action]) {
        guard !isStopped, let subscription = conversations[id] else { return }
        perform(event(&subscription.feed), for: id, subscription: subscription)
    }

    /// Reads the log for the feed, with the counts of the users who have sockets in the conversation.
    private func readLog(of id: ConversationID, after position: Position, for subscription: Subscription) {
        metrics.repairs.increment()
        let interested = registries.filter { subscription.loops.contains($0.index) }
        let era = era
        EventLoopFuture.reduce(into: Set<UserID>(), interested.map { $0.users(in: id) }, on: loop) { $0.formUnion($1) }
            .flatMap { self.source.changes(of: id, after: position, users: $0.sorted(), on: self.loop) }
            .whenComplete { result in
                guard era == self.era else { return }
                let page = try? result.get()
                self.onFeed(of: id) { feed in page.map { feed.repaired($0) } ?? feed.repairFailed() }
            }
    }

    /// Reads the counts of users who received changes from the log, then closes the gap again. Callable from any
    /// thread.
    func countsMissing(in id: ConversationID) {
        loop.execute { self.onFeed(of: id) { [$0.countsMissing()] } }
    }

    /// Records a position known from another log. Changes that do not arrive soon are read. Callable from any thread.
    func expect(_ position: Position, of id: ConversationID, since time: Timestamp) {
        loop.execute { self.onFeed(of: id) { [$0.expected(position, since: time)] } }
    }

    // MARK: One user's own log

    func perform(_ actions: [UserFeed.Action], for key: UserKey, subscription: UserSubscription) {
        for action in actions {
            switch action {
            case .deliver(let change):
                subscription.loops.forEach { registries[$0].enqueue { $0.deliverUserChange(change, to: key) } }
            case .openGap(let time):
                subscription.loops.forEach { registries[$0].enqueue { $0.gapOpened(.user(key), since: time) } }
            case .closeGap: subscription.loops.forEach { registries[$0].enqueue { $0.gapClosed(.user(key)) } }
            case .read(let position): readUserLog(of: key, after: position)
            case .checkLater: loop.scheduleTask(in: timing.repairPause) { self.onFeed(of: key) { $0.repairIfBehind() } }
            }
        }
    }

    private func onFeed(of key: UserKey, _ event: (inout UserFeed) -> [UserFeed.Action]) {
        guard !isStopped, let subscription = users[key] else { return }
        perform(event(&subscription.feed), for: key, subscription: subscription)
    }

    private func readUserLog(of key: UserKey, after position: Position) {
        metrics.repairs.increment()
        let era = era
        source.userChanges(of: key, after: position, on: loop)
            .whenComplete { result in
                guard era == self.era else { return }
                let changes = try? result.get()
                self.onFeed(of: key) { feed in changes.map { feed.repaired($0) } ?? feed.repairFailed() }
            }
    }

    // MARK: Heads

    /// Schedules the next comparison of heads. It replaces the one that was scheduled.
    func scheduleHeads() {
        heads.timer?.cancel()
        guard !isStopped else { return }
        var pause = heads.reconciler.pause(at: loop.now, isPubSubAvailable: isPubSubAvailable, jitter: jitter())
        // An epoch change can only be detected once an epoch is known.
        if !heads.epochs.hasAnswer { pause = min(pause, timing.headsIntervalWhileAway) }
        if heads.isEpochCheckScheduled { pause = min(pause, timing.epochCheckDelay) }
        heads.timer = loop.scheduleTask(in: pause) { self.fetchHeads() }
    }

    /// Requests the heads of recently changed logs and repairs those whose changes did not arrive.
    func fetchHeads() {
        // Only one request runs at a time; the next one is scheduled when it ends.
        guard !isStopped, !heads.reconciler.isAsking else { return }
        heads.isEpochCheckScheduled = false
        guard !conversations.isEmpty || !users.isEmpty || !heads.epochs.hasAnswer else {
            heads.reconciler.lastSocketClosed()
            heads.epochs.lastSocketClosed()
            return scheduleHeads()
        }
        guard heads.reconciler.begin(at: loop.now) else { return }
        source.heads(since: heads.reconciler.since, on: loop)
            .whenComplete { result in
                if let answer = try? result.get() { self.answered(answer) } else { self.heads.reconciler.failed() }
                self.scheduleHeads()
            }
    }

    private func answered(_ answer: Heads) {
        switch heads.epochs.answered(answer.epoch, at: loop.now) {
        case .follow: compare(answer)
        case .ignore: heads.reconciler.failed()
        case .startAnew: beginEra()
        }
    }

    /// Discards all sequences after an epoch change, because positions now mean other changes. All clients reconnect
    /// and replay.
    private func beginEra() {
        logger.warning("database epoch changed, closing all sockets for a replay")
        metrics.epochChanges.increment()
        heads.reconciler.restart(at: loop.now)
        for subscription in conversations.values { subscription.feed = ConversationFeed() }
        for subscription in users.values { subscription.feed = UserFeed() }
        for registry in registries { registry.enqueue { [era] in $0.beginEra(era) } }
        // The known clock may belong to another database, or may have been set after these heads were read.
        useClock(nil)
        scheduleEpochCheck()
    }

    /// Requests heads soon, because there are signs of an epoch change. The delay exceeds the cache time of the
    /// services. Callable from any thread.
    package func scheduleEpochCheck() {
        loop.execute {
            guard !self.isStopped, !self.heads.isEpochCheckScheduled else { return }
            self.heads.isEpochCheckScheduled = true
            self.heads.timer?.cancel()
            self.heads.timer = self.loop.scheduleTask(in: self.timing.epochCheckDelay) { self.fetchHeads() }
        }
    }

    /// Checks the epoch that a socket received. A different epoch causes a comparison of heads. Callable from any
    /// thread.
    package func compareEpoch(_ epoch: String) {
        loop.execute { if self.heads.epochs.isForeign(epoch) { self.scheduleEpochCheck() } }
    }

    /// Compares the heads with the feeds. Schedules a check for each head that is ahead, and closes the sockets that
    /// the comparison cannot cover.
    private func compare(_ answer: Heads) {
        let finding = heads.reconciler.answered(asOf: answer.asOf, at: loop.now)
        if let time = finding.missedBefore { closeSockets(openedBefore: time) }
        if !answer.moved.isEmpty {
            let apps = Set(answer.moved)
            for registry in registries { registry.enqueue { $0.closeSockets(of: apps) } }
        }
        for (id, position) in answer.conversations {
            guard let subscription = conversations[id] else { continue }
            guard
                case .checkArrival(let position, let time, let wait)? = subscription.feed.headSeen(
                    position, since: finding.missingSince)
            else {
                continue
            }
            loop.scheduleTask(in: timing.amount(wait)) {
                self.onFeed(of: id) { feed in
                    let actions = feed.repairUnlessArrived(position, since: time)
                    if !actions.isEmpty { self.metrics.headsFound.increment() }
                    return actions
                }
            }
        }
        for added in answer.added {
            users[added.user]?.loops
                .forEach {
                    registries[$0].enqueue { $0.userAdded(added.user, to: added.conversation, at: added.position) }
                }
        }
        for (key, position) in answer.users {
            guard let subscription = users[key] else { continue }
            perform(
                subscription.feed.headSeen(position, since: finding.missingSince), for: key, subscription: subscription)
        }
        // Registries must open the gaps found above before they use the new clock.
        let (clock, era) = (DatabaseClock(asOf: answer.asOf, heardAt: loop.now), era)
        loop.scheduleTask(in: timing.amount(.repairPause)) { if era == self.era { self.useClock(clock) } }
    }

    /// Sets the clock for packets of all registries. nil: unknown.
    func useClock(_ clock: DatabaseClock?) {
        for registry in registries { registry.enqueue { $0.clock = clock } }
    }

    /// Closes all sockets opened before `time`. Heads could not be compared for longer than services remember, so only
    /// a replay can bring their missed changes.
    private func closeSockets(openedBefore time: NIODeadline) {
        logger.warning("comparison of heads overdue, closing older sockets for a replay")
        for registry in registries { registry.enqueue { $0.closeSockets(openedBefore: time) } }
    }
}
