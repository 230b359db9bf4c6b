// SPDX-License-Identifier: Apache-2.0
import NIOCore

extension SubscriptionStateMachine {
    struct Outgoing: Equatable {
        var link: Link
        var command: OutstandingCommands.Command
    }

    private struct Group: Hashable {
        let link: Link
        /// The slot. In a cluster, all channels of one SSUBSCRIBE must be of one slot.
        let slot: UInt16
        let subscribes: Bool
    }

    /// The maximum size of a command in bytes, unless a single channel exceeds it.
    private static let maximumCommandBytes = 64 << 10

    /// Returns the commands to send now, as few as possible, and requests for the connections needed by the others. The
    /// returned commands are recorded as sent.
    mutating func takeCommands(batch: Int) -> (commands: [Outgoing], actions: [Action]) {
        var groups: [Group: [String]] = [:]
        var needed: Set<Link> = []
        for (link, name) in abandoned {
            groups[Group(link: link, slot: slot(of: name), subscribes: false), default: []].append(name)
        }
        abandoned.removeAll()
        for name in dirty {
            switch channels[name]?.state {
            case .wanted:
                guard let link = route(name) else { continue }
                guard links[Int(link)].isOpen else {
                    needed.insert(link)
                    continue
                }
                channels[name]?.state = .subscribing
                channels[name]?.link = link
                groups[Group(link: link, slot: slot(of: name), subscribes: true), default: []].append(name)
            case .unwanted:
                channels[name]?.state = .unsubscribing
                guard let link = channels[name]?.link else { continue }
                groups[Group(link: link, slot: slot(of: name), subscribes: false), default: []].append(name)
            case nil, .subscribing, .confirmed, .unsubscribing, .subscribingUnwanted, .unsubscribingWanted: continue
            }
        }
        dirty.removeAll()
        // Unsubscribe before subscribing, so that messages of a moved channel are not received twice.
        let ordered = groups.sorted { !$0.key.subscribes && $1.key.subscribes }
        let commands = ordered.flatMap { group, names in
            Self.batches(of: names, count: batch)
                .map {
                    Outgoing(link: group.link, command: group.subscribes ? .subscribe($0) : .unsubscribe($0))
                }
        }
        for outgoing in commands { links[Int(outgoing.link)].outstanding.sent(outgoing.command) }
        return (commands, needed.map(Action.open))
    }

    /// Records a sent PING, whose response arrives in order.
    mutating func pingSent(on link: Link) { links[Int(link)].outstanding.sent(.ping) }

    /// Returns the link for a channel and creates it if necessary; nil if no server serves the channel.
    mutating func route(_ name: String) -> Link? {
        switch routing {
        case .unknown: nil
        case .standalone: link(to: nil)
        case .cluster(let map): map.master(of: HashSlot.of(name)).flatMap { link(to: $0) }
        }
    }

    mutating func isRouteOpen(_ name: String) -> Bool { route(name).map { links[Int($0)].isOpen } ?? false }

    mutating func link(to endpoint: RedisEndpoint?) -> Link? {
        if let link = linkIndex[endpoint] { return link }
        guard links.count < Int(Link.max) else { return nil }
        links.append(LinkState(endpoint: endpoint))
        let link = Link(links.count - 1)
        linkIndex[endpoint] = link
        return link
    }

    private func slot(of name: String) -> UInt16 {
        if case .cluster = routing { HashSlot.of(name) } else { 0 }
    }

    private static func batches(of names: [String], count: Int) -> [[String]] {
        var batches: [[String]] = []
        var current: [String] = []
        var bytes = 0
        for name in names {
            if current.count >= max(count, 1) || (bytes + name.utf8.count > maximumCommandBytes && !current.isEmpty) {
                batches.append(current)
                (current, bytes) = ([], 0)
            }
            current.append(name)
            bytes += name.utf8.count + 16
        }
        return current.isEmpty ? batches : batches + [current]
    }
}

extension SubscriptionStateMachine {
    /// True if no subscriptions are lost and all required servers are connected.
    var isWorking: Bool {
        switch routing {
        case .unknown: false
        case .standalone: !isLost && hasOpenLink
        case .cluster: !isLost
        }
    }
}

/// The commands without a response on one subscribing connection. The server responds in order: once for each channel,
/// except that an error answers the whole command.
///
/// The server also sends an unsolicited `sunsubscribe` when a slot has left it. It then refuses the client's own
/// unsubscription of the same channel with an error. To keep responses unambiguous, each SUNSUBSCRIBE is followed by a
/// PING, whose response ends both.
struct OutstandingCommands {
    enum Command: Equatable {
        case subscribe([String])
        case unsubscribe([String])
        case ping
    }

    private var commands = CircularBuffer<Command>(initialCapacity: 4)
    /// The number of answered channels of the first command, if it is a subscription.
    private var answered = 0

    var isEmpty: Bool { commands.isEmpty }

    mutating func sent(_ command: Command) { commands.append(command) }

    /// Records a `ssubscribe` message. Returns true if it is the next expected response.
    mutating func subscribed(_ channel: String) -> Bool {
        guard case .subscribe(let channels) = commands.first, channels[answered] == channel else { return false }
        answered += 1
        if answered == channels.count {
            commands.removeFirst()
            answered = 0
        }
        return true
    }

    /// Returns true if an unsubscription of this channel is pending. Otherwise the server ended the subscription
    /// itself.
    func isUnsubscribing(_ channel: String) -> Bool {
        guard case .unsubscribe(let channels) = commands.first else { return false }
        return channels.contains(channel)
    }

    /// Returns the command that a PONG ends; nil: none.
    mutating func pong() -> Command? {
        switch commands.first {
        case .ping, .unsubscribe: commands.removeFirst()
        case nil, .subscribe: nil
        }
    }

    /// Returns the command that an error answers; nil: none.
    mutating func refused() -> Command? {
        switch commands.first {
        case .subscribe where answered == 0: commands.removeFirst()
        case .unsubscribe: commands.first
        case .ping: commands.removeFirst()
        case nil, .subscribe: nil
        }
    }

    mutating func removeAll() {
        commands.removeAll()
        answered = 0
    }
}
