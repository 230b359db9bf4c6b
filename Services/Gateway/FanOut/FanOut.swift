// SPDX-License-Identifier: Apache-2.0

import Contracts
import CoreMetrics
import Logging
import Model
import NIOCore
import Redis

/// Brings every published change, in order and once, to the event loops that have sockets for it.
///
/// One instance a gateway, confined to one event loop: the one on which the Redis subscriber delivers. It knows which loops need which
/// conversation, user or presence, puts a conversation's changes in order, and has what is missing read from the log: after a
/// gap that does not close by itself, after a lost Redis connection, and by comparing heads from time to time (ARCHITECTURE §6).
///
/// All of its state is touched on `loop` only; methods that may be called from elsewhere say so. That is what makes
/// `@unchecked Sendable` true.
final class FanOut: @unchecked Sendable {
    /// What a conversation needs while somebody here is in it.
    final class Subscription {
        let app: AppID
        var hubs: HubSet = []
        var feed = ConversationFeed()
        init(app: AppID) { self.app = app }
    }

    /// What a user needs while he has sockets here.
    final class UserSubscription {
        var hubs: HubSet = []
        var feed = UserFeed()
    }

    let loop: any EventLoop
    let source: any ChangeSource
    let timing: FanOutTiming
    let logger: Logger
    /// One for each event loop that has sockets; set once, before anything else happens.
    private(set) var hubs: [Hub] = []
    private var subscriptions: (any ChannelSubscriptions)?

    var conversations: [ConversationID: Subscription] = [:]
    var users: [UserKey: UserSubscription] = [:]
    var presences: [UserKey: HubSet] = [:]
    var typists = TypistTable()
    var typistTimer: Scheduled<Void>?
    var headsWatch: HeadsWatch
    var headsTimer: Scheduled<Void>?
    var epochs = EpochWatch()
    /// How often the sequences have started anew. What was asked or read for those of before says nothing of those of now.
    var era = 0
    /// Heads are asked for soon, since something speaks for another history of the database.
    var isDoubting = false
    var isStopped = false

    let received = Counter(label: "strata_gateway_publications_received_total")
    let malformed = Counter(label: "strata_gateway_publications_malformed_total")
    /// Of another history of the database than the one that is followed.
    let foreign = Counter(label: "strata_gateway_publications_foreign_total")
    let startsAnew = Counter(label: "strata_gateway_epoch_changes_total")
    let repairs = Counter(label: "strata_gateway_gap_repairs_total")
    let headsFound = Counter(label: "strata_gateway_changes_found_by_heads_total")

    init(loop: any EventLoop, source: any ChangeSource, timing: FanOutTiming = FanOutTiming(), logger: Logger) {
        self.loop = loop
        self.source = source
        self.timing = timing
        headsWatch = HeadsWatch(timing: timing)
        self.logger = logger
    }

    /// Call once, before any socket opens.
    func start(hubs: [Hub], subscriptions: any ChannelSubscriptions) async throws {
        try await loop.submit {
            self.hubs = hubs
            self.subscriptions = subscriptions
            self.scheduleHeads()
        }
        .get()
    }

    /// Stops the timers. Callable from anywhere.
    func stop() {
        loop.execute {
            self.isStopped = true
            self.headsTimer?.cancel()
            self.typistTimer?.cancel()
        }
    }

    // MARK: Interest, told by the hubs; callable from any loop, in order for one caller

    /// The hub needs these conversations from now on.
    func retain(_ conversations: [(id: ConversationID, app: AppID)], for hub: Hub) {
        loop.execute {
            var channels: [String] = []
            for (id, app) in conversations {
                let subscription = self.conversations[id] ?? Subscription(app: app)
                if subscription.hubs.isEmpty {
                    self.conversations[id] = subscription
                    channels.append(Channels.conversation(id))
                }
                subscription.hubs.insert(hub.index)
            }
            if !channels.isEmpty { self.subscriptions?.subscribe(channels) }
        }
    }

