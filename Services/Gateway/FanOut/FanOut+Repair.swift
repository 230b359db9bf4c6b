// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import Model
import NIOCore

/// Doing what the feeds decide: reading from the log what pub/sub did not bring.
extension FanOut {
    // MARK: One conversation

    func perform(_ actions: [ConversationFeed.Action], _ id: ConversationID, _ subscription: Subscription) {
        for action in actions {
            switch action {
            case .deliver(let changes): dispatch(changes, of: subscription)
            case .deliverFromLog(let changes, let numbers):
                dispatch(changes, of: subscription, isFromLog: true)
                subscription.hubs.forEach { hubs[$0].enqueue { $0.numbersRead(numbers, of: id) } }
            // Sockets in this conversation must not be given a later time than this until the gap is closed: a client that loses its connection
            // meanwhile replays from the time of its last packet.
            case .openGap(let time): subscription.hubs.forEach { hubs[$0].enqueue { $0.gapOpened(.conversation(id), since: time) } }
            case .closeGap(let numbers): subscription.hubs.forEach { hubs[$0].enqueue { $0.gapClosed(id, numbers: numbers) } }
            case .read(let position): read(id, after: position, subscription)
            case .lookAgain(let wait):
                loop.scheduleTask(in: timing.amount(wait)) { self.onFeed(of: id) { $0.lookAgain() } }
            case .look(let position, let time, let wait):
                loop.scheduleTask(in: timing.amount(wait)) { self.onFeed(of: id) { $0.looked(for: position, since: time) } }
            }
        }
    }

    /// Tells the feed something, and does what it says; nothing if the conversation is not needed any more.
    private func onFeed(of id: ConversationID, _ event: (inout ConversationFeed) -> [ConversationFeed.Action]) {
        guard !isStopped, let subscription = conversations[id] else { return }
        perform(event(&subscription.feed), id, subscription)
    }

