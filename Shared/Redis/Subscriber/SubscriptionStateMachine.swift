// SPDX-License-Identifier: Apache-2.0

/// The state machine of subscriptions: the desired channels, and their state on the servers.
///
/// The desired state survives connections. Every channel that is desired and not confirmed is subscribed again. At most
/// one command per channel is pending. If the desired state changes meanwhile, the next command waits for the response.
/// A channel needs a dictionary slot of 20 bytes besides its name, usually 27 to 54 bytes with the dictionary's load
/// factor.
struct SubscriptionStateMachine {
    /// An index into ``links``. It needs two bytes in each channel.
    typealias Link = UInt16

    enum Routing: Equatable {
        case unknown
        case standalone
        case cluster(SlotMap)
    }

    enum Action: Equatable {
        /// Notify the delegate.
        case didConfirm(String)
        case didLoseConnection
        case didRecover
        /// Open a connection.
        case open(Link)
        /// Close the connection, because the server violated the protocol.
        case drop(Link)
        case waiterSatisfied(ConfirmationWaiters.ID)
        case waiterFailed(ConfirmationWaiters.ID)
        /// Update one slot of the map.
        case moved(slot: UInt16, RedisEndpoint)
        case refreshTopology
        /// Call `retry()` after a delay.
        case retryLater(RedisServerError)
    }

    enum State: UInt8 {
        /// Desired, but not sent.
        case wanted
        /// Desired and sent.
        case subscribing
        case confirmed
        /// Confirmed, but no longer desired.
        case unwanted
        case unsubscribing
        /// Sent, but no longer desired.
        case subscribingUnwanted
        /// Desired again while the unsubscription is pending.
        case unsubscribingWanted

        var isDesired: Bool {
            switch self {
            case .wanted, .subscribing, .confirmed, .unsubscribingWanted: true
            case .unwanted, .unsubscribing, .subscribingUnwanted: false
            }
        }
    }

    struct Channel {
        var state: State
        /// True if the channel must be confirmed before the subscriber has recovered from a loss.
        var isRecovering: Bool
        /// The link on which the command was sent; meaningless in the state `wanted`.
        var link: Link
    }

    struct LinkState {
        /// The server; nil for the single link to a standalone server.
        let endpoint: RedisEndpoint?
        var isOpen = false
        var outstanding = OutstandingCommands()
    }

    var channels: [String: Channel] = [:]
    var links: [LinkState] = []
    var linkIndex: [RedisEndpoint?: Link] = [:]
    /// The channels whose state may require a command.
    var dirty: [String] = []
    /// Subscriptions on servers that no longer own the channel. They must be ended there.
    var abandoned: [(Link, String)] = []
    var waiters = ConfirmationWaiters()
    var recovering = 0
    private(set) var routing = Routing.unknown
    /// True if messages may have been missed and the subscriber has not recovered yet.
    private(set) var isLost = false

    /// The number of refusals since the last confirmation. During a failover, two servers may redirect to each other.
    /// Beyond a limit, the machine waits between attempts.
    private var moves = 0
    private static let maximumMoves = 64

    var hasOpenLink: Bool { links.contains(where: \.isOpen) }

    // MARK: Desired channels

    mutating func subscribe(_ names: [String]) -> [Action] {
        var actions: [Action] = []
        for name in names {
            switch channels[name]?.state {
            case nil:
                let isRecovering = isLost && !isRouteOpen(name)
                channels[name] = Channel(state: .wanted, isRecovering: isRecovering, link: 0)
                if isRecovering { recovering += 1 }
                dirty.append(name)
            case .wanted, .subscribing, .confirmed, .unsubscribingWanted: break
            case .unwanted:
                channels[name]?.state = .confirmed
                actions.append(.didConfirm(name))
            case .unsubscribing: channels[name]?.state = .unsubscribingWanted
            case .subscribingUnwanted: channels[name]?.state = .subscribing
            }
        }
        return actions
    }

    mutating func unsubscribe(_ names: [String]) -> [Action] {
        var actions: [Action] = []
        for name in names {
            guard let channel = channels[name], channel.state.isDesired else { continue }
            settleRecovery(of: name)
            actions += waiters.abandoned(name).map(Action.waiterFailed)
            switch channel.state {
            case .wanted: channels[name] = nil
            case .subscribing: channels[name]?.state = .subscribingUnwanted
            case .confirmed:
                channels[name]?.state = .unwanted
                dirty.append(name)
            case .unsubscribingWanted: channels[name]?.state = .unsubscribing
            case .unwanted, .unsubscribing, .subscribingUnwanted: break
            }
        }
        recoverIfComplete(&actions)
        return actions
    }