    /// The hub needs these conversations no more.
    func release(_ conversations: [ConversationID], for hub: Hub) {
        loop.execute {
            var channels: [String] = []
            for id in conversations {
                guard let subscription = self.conversations[id] else { continue }
                subscription.hubs.remove(hub.index)
                if subscription.hubs.isEmpty {
                    self.conversations[id] = nil
                    self.typists.forget(id)
                    channels.append(Channels.conversation(id))
                }
            }
            if !channels.isEmpty { self.subscriptions?.unsubscribe(channels) }
        }
    }

    /// The hub has sockets of this user.
    func retain(_ user: UserKey, for hub: Hub) {
        loop.execute {
            if let limit = self.headsWatch.woke(at: self.loop.now, wallClock: .now()) { self.limitStamps(to: limit) }
            let subscription = self.users[user] ?? UserSubscription()
            if subscription.hubs.isEmpty {
                self.users[user] = subscription
                self.subscriptions?.subscribe([Channels.user(user.app, user.user)])
            }
            subscription.hubs.insert(hub.index)
        }
    }

    /// The hub has no more sockets of this user.
    func release(_ user: UserKey, for hub: Hub) {
        loop.execute {
            guard let subscription = self.users[user] else { return }
            subscription.hubs.remove(hub.index)
            guard subscription.hubs.isEmpty else { return }
            self.users[user] = nil
            self.subscriptions?.unsubscribe([Channels.user(user.app, user.user)])
        }
    }

    /// The hub has sockets that want to hear of the presence of `users`.
    func retainPresence(of users: [UserKey], for hub: Hub) {
        loop.execute {
            var channels: [String] = []
            for user in users {
                if self.presences[user, default: []].isEmpty { channels.append(Channels.presence(user.app, user.user)) }
                self.presences[user, default: []].insert(hub.index)
            }
            if !channels.isEmpty { self.subscriptions?.subscribe(channels) }
        }
    }

    /// The hub has no socket left that wants to hear of `users`.
    func releasePresence(of users: [UserKey], for hub: Hub) {
        loop.execute {
            var channels: [String] = []
            for user in users {
                self.presences[user]?.remove(hub.index)
                guard self.presences[user]?.isEmpty == true else { continue }
                self.presences[user] = nil
                channels.append(Channels.presence(user.app, user.user))
            }
            if !channels.isEmpty { self.subscriptions?.unsubscribe(channels) }
        }
    }

    /// Waits until everything published from now on to these conversations, and to `user`, will be heard.
    ///
    /// While Redis is away it returns at once: then heads are compared every second, and nothing is hidden for longer than that.
    func confirmation(of conversations: [ConversationID], user: UserKey) async {
        await confirmation(of: conversations.map { Channels.conversation($0) } + [Channels.user(user.app, user.user)])
    }

    /// Waits until what becomes of the presence of `users` from now on will be heard; not for long.
    func confirmation(ofPresenceOf users: [UserKey]) async {
        await confirmation(of: users.map { Channels.presence($0.app, $0.user) })
    }

    private func confirmation(of channels: [String]) async {
        // A hop to the loop, so that the subscription commands asked for before are on their way.
        let subscriptions = try? await loop.submit { self.subscriptions }.get()
        guard let subscriptions, subscriptions.isAvailable else { return }
        try? await subscriptions.confirmation(of: channels, deadline: .now + .seconds(2))
    }

    // MARK: Baselines

    /// Tells where the sequences start for somebody who read the logs up to these positions, and asks how far the fan-out is.
    /// - Returns: for each, the last position handed on to the hubs. Whoever read less far than that must read again. Hubs hear of
    ///   everything later after this has returned.
    ///
    /// - Parameter era: in which the logs were read. A reading of before the sequences started anew fails: its socket is being sent away.
    func baseline(_ positions: [(id: ConversationID, position: Position)], era: Int) -> EventLoopFuture<[Position]> {
        loop.submit {
            guard era == self.era else { throw CancellationError() }
            return positions.map { id, position in
                guard let subscription = self.conversations[id] else { return position }
                self.perform(subscription.feed.readElsewhere(to: position), id, subscription)
                return subscription.feed.last ?? position
            }
        }
    }

