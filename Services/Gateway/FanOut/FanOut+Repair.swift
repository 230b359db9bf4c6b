// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import NIOCore
import StrataModel

/// Doing what the feeds decide: reading from the log what pub/sub did not bring.
extension FanOut {
    // MARK: One conversation

    func perform(_ actions: [ConversationFeed.Action], for id: ConversationID, subscription: Subscription) {
        for action in actions {
            switch action {
            case .deliver(let changes): dispatchChanges(changes, of: subscription)
            case .deliverFromLog(let changes, let numbers):
                dispatchChanges(changes, of: subscription, isFromLog: true)
                subscription.loops.forEach { registries[$0].enqueue { $0.numbersRead(numbers, of: id) } }
            // Sockets in this conversation must not be given a later time than this until the gap is closed: a client that loses its connection
            // meanwhile replays from the time of its last packet.
            case .openGap(let time): subscription.loops.forEach { registries[$0].enqueue { $0.gapOpened(.conversation(id), since: time) } }
            case .closeGap(let numbers): subscription.loops.forEach { registries[$0].enqueue { $0.gapClosed(id, numbers: numbers) } }
            case .read(let position): readLog(of: id, after: position, for: subscription)
            case .checkLater(let wait):
                loop.scheduleTask(in: timing.amount(wait)) { self.onFeed(of: id) { $0.repairIfBehind() } }
            case .checkArrival(let position, let time, let wait):
                loop.scheduleTask(in: timing.amount(wait)) { self.onFeed(of: id) { $0.repairUnlessArrived(position, since: time) } }
            }
        }
    }

    /// Tells the feed something, and does what it says; nothing if the conversation is not needed any more.
    private func onFeed(of id: ConversationID, _ event: (inout ConversationFeed) -> [ConversationFeed.Action]) {
        guard !isStopped, let subscription = conversations[id] else { return }
        perform(event(&subscription.feed), for: id, subscription: subscription)
    }

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

    /// The numbers of a user who was handed changes of the log are to be read; then the gap closes once more. Callable from anywhere.
    func numbersMissing(in id: ConversationID) {
        loop.execute { self.onFeed(of: id) { [$0.numbersMissing()] } }
    }

    /// The conversation has come as far as `position`, as another log tells. What has not arrived by itself soon is read. Callable from anywhere.
    func expect(_ position: Position, of id: ConversationID, since time: Timestamp) {
        loop.execute { self.onFeed(of: id) { [$0.expected(position, since: time)] } }
    }

    // MARK: One user's own log

    func perform(_ actions: [UserFeed.Action], for key: UserKey, subscription: UserSubscription) {
        for action in actions {
            switch action {
            case .deliver(let change): subscription.loops.forEach { registries[$0].enqueue { $0.deliverUserChange(change, to: key) } }
            case .openGap(let time): subscription.loops.forEach { registries[$0].enqueue { $0.gapOpened(.user(key), since: time) } }
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

    /// Plans the next comparison of heads.
    func scheduleHeads() {
        heads.timer?.cancel()
        guard !isStopped else { return }
        var pause = heads.reconciler.pause(at: loop.now, isPubSubAvailable: isPubSubAvailable, jitter: jitter())
        // Another history shows only where one is known.
        if !heads.epochs.hasAnswer { pause = min(pause, timing.headsIntervalWhileAway) }
        if heads.isDoubting { pause = min(pause, timing.doubt) }
        heads.timer = loop.scheduleTask(in: pause) { self.fetchHeads() }
    }

    /// Asks what moved lately, and has everything repaired that did not come by itself.
    func fetchHeads() {
        // A request that is made while one runs is kept until the next one.
        guard !isStopped, !heads.reconciler.isAsking else { return }
        heads.isDoubting = false
        guard !conversations.isEmpty || !users.isEmpty || !heads.epochs.hasAnswer else {
            heads.reconciler.slept()
            heads.epochs.slept()
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
        case .startAnew: startAnew()
        }
    }

    /// The database was put back: positions mean other changes from now on. Nothing that was known of any sequence holds, and every client comes back.
    private func startAnew() {
        logger.warning("the database is another one than before: all sockets are sent away to come back and replay")
        metrics.startsAnew.increment()
        heads.reconciler.startedAnew(at: loop.now)
        for subscription in conversations.values { subscription.feed = ConversationFeed() }
        for subscription in users.values { subscription.feed = UserFeed() }
        for registry in registries { registry.enqueue { [era] in $0.startAnew(era: era) } }
        // Whatever clock was known, it may be another one, or have been set, perhaps after these heads were read.
        useClock(nil)
        doubt()
    }

    /// Something speaks for another history of the database: asks for heads as soon as a service reads them anew. Callable from anywhere.
    package func doubt() {
        loop.execute {
            guard !self.isStopped, !self.heads.isDoubting else { return }
            self.heads.isDoubting = true
            self.heads.timer?.cancel()
            self.heads.timer = self.loop.scheduleTask(in: self.timing.doubt) { self.fetchHeads() }
        }
    }

    /// A socket was told this epoch. If another one is followed here, it is a question which counts. Callable from anywhere.
    package func compareEpoch(_ epoch: String) {
        loop.execute { if self.heads.epochs.isForeign(epoch) { self.doubt() } }
    }

    private func compare(_ answer: Heads) {
        let finding = heads.reconciler.answered(asOf: answer.asOf, at: loop.now)
        if let time = finding.missedBefore { sendAway(openedBefore: time) }
        for (id, position) in answer.conversations {
            guard let subscription = conversations[id] else { continue }
            guard case .checkArrival(let position, let time, let wait)? = subscription.feed.headSeen(position, since: finding.missingSince) else {
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
            users[added.user]?.loops.forEach { registries[$0].enqueue { $0.userAdded(added.user, to: added.conversation, at: added.position) } }
        }
        for (key, position) in answer.users {
            guard let subscription = users[key] else { continue }
            perform(subscription.feed.headSeen(position, since: finding.missingSince), for: key, subscription: subscription)
        }
        // Behind the gaps that were found.
        let (clock, era) = (DatabaseClock(asOf: answer.asOf, heardAt: loop.now), era)
        loop.scheduleTask(in: timing.amount(.repairPause)) { if era == self.era { self.useClock(clock) } }
    }

    /// Packets carry times of this clock from now on; nil: what it shows is not known.
    func useClock(_ clock: DatabaseClock?) {
        for registry in registries { registry.enqueue { $0.clock = clock } }
    }

    /// The service was out of reach for longer than it can tell of: what was missed since, only the clients' replays will bring.
    private func sendAway(openedBefore time: NIODeadline) {
        logger.warning("heads could not be compared for too long: sockets from before are sent away to come back and replay")
        for registry in registries { registry.enqueue { $0.sendAway(openedBefore: time) } }
    }
}