    /// Adds a wait until all channels are confirmed. The outcome is an action, now or later. It fails if a channel is
    /// not desired.
    mutating func wait(_ id: ConfirmationWaiters.ID, for names: [String]) -> [Action] {
        let distinct = Array(Set(names))
        guard distinct.allSatisfy({ channels[$0]?.state.isDesired == true }) else { return [.waiterFailed(id)] }
        let missing = distinct.count { channels[$0]?.state != .confirmed }
        guard missing > 0 else { return [.waiterSatisfied(id)] }
        waiters.add(id, channels: distinct, missing: missing)
        return []
    }

    mutating func stopWaiting(_ id: ConfirmationWaiters.ID) { waiters.remove(id) }

    // MARK: Responses

    mutating func subscribed(_ name: String, on link: Link) -> [Action] {
        guard links[Int(link)].outstanding.subscribed(name) else { return [.drop(link)] }
        moves = 0
        guard let channel = channels[name], channel.link == link else { return [] }
        switch channel.state {
        case .subscribing: return confirm(name)
        case .subscribingUnwanted:
            channels[name]?.state = .unwanted
            dirty.append(name)
            return []
        case .wanted, .confirmed, .unwanted, .unsubscribing, .unsubscribingWanted: return []
        }
    }

    mutating func unsubscribed(_ name: String, on link: Link) -> [Action] {
        let isAnswer = links[Int(link)].outstanding.isUnsubscribing(name)
        guard let channel = channels[name], channel.link == link else { return [] }
        switch (channel.state, isAnswer) {
        case (.unsubscribing, true), (.unwanted, false): channels[name] = nil
        case (.unsubscribingWanted, true):
            channels[name]?.state = .wanted
            dirty.append(name)
        case (.confirmed, _):
            // The slot has left this server. Messages may already be published elsewhere.
            var actions: [Action] = []
            markLost(name, addingTo: &actions)
            return actions + [.refreshTopology]
        case (.unsubscribing, false), (.unsubscribingWanted, false), (.unwanted, true): break
        case (.wanted, _), (.subscribing, _), (.subscribingUnwanted, _): break
        }
        return []
    }

    mutating func pong(on link: Link) -> [Action] {
        switch links[Int(link)].outstanding.pong() {
        case .ping: break
        case .unsubscribe(let names): unsubscriptionEnded(names, on: link)
        case nil, .subscribe: return [.drop(link)]
        }
        return []
    }

    /// Handles an error, which answers the oldest command as a whole.
    mutating func refused(_ error: RedisServerError, on link: Link) -> [Action] {
        switch links[Int(link)].outstanding.refused() {
        case nil: return [.drop(link)]
        case .ping: return []
        case .unsubscribe(let names):
            // The server no longer owns these channels, so no subscription is left to end.
            unsubscriptionEnded(names, on: link)
            return []
        case .subscribe(let names): return subscriptionRefused(names, with: error, on: link)
        }
    }

    private mutating func unsubscriptionEnded(_ names: [String], on link: Link) {
        for name in names {
            guard let channel = channels[name], channel.link == link else { continue }
            switch channel.state {
            case .unsubscribing, .unsubscribingWanted: resetSubscription(name)
            case .wanted, .subscribing, .confirmed, .unwanted, .subscribingUnwanted: break
            }
        }
    }

    private mutating func subscriptionRefused(
        _ names: [String], with error: RedisServerError, on link: Link
    ) -> [Action] {
        let redirect = links[Int(link)].endpoint.flatMap { Redirect(error, asked: $0) }
        moves += 1
        let followsMoves = moves <= Self.maximumMoves
        for name in names where channels[name]?.link == link {
            switch channels[name]?.state {
            case .subscribing:
                channels[name]?.state = .wanted
                if followsMoves, case .moved = redirect { dirty.append(name) }
            case .subscribingUnwanted: channels[name] = nil
            case nil, .wanted, .confirmed, .unwanted, .unsubscribing, .unsubscribingWanted: break
            }
        }
        switch redirect {
        case .moved(let slot, let endpoint):
            return [.moved(slot: slot, endpoint)] + (followsMoves ? [] : [.retryLater(error)])
        // During a slot migration, a server keeps serving its channels. ASK is therefore a transient error like any
        // other.
        case .ask, .tryAgain, .scriptUnknown, nil: return [.refreshTopology, .retryLater(error)]
        }
    }

    // MARK: Servers

