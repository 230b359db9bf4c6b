// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
package import Logging
package import NIOCore
import Redis
package import StrataModel

/// Brings every published change, in order and once, to the event loops that have sockets for it.
///
/// A gateway has one instance for each database, confined to the event loop on which its Redis subscriber delivers. It
/// knows which loops need which conversation, user, or presence, and it puts the changes of each conversation in order.
/// It reads missing changes from the log after a gap, after a lost Redis connection, and by comparing heads regularly
/// (docs/architecture.md §6).
///
/// All state is accessed on `loop` only; methods that can be called from other threads say so. `@unchecked Sendable`
/// relies on this.
package final class FanOut: @unchecked Sendable {
    /// The state of a conversation while sockets of this gateway are in it.
    final class Subscription {
        let app: AppID
        var loops: LoopSet = []
        var feed = ConversationFeed()
        init(app: AppID) { self.app = app }
    }

    /// The state of a user while they have sockets on this gateway.
    final class UserSubscription {
        var loops: LoopSet = []
        var feed = UserFeed()
    }

    struct HeadsWatch {
        var reconciler: HeadReconciler
        var epochs = EpochWatch()
        var timer: Scheduled<Void>?
        /// True if heads are requested soon because of signs of an epoch change.
        var isEpochCheckScheduled = false
    }

    struct TypistWatch {
        var table = TypistTable()
        var timer: Scheduled<Void>?
    }

    struct Metrics {
        let publicationsReceived = Counter(label: "strata_gateway_publications_received_total")
        let malformed = Counter(label: "strata_gateway_publications_malformed_total")
        /// Publications of another epoch than the current one.
        let foreign = Counter(label: "strata_gateway_publications_foreign_total")
        let epochChanges = Counter(label: "strata_gateway_epoch_changes_total")
        let repairs = Counter(label: "strata_gateway_gap_repairs_total")
        let headsFound = Counter(label: "strata_gateway_changes_found_by_heads_total")
    }

    let loop: any EventLoop
    let source: any ChangeSource
    let logger: Logger
    /// Returns a random factor for the interval between comparisons of heads: 0.875 to 1.125. It keeps gateways from
    /// asking at the same time.
    let jitter: @Sendable () -> Double
    /// The registries, one for each event loop with sockets. Set once by ``start(registries:subscriptions:)``.
    private(set) var registries: [LoopRegistry] = []
    private var subscriptions: (any ChannelSubscriptions)?

    private(set) var conversations: [ConversationID: Subscription] = [:]
    private(set) var users: [UserKey: UserSubscription] = [:]
    private var presences: [UserKey: LoopSet] = [:]
    var typists = TypistWatch()
    var heads: HeadsWatch
    private(set) var isStopped = false
    let metrics = Metrics()

    var timing: FanOutTiming { heads.reconciler.timing }
    /// The number of epoch changes. Answers to requests from an earlier era are discarded.
    var era: Int { heads.epochs.era }

    package init(
        loop: any EventLoop, source: any ChangeSource, timing: FanOutTiming = FanOutTiming(), logger: Logger,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0.875...1.125) }
    ) {
        self.loop = loop
        self.source = source
        heads = HeadsWatch(reconciler: HeadReconciler(timing: timing))
        self.logger = logger
        self.jitter = jitter
    }

    /// Starts the fan-out. Call it once; no socket may open before the future has succeeded.
    package func start(registries: [LoopRegistry], subscriptions: any ChannelSubscriptions) -> EventLoopFuture<Void> {
        loop.submit {
            self.registries = registries
            self.subscriptions = subscriptions
            self.scheduleHeads()
        }
    }

    /// Stops the timers. Callable from any thread.
    package func stop() {
        loop.execute {
            self.isStopped = true
            self.heads.timer?.cancel()
            self.typists.timer?.cancel()
        }
    }

    // MARK: Interest of the registries (callable from any loop; calls of one caller stay in order)

    /// Subscribes the registry to these conversations.
    func retainConversations(_ conversations: [(id: ConversationID, app: AppID)], for registry: LoopRegistry) {
        loop.execute {
            var channels: [String] = []
            for (id, app) in conversations {
                let subscription = self.conversations[id] ?? Subscription(app: app)
                if subscription.loops.isEmpty {
                    self.conversations[id] = subscription
                    channels.append(Channels.conversation(id))
                }
                subscription.loops.insert(registry.index)
            }
            if !channels.isEmpty { self.subscriptions?.subscribe(channels) }
        }
    }

    /// Ends the registry's subscription to these conversations.
    func releaseConversations(_ conversations: [ConversationID], for registry: LoopRegistry) {
        loop.execute {
            var channels: [String] = []
            for id in conversations {
                guard let subscription = self.conversations[id] else { continue }
                subscription.loops.remove(registry.index)
                if subscription.loops.isEmpty {
                    self.conversations[id] = nil
                    self.typists.table.forget(id)
                    channels.append(Channels.conversation(id))
                }
            }
            if !channels.isEmpty { self.subscriptions?.unsubscribe(channels) }
        }
    }

    func retainUser(_ user: UserKey, for registry: LoopRegistry) {
        loop.execute {
            let isFirst = self.heads.reconciler.firstSocketOpened(at: self.loop.now)
            if isFirst { self.useClock(nil) }
            let subscription = self.users[user] ?? UserSubscription()
            if subscription.loops.isEmpty {
                self.users[user] = subscription
                self.subscriptions?.subscribe([Channels.user(app: user.app, user: user.user)])
            }
            subscription.loops.insert(registry.index)
            if isFirst { self.fetchHeads() }
        }
    }

    func releaseUser(_ user: UserKey, for registry: LoopRegistry) {
        loop.execute {
            guard let subscription = self.users[user] else { return }
            subscription.loops.remove(registry.index)
            guard subscription.loops.isEmpty else { return }
            self.users[user] = nil
            self.subscriptions?.unsubscribe([Channels.user(app: user.app, user: user.user)])
        }
    }

    /// Subscribes the registry to the presence of `users`.
    func retainPresence(of users: [UserKey], for registry: LoopRegistry) {
        loop.execute {
            var channels: [String] = []
            for user in users {
                if self.presences[user, default: []].isEmpty {
                    channels.append(Channels.presence(app: user.app, user: user.user))
                }
                self.presences[user, default: []].insert(registry.index)
            }
            if !channels.isEmpty { self.subscriptions?.subscribe(channels) }
        }
    }

    /// Ends the registry's subscription to the presence of `users`.
    func releasePresence(of users: [UserKey], for registry: LoopRegistry) {
        loop.execute {
            var channels: [String] = []
            for user in users {
                self.presences[user]?.remove(registry.index)
                guard self.presences[user]?.isEmpty == true else { continue }
                self.presences[user] = nil
                channels.append(Channels.presence(app: user.app, user: user.user))
            }
            if !channels.isEmpty { self.subscriptions?.unsubscribe(channels) }
        }
    }

    /// Waits until the subscriptions to these conversations and to `user` are confirmed, for at most 2 s. All
    /// publications after their confirmation are received.
    ///
    /// Returns at once while Redis is unavailable. Heads are then compared every second, so a change is missed for no
    /// longer than that.
    package func confirmation(of conversations: [ConversationID], user: UserKey) async {
        await confirmation(
            of: conversations.map { Channels.conversation($0) } + [Channels.user(app: user.app, user: user.user)])
    }

    /// Waits until the subscriptions to the presence of `users` are confirmed, for at most 2 s.
    package func confirmation(ofPresenceOf users: [UserKey]) async {
        await confirmation(of: users.map { Channels.presence(app: $0.app, user: $0.user) })
    }

    private func confirmation(of channels: [String]) async {
        // The hop to the loop ensures that earlier subscription commands have been sent.
        let subscriptions = try? await loop.submit { self.subscriptions }.get()
        guard let subscriptions, subscriptions.isAvailable else { return }
        try? await subscriptions.confirmation(of: channels, deadline: .now + .seconds(2))
    }

    // MARK: Sequences

    /// Starts the sequences of conversations that have none at the positions up to which a socket has read the logs.
    /// - Parameter era: the era in which the logs were read. The future fails if the epoch has changed since, because
    ///   the socket is then being closed.
    /// - Returns: for each conversation, the last position passed to the registries. A socket that has read less must
    ///   read on. All later changes reach the registries after the future has succeeded.
    package func startSequences(
        at positions: [(id: ConversationID, position: Position)], era: Int
    ) -> EventLoopFuture<[Position]> {
        loop.submit {
            guard era == self.era else { throw CancellationError() }
            return positions.map { id, position in
                guard let subscription = self.conversations[id] else { return position }
                self.perform(subscription.feed.readElsewhere(to: position), for: id, subscription: subscription)
                return subscription.feed.last ?? position
            }
        }
    }

    /// Starts the sequence of a user's own log, like ``startSequences(at:era:)`` does for conversations.
    package func startSequence(of user: UserKey, at position: Position, era: Int) -> EventLoopFuture<Position> {
        loop.submit {
            guard era == self.era else { throw CancellationError() }
            guard let subscription = self.users[user] else { return position }
            self.perform(subscription.feed.readElsewhere(to: position), for: user, subscription: subscription)
            return subscription.feed.last ?? position
        }
    }

    // MARK: Publications

    func changePublished(_ change: Change) {
        guard let subscription = conversations[change.conversationID] else { return }
        switch subscription.feed.changePublished(change) {
        case .deliver(let changes): dispatchChanges(changes, of: subscription)
        case .awaitPredecessor(let time):
            perform(
                [.openGap(since: time), .checkLater(.gapPatience)], for: change.conversationID,
                subscription: subscription)
        case .nothing: break
        }
    }

    func dispatchChanges(_ changes: [Change], of subscription: Subscription, isFromLog: Bool = false) {
        for change in changes {
            endTyping(ofSenderOf: change)
            let delivery = Delivery(change, isFromLog: isFromLog)
            subscription.loops.forEach { registries[$0].enqueue { $0.deliver(delivery) } }
        }
    }

    func userNoticePublished(_ notice: UserNotice) {
        let key = UserKey(app: notice.appID, user: notice.user)
        guard let subscription = users[key] else { return }
        switch notice.content {
        case .added(let id, let position):
            subscription.loops.forEach { registries[$0].enqueue { $0.userAdded(key, to: id, at: position) } }
        case .change(let change):
            perform(subscription.feed.changePublished(change), for: key, subscription: subscription)
        case .logged(let position, let time):
            perform(subscription.feed.headSeen(position, since: time), for: key, subscription: subscription)
        case .sessionEnded(let digest):
            subscription.loops.forEach { registries[$0].enqueue { $0.sessionEnded(key, tokenDigest: digest) } }
        }
    }

    func presencePublished(_ publication: PresencePublication) {
        let key = UserKey(app: publication.appID, user: publication.user)
        presences[key]?.forEach { registries[$0].enqueue { $0.presenceChanged(publication) } }
    }
}

