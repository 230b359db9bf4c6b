// SPDX-License-Identifier: Apache-2.0

extension SubscriptionStateMachine {
    /// A command to send on a link.
    struct Outgoing: Equatable {
        var link: Link
        var command: OutstandingCommands.Command
    }

    private struct Group: Hashable {
        let link: Link
        /// All channels of one SSUBSCRIBE must be of one slot in a cluster.
        let slot: UInt16
        let subscribes: Bool
    }

    /// No command is larger than this, unless a single channel is.
    private static let maximumCommandBytes = 64 << 10

    /// What must be sent now, as few commands as possible, and the connections needed for the rest. What it returns counts as sent.
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
        // Ends before beginnings: what moves from one server to another is not received twice.
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

    /// A PING was sent; its answer takes its turn.
    mutating func pingSent(on link: Link) { links[Int(link)].outstanding.sent(.ping) }

    /// The link a channel belongs to now, known or new; nil if no server serves it.
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
    /// Whether nothing is lost and every server that was asked for is connected.
    var isWorking: Bool {
        switch routing {
        case .unknown: false
        case .standalone: !isLost && hasOpenLink
        case .cluster: !isLost
        }
    }
}
