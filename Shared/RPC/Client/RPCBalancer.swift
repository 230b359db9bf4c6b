// SPDX-License-Identifier: Apache-2.0

/// The state machine of a client's connections: the known addresses, the connected members, and the choice of a
/// connection for each call.
///
/// A *member* represents one connection to one address. Members start when an address appears, and are retired when it
/// disappears. An address that reappears gets new members, so that late events of old ones are recognised.
struct RPCBalancer<Address: Hashable & Sendable, Connection: Sendable>: Sendable {
    struct Member: Hashable, Sendable {
        let id: Int
        let address: Address
        /// The index of the connection's event loop in ``RPCClient/loops``.
        let place: Int
    }

    /// A connection that accepts calls.
    struct Ready: Sendable {
        let member: Member
        let connection: Connection
    }

    struct Update: Sendable {
        /// The members to connect.
        var started: [Member] = []
        /// The connections to drain and close.
        var retired: [Connection] = []
    }

    private let connectionsPerAddress: Int
    private var members: [Int: Member] = [:]
    private var ready: [Ready] = []
    /// The members whose first attempt to connect has ended.
    private var triedMembers: Set<Int> = []
    private var nextMember = 0
    /// The number of choices at each place. A choice begins at another connection than the one before it, so that
    /// equally loaded connections alternate.
    private var choices: [Int?: Int] = [:]
    /// True after the first name lookup, successful or not.
    private var wasResolved = false
    private(set) var isClosed = false
    /// The last failed name lookup or connection attempt; nil after a successful connection.
    private(set) var lastFailure: RPCError?

    init(connectionsPerAddress: Int) {
        self.connectionsPerAddress = max(1, connectionsPerAddress)
    }

    var readyCount: Int { ready.count }

    /// All connections that accept calls.
    var connections: [Connection] { ready.map(\.connection) }

    /// True if calls need not wait for a first connection: one exists, all addresses have been tried without success,
    /// or the client is closed.
    var isSettled: Bool {
        isClosed || !ready.isEmpty || (wasResolved && members.keys.allSatisfy { triedMembers.contains($0) })
    }

    /// Updates the members after a successful name lookup.
    mutating func resolved(_ addresses: [Address]) -> Update {
        guard !isClosed else { return Update() }
        wasResolved = true
        var update = Update()
        let wanted = Set(addresses)
        for member in members.values where !wanted.contains(member.address) {
            members[member.id] = nil
            triedMembers.remove(member.id)
            update.retired += remove(member).map { [$0] } ?? []
        }
        let known = Set(members.values.map(\.address))
        var seen = known
        for address in addresses where seen.insert(address).inserted {
            for place in 0..<connectionsPerAddress {
                nextMember += 1
                let member = Member(id: nextMember, address: address, place: place)
                members[member.id] = member
                update.started.append(member)
            }
        }
        return update
    }

    /// Records a failed name lookup. The known addresses stay.
    mutating func resolutionFailed() {
        wasResolved = true
        lastFailure = .unavailable
    }

    /// Returns true if the member must stay connected, or connect again.
    func isWanted(_ member: Member) -> Bool {
        !isClosed && members[member.id] != nil
    }

    /// Records a member's connection, which accepts calls from now on. Returns false if it is no longer needed and must
    /// be closed.
    mutating func connected(_ member: Member, with connection: Connection) -> Bool {
        guard isWanted(member) else { return false }
        triedMembers.insert(member.id)
        lastFailure = nil
        _ = remove(member)
        ready.append(Ready(member: member, connection: connection))
        return true
    }

    /// Removes a member's connection from those that accept calls, because it was lost or its server is draining.
    mutating func disconnected(_ member: Member) {
        _ = remove(member)
    }

    /// Records a failed attempt to connect. The member is tried again.
    mutating func connectFailed(_ member: Member, error: RPCError) {
        triedMembers.insert(member.id)
        lastFailure = error
    }

    /// Closes the state machine and returns the connections to drain. No further calls are accepted.
    mutating func close() -> [Connection] {
        isClosed = true
        members = [:]
        defer { ready = [] }
        return ready.map(\.connection)
    }

    /// Returns the connection with the fewest calls in flight. Among equal ones, it alternates.
    /// - Parameters:
    ///   - place: the place of the connections to choose from; nil: all.
    ///   - load: returns the number of calls in flight.
    ///   - excluded: returns true for connections that must not be chosen.
    mutating func pick(
        at place: Int? = nil, load: (Connection) -> Int, except excluded: (Ready) -> Bool = { _ in false }
    ) -> Ready? {
        let eligible = ready.filter { (place == nil || $0.member.place == place) && !excluded($0) }
        guard !eligible.isEmpty else { return nil }
        let first = choices[place, default: 0]
        choices[place] = first &+ 1
        var best: (ready: Ready, load: Int)?
        for offset in 0..<eligible.count {
            let next = eligible[(first % eligible.count + offset) % eligible.count]
            let weight = load(next.connection)
            if weight < best?.load ?? .max { best = (next, weight) }
        }
        return best?.ready
    }

    private mutating func remove(_ member: Member) -> Connection? {
        guard let index = ready.firstIndex(where: { $0.member.id == member.id }) else { return nil }
        return ready.remove(at: index).connection
    }
}
