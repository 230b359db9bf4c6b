// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RPC

final class BalancerTests {
    var balancer = RPCBalancer<String, String>(connectionsPerAddress: 1)

    func connect(_ addresses: [String]) -> [RPCBalancer<String, String>.Member] {
        let started = balancer.resolved(addresses).started
        for member in started { #expect(balancer.connected(member, with: "to \(member.address)") == true) }
        return started
    }

    @Test("connections start and retire as addresses appear and disappear")
    func follow() {
        #expect(connect(["a", "b"]).map(\.address) == ["a", "b"])
        let update = balancer.resolved(["b", "c"])
        #expect(update.started.map(\.address) == ["c"])
        #expect(update.retired == ["to a"])
        #expect(balancer.readyCount == 1)
        #expect(balancer.resolved(["c", "b"]).started.isEmpty)
    }

    @Test("an address that returns gets a new member, and the old one stays retired")
    func returns() {
        let old = connect(["a"])[0]
        _ = balancer.resolved([])
        let new = balancer.resolved(["a"]).started[0]
        #expect(new != old)
        #expect(!balancer.isWanted(old))
        #expect(balancer.connected(old, with: "late") == false)
        #expect(balancer.connected(new, with: "to a") == true)
        balancer.disconnected(old)
        #expect(balancer.readyCount == 1)
    }

    @Test("duplicate addresses count once, and each address gets its connections")
    func several() {
        var balancer = RPCBalancer<String, String>(connectionsPerAddress: 2)
        #expect(balancer.resolved(["a", "a", "b"]).started.map(\.address) == ["a", "a", "b", "b"])
    }

    @Test("the least busy connection is picked, and equally busy ones in turn")
    func pick() {
        _ = connect(["a", "b", "c"])
        let loads = ["to a": 2, "to b": 1, "to c": 2]
        #expect(balancer.pick(load: { loads[$0] ?? 0 })?.connection == "to b")
        let picked = (0..<6).compactMap { _ in balancer.pick(load: { _ in 0 })?.connection }
        #expect(Dictionary(grouping: picked) { $0 }.mapValues(\.count) == ["to a": 2, "to b": 2, "to c": 2])
        #expect(balancer.pick(load: { _ in 0 }, except: { $0.connection != "to c" })?.connection == "to c")
        #expect(balancer.pick(load: { _ in 0 }, except: { _ in true }) == nil)
    }

    @Test("callers on a loop choose among its connections, and alternate whatever other loops choose")
    func places() {
        var balancer = RPCBalancer<String, String>(connectionsPerAddress: 2)
        for member in balancer.resolved(["a", "b"]).started {
            _ = balancer.connected(member, with: "\(member.address)\(member.place)")
        }
        var picked: [String] = []
        for _ in 0..<10 {
            picked.append(contentsOf: [0, 1].compactMap { balancer.pick(at: $0, load: { _ in 0 })?.connection })
        }
        #expect(Dictionary(grouping: picked) { $0 }.mapValues(\.count) == ["a0": 5, "a1": 5, "b0": 5, "b1": 5])
        let elsewhere = balancer.pick(at: 2, load: { _ in 0 })
        #expect(elsewhere == nil)
    }

    @Test("waiting for a first connection ends with one, or after all have been tried")
    func settles() {
        #expect(!balancer.isSettled)
        let members = balancer.resolved(["a", "b"]).started
        balancer.connectFailed(members[0], error: .unavailable)
        #expect(!balancer.isSettled)
        balancer.connectFailed(members[1], error: .unauthenticated)
        #expect(balancer.isSettled)
        #expect(balancer.lastFailure == .unauthenticated)
        #expect(balancer.connected(members[0], with: "to a") == true)
        #expect(balancer.lastFailure == nil)
    }

    @Test("a failed name lookup ends the wait and removes no member")
    func unresolved() {
        balancer.resolutionFailed()
        #expect(balancer.isSettled)
        _ = connect(["a"])
        balancer.resolutionFailed()
        #expect(balancer.readyCount == 1)
    }

    @Test("a closed balancer returns its connections and accepts none")
    func closes() {
        let member = connect(["a"])[0]
        #expect(balancer.close() == ["to a"])
        #expect(!balancer.isWanted(member))
        #expect(balancer.resolved(["b"]).started.isEmpty)
        #expect(balancer.pick(load: { _ in 0 }) == nil)
    }
}