    mutating func setRouting(_ routing: Routing) -> [Action] {
        self.routing = routing
        var actions: [Action] = []
        if case .standalone = routing, let link = link(to: nil) { actions.append(.open(link)) }
        for (name, channel) in channels {
            switch channel.state {
            case .wanted: dirty.append(name)
            case .confirmed:
                guard let link = route(name), link != channel.link else { continue }
                // The server lost the slot without reporting it. If it still runs, unsubscribe there.
                markLost(name, addingTo: &actions)
                if links[Int(channel.link)].isOpen { abandoned.append((channel.link, name)) }
            case .subscribing, .unwanted, .unsubscribing, .subscribingUnwanted, .unsubscribingWanted: break
            }
        }
        recoverIfComplete(&actions)
        return actions
    }

    /// Updates one moved slot before the whole map arrives. Confirmed channels are moved only with the whole map.
    mutating func slotMoved(_ slot: UInt16, to endpoint: RedisEndpoint) {
        guard case .cluster(var map) = routing else { return }
        routing = .unknown  // Releases the reference, so that the map is not copied.
        map.assign(slot, to: endpoint)
        routing = .cluster(map)
    }

    mutating func linkOpened(_ link: Link) -> [Action] {
        links[Int(link)].isOpen = true
        for (name, channel) in channels where channel.state == .wanted { dirty.append(name) }
        var actions: [Action] = []
        recoverIfComplete(&actions)
        return actions
    }

    /// Records the end of a connection, or a failed attempt.
    mutating func linkLost(_ link: Link) -> [Action] {
        var actions: [Action] = []
        closeLink(link, addingTo: &actions)
        return actions + unreachable()
    }

    /// Records that a server no longer belongs to the cluster. Its connection has been closed.
    mutating func linkRemoved(_ link: Link) -> [Action] {
        var actions: [Action] = []
        closeLink(link, addingTo: &actions)
        recoverIfComplete(&actions)
        return actions
    }

    /// Records that one or all servers cannot be reached. From now on, messages may be missed.
    mutating func unreachable() -> [Action] {
        var actions: [Action] = []
        becomeLost(&actions)
        for (name, channel) in channels where channel.state == .wanted { markLost(name, addingTo: &actions) }
        return actions
    }

    private mutating func closeLink(_ link: Link, addingTo actions: inout [Action]) {
        links[Int(link)].isOpen = false
        links[Int(link)].outstanding.removeAll()
        abandoned.removeAll { $0.0 == link }
        for (name, channel) in channels where channel.link == link && channel.state != .wanted {
            resetSubscription(name)
            if channels[name] != nil { markLost(name, addingTo: &actions) }
        }
    }

    /// Retries the refused subscriptions after the delay.
    mutating func retry() {
        for (name, channel) in channels where channel.state == .wanted { dirty.append(name) }
    }

    // MARK: Steps

    private mutating func confirm(_ name: String) -> [Action] {
        channels[name]?.state = .confirmed
        settleRecovery(of: name)
        var actions: [Action] = [.didConfirm(name)]
        actions += waiters.confirmed(name).map(Action.waiterSatisfied)
        recoverIfComplete(&actions)
        return actions
    }

    /// Resets a channel whose subscription the server no longer has. It is desired and subscribed again, or removed.
    private mutating func resetSubscription(_ name: String) {
        switch channels[name]?.state {
        case .subscribing, .unsubscribingWanted:
            channels[name]?.state = .wanted
            dirty.append(name)
        case .unwanted, .unsubscribing, .subscribingUnwanted: channels[name] = nil
        case nil, .wanted, .confirmed: break
        }
    }

    private mutating func markLost(_ name: String, addingTo actions: inout [Action]) {
        if channels[name]?.state == .confirmed { waiters.lost(name) }
        channels[name]?.state = .wanted
        if channels[name]?.isRecovering == false {
            channels[name]?.isRecovering = true
            recovering += 1
        }
        dirty.append(name)
        becomeLost(&actions)
    }

    private mutating func becomeLost(_ actions: inout [Action]) {
        guard !isLost else { return }
        isLost = true
        actions.append(.didLoseConnection)
    }

    private mutating func settleRecovery(of name: String) {
        guard channels[name]?.isRecovering == true else { return }
        channels[name]?.isRecovering = false
        recovering -= 1
    }

    private mutating func recoverIfComplete(_ actions: inout [Action]) {
        guard isLost, recovering == 0 else { return }
        switch routing {
        case .unknown: return
        case .standalone: guard hasOpenLink else { return }
        // Connections to the nodes of a cluster are only opened when a channel needs them.
        case .cluster: guard hasOpenLink || channels.isEmpty else { return }
        }
        isLost = false
        actions.append(.didRecover)
    }
}
