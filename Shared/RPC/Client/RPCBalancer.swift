// SPDX-License-Identifier: Apache-2.0

/// Which addresses there are, which of them are connected, and which connection takes the next call: a pure state machine.
///
/// A *member* is the right to keep one connection to one address. Members are started when an address appears and retired when it vanishes;
/// an address that comes back gets new members, so that a late event of an old one is recognised.
struct RPCBalancer<Address: Hashable & Sendable, Connection: Sendable>: Sendable {
    struct Member: Hashable, Sendable {
        let id: Int
        let address: Address
    }

    /// A connection that takes calls.
    struct Ready: Sendable {
        let member: Member
        let connection: Connection
    }

    struct Update: Sendable {
        /// Connect these.
        var started: [Member] = []
        /// Finish what these have in flight, and close them.
        var retired: [Connection] = []
    }

    private let connectionsPerAddress: Int
    private var members: [Int: Member] = [:]
    private var ready: [Ready] = []
    private var triedMembers: Set<Int> = []
    private var nextMember = 0
    private var rotation = 0
    private var wasResolved = false
    private(set) var isClosed = false
    private(set) var lastFailure: RPCError?

    init(connectionsPerAddress: Int) {
        self.connectionsPerAddress = max(1, connectionsPerAddress)
    }

    var readyCount: Int { ready.count }

    /// All connections that take calls.
    var connections: [Connection] { ready.map(\.connection) }

    /// Whether waiting for a first connection is over: there is one, or each address has been tried in vain, or there will be none.
    var isSettled: Bool {
        isClosed || !ready.isEmpty || (wasResolved && members.keys.allSatisfy { triedMembers.contains($0) })
    }

    /// The name was looked up.
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
            for _ in 0..<connectionsPerAddress {
                nextMember += 1
                let member = Member(id: nextMember, address: address)
                members[member.id] = member
                update.started.append(member)
            }
        }
        return update
    }

    /// The name could not be looked up. What is known stays.
    mutating func resolutionFailed() {
        wasResolved = true
        lastFailure = .unavailable
    }

    /// Whether a member should still be connected.
    func isWanted(_ member: Member) -> Bool {
        !isClosed && members[member.id] != nil
    }

    /// A member's connection takes calls from now on. False: it is not wanted any more, close it.
    mutating func connected(_ member: Member, with connection: Connection) -> Bool {
        guard isWanted(member) else { return false }
        triedMembers.insert(member.id)
        lastFailure = nil
        _ = remove(member)
        ready.append(Ready(member: member, connection: connection))
        return true
    }

    /// A member's connection takes no more calls: it was lost, or its server said so.
    mutating func disconnected(_ member: Member) {
        _ = remove(member)
    }

    mutating func connectFailed(_ member: Member, error: RPCError) {
        triedMembers.insert(member.id)
        lastFailure = error
    }

    /// No more calls. The connections are to be drained.
    mutating func close() -> [Connection] {
        isClosed = true
        members = [:]
        defer { ready = [] }
        return ready.map(\.connection)
    }

    /// The connection with the least calls in flight; among equals each in turn.
    /// - Parameter accepting: false for connections, and weights by calls in flight.
    mutating func pick(load: (Connection) -> Int, except excluded: (Ready) -> Bool = { _ in false }) -> Ready? {
        guard !ready.isEmpty else { return nil }
        rotation = (rotation + 1) % ready.count
        var best: (index: Int, load: Int)?
        for offset in 0..<ready.count {
            let index = (rotation + offset) % ready.count
            if excluded(ready[index]) { continue }
            let weight = load(ready[index].connection)
            if weight < best?.load ?? .max { best = (index, weight) }
        }
        return best.map { ready[$0.index] }
    }

    private mutating func remove(_ member: Member) -> Connection? {
        guard let index = ready.firstIndex(where: { $0.member.id == member.id }) else { return nil }
        return ready.remove(at: index).connection
    }
}