    /// The same for a user's own log.
    func baseline(_ user: UserKey, _ position: Position, era: Int) -> EventLoopFuture<Position> {
        loop.submit {
            guard era == self.era else { throw CancellationError() }
            guard let subscription = self.users[user] else { return position }
            self.perform(subscription.feed.readElsewhere(to: position), user, subscription)
            return subscription.feed.last ?? position
        }
    }

    // MARK: What arrives

    /// A change, from pub/sub or from the log.
    func received(_ change: Change) {
        guard let subscription = conversations[change.conversationID] else { return }
        switch subscription.feed.received(change) {
        case .deliver(let changes): dispatch(changes, of: subscription)
        case .awaitPredecessor(let time): perform([.openGap(since: time), .lookAgain(.gapPatience)], change.conversationID, subscription)
        case .nothing: break
        }
    }

    func dispatch(_ changes: [Change], of subscription: Subscription, isFromLog: Bool = false) {
        for change in changes {
            let delivery = Delivery(change, isFromLog: isFromLog)
            subscription.hubs.forEach { hubs[$0].enqueue { $0.deliver(delivery) } }
        }
    }

    func received(_ notice: UserNotice) {
        let key = UserKey(app: notice.appID, user: notice.user)
        guard let subscription = users[key] else { return }
        switch notice.content {
        case .added(let id, let position):
            subscription.hubs.forEach { hubs[$0].enqueue { $0.userAdded(key, to: id, at: position) } }
        case .change(let change): perform(subscription.feed.received(change), key, subscription)
        case .sessionEnded(let digest):
            subscription.hubs.forEach { hubs[$0].enqueue { $0.sessionEnded(key, tokenDigest: digest) } }
        }
    }

    func received(_ publication: PresencePublication) {
        let key = UserKey(app: publication.appID, user: publication.user)
        presences[key]?.forEach { hubs[$0].enqueue { $0.presenceChanged(publication) } }
    }
}

extension FanOut: RedisSubscriberDelegate {
    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        received.increment()
        do {
            switch channel.getInteger(at: channel.readerIndex, as: UInt8.self) {
            case UInt8(ascii: "c"):
                let (publication, epoch) = try ConversationPublication.decode(message)
                switch publication {
                case .change(let change): if isOurs(epoch) { received(change) }
                case .typing(let signal, let goodFor): received(signal, goodFor: goodFor)
                }
            case UInt8(ascii: "u"):
                let (notice, epoch) = try UserNotice.decode(message)
                // That a session has ended is true of every history.
                if case .sessionEnded = notice.content { received(notice) } else if isOurs(epoch) { received(notice) }
            case UInt8(ascii: "p"): received(try PresencePublication(decoding: message))
            default: malformed.increment()
            }
        } catch {
            malformed.increment()
            logger.warning("a publication could not be decoded", metadata: ["error.type": "\(type(of: error))"])
        }
    }

    /// Whether a publication may be handed on. One of another history is not, and makes it a question which one counts.
    private func isOurs(_ epoch: String) -> Bool {
        guard epochs.isForeign(epoch) else { return true }
        foreign.increment()
        doubt()
        return false
    }

    func subscriber(didConfirm channel: String) {}

    func subscriberDidLoseConnection() {
        onLoop {
            self.logger.warning("pub/sub is away; heads are compared every second")
            self.scheduleHeads()
        }
    }

    func subscriberDidRecover() {
        onLoop {
            self.logger.info("pub/sub is back")
            self.headsWatch.recovered(at: self.loop.now)
            self.fetchHeads()
        }
    }

    private func onLoop(_ body: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { body() } else { loop.execute(body) }
    }

    var isPubSubAvailable: Bool { subscriptions?.isAvailable ?? false }
}
