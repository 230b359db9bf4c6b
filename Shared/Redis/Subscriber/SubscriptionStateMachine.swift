// SPDX-License-Identifier: Apache-2.0

/// The channels that are wanted, and how far the servers know about it.
///
/// The wish is the state: connections come and go, and whatever is wanted and not confirmed is sent again. For each channel at most one command is
/// unanswered at a time; when the wish changes meanwhile, the next command waits for the answer. A channel costs a dictionary slot of 20 bytes (at
/// the usual load some 27 to 54) beyond its name.
struct SubscriptionStateMachine {
    /// An index into ``links``: two bytes in each channel.
    typealias Link = UInt16

    enum Routing: Equatable {
        case unknown
        case standalone
        case cluster(SlotMap)
    }

    enum Action: Equatable {
        /// Tell the delegate.
        case didConfirm(String)
        case didLoseConnection
        case didRecover
        /// A connection is needed.
        case open(Link)
        /// The server broke the protocol.
        case drop(Link)
        case waiterSatisfied(ConfirmationWaiters.ID)
        case waiterFailed(ConfirmationWaiters.ID)
        /// The map is out of date, here.
        case moved(slot: UInt16, RedisEndpoint)
        case refreshTopology
        /// Call `retry()` after a while.
        case retryLater(RedisServerError)
    }

    enum State: UInt8 {
        /// Wanted, and not sent.
        case wanted
        /// Wanted and sent.
        case subscribing
        case confirmed
        /// Confirmed, and not wanted any more.
        case unwanted
        case unsubscribing
        /// Sent, and not wanted any more.
        case subscribingUnwanted
        /// Wanted again while the unsubscription is unanswered.
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
        /// Must be confirmed before the loss of a connection is made good.
        var isRecovering: Bool
        /// Where it was sent; of no meaning while `wanted`.
        var link: Link
    }

    struct LinkState {
        /// nil for the one link to a standalone server.
        let endpoint: RedisEndpoint?
        var isOpen = false
        var outstanding = OutstandingCommands()
    }

    var channels: [String: Channel] = [:]
    var links: [LinkState] = []
    var linkIndex: [RedisEndpoint?: Link] = [:]
    /// Channels whose state may call for a command.
    var dirty: [String] = []
    /// Subscriptions at servers that are not theirs any more, to be ended there.
    var abandoned: [(Link, String)] = []
    var waiters = ConfirmationWaiters()
    var recovering = 0
    private(set) var routing = Routing.unknown
    /// Whether messages may have been missed, and the loss is not made good yet.
    private(set) var isLost = false

    /// Refusals since the last confirmation. While a cluster fails over, two servers may point at each other: beyond some, wait in between.
    private var moves = 0
    private static let maximumMoves = 64

    var hasOpenLink: Bool { links.contains(where: \.isOpen) }

    // MARK: Wishes

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

    /// Waits until all are confirmed; the outcome is an action, now or later. Fails if one of them is not subscribed to.
    mutating func wait(_ id: ConfirmationWaiters.ID, for names: [String]) -> [Action] {
        let distinct = Array(Set(names))
        guard distinct.allSatisfy({ channels[$0]?.state.isDesired == true }) else { return [.waiterFailed(id)] }
        let missing = distinct.count { channels[$0]?.state != .confirmed }
        guard missing > 0 else { return [.waiterSatisfied(id)] }
        waiters.add(id, channels: distinct, missing: missing)
        return []
    }

    mutating func stopWaiting(_ id: ConfirmationWaiters.ID) { waiters.remove(id) }

    // MARK: Answers

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
            // The slot has left this server: messages may be published elsewhere already.
            var actions: [Action] = []
            lose(name, addingTo: &actions)
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

    /// An error, which answers the oldest command as a whole.
    mutating func refused(_ error: RedisServerError, on link: Link) -> [Action] {
        switch links[Int(link)].outstanding.refused() {
        case nil: return [.drop(link)]
        case .ping: return []
        case .unsubscribe(let names):
            // It is not the server of these channels any more, and has no subscription to end.
            unsubscriptionEnded(names, on: link)
            return []
        case .subscribe(let names): return subscriptionRefused(names, with: error, on: link)
        }
    }

    private mutating func unsubscriptionEnded(_ names: [String], on link: Link) {
        for name in names {
            guard let channel = channels[name], channel.link == link else { continue }
            switch channel.state {
            case .unsubscribing, .unsubscribingWanted: forget(name)
            case .wanted, .subscribing, .confirmed, .unwanted, .subscribingUnwanted: break
            }
        }
    }

    private mutating func subscriptionRefused(_ names: [String], with error: RedisServerError, on link: Link) -> [Action] {
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
        case .moved(let slot, let endpoint): return [.moved(slot: slot, endpoint)] + (followsMoves ? [] : [.retryLater(error)])
        // A server keeps serving the channels of a slot that is on the move, so ASK is a passing confusion like any other.
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
                // Its server lost the slot and has not said so. Should it still live, let it forget us.
                lose(name, addingTo: &actions)
                if links[Int(channel.link)].isOpen { abandoned.append((channel.link, name)) }
            case .subscribing, .unwanted, .unsubscribing, .subscribingUnwanted, .unsubscribingWanted: break
            }
        }
        recoverIfComplete(&actions)
        return actions
    }

    /// One slot has moved; the rest of the map is on its way. What is confirmed elsewhere is left for then.
    mutating func slotMoved(_ slot: UInt16, to endpoint: RedisEndpoint) {
        guard case .cluster(var map) = routing else { return }
        routing = .unknown  // so that the map is not copied
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

    /// A connection ended, or could not be made.
    mutating func linkLost(_ link: Link) -> [Action] {
        var actions: [Action] = []
        abandon(link, addingTo: &actions)
        return actions + unreachable()
    }

    /// A server does not belong to the cluster any more, and its connection has been closed.
    mutating func linkRemoved(_ link: Link) -> [Action] {
        var actions: [Action] = []
        abandon(link, addingTo: &actions)
        recoverIfComplete(&actions)
        return actions
    }

    /// A server, or all, cannot be reached: messages may be missed from here on.
    mutating func unreachable() -> [Action] {
        var actions: [Action] = []
        becomeLost(&actions)
        for (name, channel) in channels where channel.state == .wanted { lose(name, addingTo: &actions) }
        return actions
    }

    private mutating func abandon(_ link: Link, addingTo actions: inout [Action]) {
        links[Int(link)].isOpen = false
        links[Int(link)].outstanding.removeAll()
        abandoned.removeAll { $0.0 == link }
        for (name, channel) in channels where channel.link == link && channel.state != .wanted {
            forget(name)
            if channels[name] != nil { lose(name, addingTo: &actions) }
        }
    }

    /// The time to try again what was refused has come.
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

    /// What is left of a channel when its server has no subscription of ours: the wish, if there is one.
    private mutating func forget(_ name: String) {
        switch channels[name]?.state {
        case .subscribing, .unsubscribingWanted:
            channels[name]?.state = .wanted
            dirty.append(name)
        case .unwanted, .unsubscribing, .subscribingUnwanted: channels[name] = nil
        case nil, .wanted, .confirmed: break
        }
    }

    private mutating func lose(_ name: String, addingTo actions: inout [Action]) {
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
        // Connections to the nodes of a cluster are made when a channel needs them.
        case .cluster: guard hasOpenLink || channels.isEmpty else { return }
        }
        isLost = false
        actions.append(.didRecover)
    }
}