    private func read(_ id: ConversationID, after position: Position, _ subscription: Subscription) {
        repairs.increment()
        let interested = hubs.filter { subscription.hubs.contains($0.index) }
        let era = era
        Task {
            var users: Set<UserID> = []
            for hub in interested { users.formUnion(await hub.users(in: id)) }
            let page = try? await source.changes(of: id, after: position, users: Array(users))
            loop.execute {
                guard era == self.era else { return }
                self.onFeed(of: id) { feed in page.map { feed.repaired($0) } ?? feed.repairFailed() }
            }
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

    func perform(_ actions: [UserFeed.Action], _ key: UserKey, _ subscription: UserSubscription) {
        for action in actions {
            switch action {
            case .deliver(let change): subscription.hubs.forEach { hubs[$0].enqueue { $0.deliver(change, to: key) } }
            case .openGap(let time): subscription.hubs.forEach { hubs[$0].enqueue { $0.gapOpened(.user(key), since: time) } }
            case .closeGap: subscription.hubs.forEach { hubs[$0].enqueue { $0.gapClosed(.user(key)) } }
            case .read(let position): read(key, after: position)
            case .lookAgain: loop.scheduleTask(in: timing.repairPause) { self.onFeed(of: key) { $0.lookAgain() } }
            }
        }
    }

    private func onFeed(of key: UserKey, _ event: (inout UserFeed) -> [UserFeed.Action]) {
        guard !isStopped, let subscription = users[key] else { return }
        perform(event(&subscription.feed), key, subscription)
    }

    private func read(_ key: UserKey, after position: Position) {
        repairs.increment()
        let era = era
        Task {
            let changes = try? await source.userChanges(of: key, after: position)
            loop.execute {
                guard era == self.era else { return }
                self.onFeed(of: key) { feed in changes.map { feed.repaired($0) } ?? feed.repairFailed() }
            }
        }
    }

    // MARK: Heads

    /// Plans the next comparison of heads.
    func scheduleHeads() {
        headsTimer?.cancel()
        guard !isStopped else { return }
        var pause = headsWatch.pause(at: loop.now, isPubSubAvailable: isPubSubAvailable, jitter: .random(in: 0.875...1.125))
        // Another history shows only where one is known.
        if !epochs.hasAnswer { pause = min(pause, timing.headsIntervalWhileAway) }
        if isDoubting { pause = min(pause, timing.doubt) }
        headsTimer = loop.scheduleTask(in: pause) { self.fetchHeads() }
    }

    /// Asks what moved lately, and has everything repaired that did not come by itself.
    func fetchHeads() {
        // What arises while heads are being asked for is not answered by them: the question stays until they are asked for again.
        guard !isStopped, !headsWatch.isAsking else { return }
        isDoubting = false
        guard !conversations.isEmpty || !users.isEmpty || !epochs.hasAnswer else {
            headsWatch.slept()
            epochs.slept()
            return scheduleHeads()
        }
        guard headsWatch.begin(at: loop.now) else { return }
        let since = headsWatch.since
        Task {
            let heads = try? await source.heads(since: since)
            loop.execute {
                if let heads { self.answered(heads) } else { self.headsWatch.failed() }
                self.scheduleHeads()
            }
        }
    }

    private func answered(_ heads: Heads) {
        switch epochs.answered(heads.epoch, at: loop.now) {
        case .follow: compare(heads)
        case .ignore: headsWatch.failed()
        case .startAnew: startAnew()
        }
    }

    /// The database was put back: positions mean other changes from now on. Nothing that was known of any sequence holds, and every client comes back.
    private func startAnew() {
        logger.warning("the database is another one than before: all sockets are sent away to come back and replay")
        startsAnew.increment()
        era += 1
        headsWatch.startedAnew(at: loop.now)
        for subscription in conversations.values { subscription.feed = ConversationFeed() }
        for subscription in users.values { subscription.feed = UserFeed() }
        for hub in hubs { hub.enqueue { [era] in $0.startAnew(era: era) } }
        doubt()
    }

    /// Something speaks for another history of the database: asks for heads as soon as a service reads them anew. Callable from anywhere.
    func doubt() {
        loop.execute {
            guard !self.isStopped, !self.isDoubting else { return }
            self.isDoubting = true
            self.headsTimer?.cancel()
            self.headsTimer = self.loop.scheduleTask(in: self.timing.doubt) { self.fetchHeads() }
        }
    }

    private func compare(_ heads: Heads) {
        let finding = headsWatch.answered(asOf: heads.asOf, at: loop.now)
        if let time = finding.missedBefore { sendAway(openedBefore: time) }
        for (id, position) in heads.conversations {
            guard let subscription = conversations[id] else { continue }
            guard case .look(let position, let time, let wait)? = subscription.feed.headSeen(position, since: finding.missingSince) else { continue }
            loop.scheduleTask(in: timing.amount(wait)) {
                self.onFeed(of: id) { feed in
                    let actions = feed.looked(for: position, since: time)
                    if !actions.isEmpty { self.headsFound.increment() }
                    return actions
                }
            }
        }
        for added in heads.added {
            users[added.user]?.hubs.forEach { hubs[$0].enqueue { $0.userAdded(added.user, to: added.conversation, at: added.position) } }
        }
        for (key, position) in heads.users {
            guard let subscription = users[key] else { continue }
            perform(subscription.feed.headSeen(position, since: finding.missingSince), key, subscription)
        }
        // Behind the gaps that were found.
        loop.scheduleTask(in: timing.amount(.repairPause)) { self.limitStamps(to: finding.stampLimit) }
    }

    func limitStamps(to limit: Timestamp) {
        for hub in hubs { hub.enqueue { $0.stampLimit = limit } }
    }

    /// The service was out of reach for longer than it can tell of: what was missed since, only the clients' replays will bring.
    private func sendAway(openedBefore time: NIODeadline) {
        logger.warning("heads could not be compared for too long: sockets from before are sent away to come back and replay")
        for hub in hubs { hub.enqueue { $0.sendAway(openedBefore: time) } }
    }
}