extension FanOut: RedisSubscriberDelegate {
    package func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        metrics.publicationsReceived.increment()
        do {
            switch channel.getInteger(at: channel.readerIndex, as: UInt8.self) {
            case UInt8(ascii: "c"):
                let (publication, epoch) = try ConversationPublication.decode(message)
                switch publication {
                case .change(let change): if isOurs(epoch) { changePublished(change) }
                case .typing(let signal, let goodFor): typingPublished(signal, goodFor: goodFor)
                }
            case UInt8(ascii: "u"):
                let (notice, epoch) = try UserNotice.decode(message)
                // The end of a session is valid in every epoch.
                if case .sessionEnded = notice.content {
                    userNoticePublished(notice)
                } else if isOurs(epoch) {
                    userNoticePublished(notice)
                }
            case UInt8(ascii: "p"): presencePublished(try PresencePublication(decoding: message))
            default: metrics.malformed.increment()
            }
        } catch {
            metrics.malformed.increment()
            logger.warning("publication cannot be decoded", metadata: ["error.type": "\(type(of: error))"])
        }
    }

    /// Returns true if a publication belongs to the current epoch. Otherwise requests heads to check which epoch
    /// applies.
    private func isOurs(_ epoch: String) -> Bool {
        guard heads.epochs.isForeign(epoch) else { return true }
        metrics.foreign.increment()
        scheduleEpochCheck()
        return false
    }

    package func subscriber(didConfirm channel: String) {}

    package func subscriberDidLoseConnection() {
        onLoop {
            self.logger.warning("pub/sub unavailable, comparing heads every second")
            self.scheduleHeads()
        }
    }

    package func subscriberDidRecover() {
        onLoop {
            self.logger.info("pub/sub available again")
            self.heads.reconciler.pubSubRecovered(at: self.loop.now)
            self.fetchHeads()
        }
    }

    private func onLoop(_ body: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { body() } else { loop.execute(body) }
    }

    var isPubSubAvailable: Bool { subscriptions?.isAvailable ?? false }
}
