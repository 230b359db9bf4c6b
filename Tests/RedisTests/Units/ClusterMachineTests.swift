// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit
import Testing

@testable import Redis

struct ClusterMachineTests {
    private let asked = RedisEndpoint(host: "seed", port: 1)

    private func bulk(_ text: String) -> RedisValue { .bulk(ByteBuffer(string: text)) }

    @Test func slotMapIsReadFromClusterSlots() throws {
        let reply = RedisValue.array([
            .array([
                .integer(0), .integer(100), .array([bulk("a"), .integer(7000), bulk("id"), .array([])]),
                .array([bulk("replica"), .integer(7009), bulk("id")]),
            ]),
            .array([.integer(101), .integer(101), .array([bulk(""), .integer(7001)])]),
            .array([.integer(102), .integer(16_383), .array([.null, .integer(7002)])]),
        ])
        let map = try #require(SlotMap(reply, asked: asked))
        #expect(map.master(of: 0) == RedisEndpoint(host: "a", port: 7000))
        #expect(map.master(of: 100) == RedisEndpoint(host: "a", port: 7000))
        #expect(map.master(of: 101) == RedisEndpoint(host: "seed", port: 7001))
        #expect(map.master(of: 16_383) == RedisEndpoint(host: "seed", port: 7002))
        #expect(map.masters.count == 3)
        #expect(SlotMap(.array([]), asked: asked)?.master(of: 5) == nil)
    }

    @Test func nonsenseIsNotASlotMap() {
        let node = RedisValue.array([bulk("a"), .integer(7000)])
        for bad: RedisValue in [
            .simple("OK"), .array([.integer(1)]), .array([.array([.integer(0), .integer(1)])]),
            .array([.array([.integer(-1), .integer(1), node])]),
            .array([.array([.integer(0), .integer(16_384), node])]),
            .array([.array([.integer(9), .integer(8), node])]),
            .array([.array([.integer(0), .integer(1), .array([bulk("a"), .integer(0)])])]),
        ] {
            #expect(SlotMap(bad, asked: asked) == nil)
        }
    }

    @Test func redirectsAreRead() {
        let read = { Redirect(RedisServerError(text: $0), asked: asked) }
        #expect(read("MOVED 3999 h:6381") == .moved(slot: 3999, RedisEndpoint(host: "h", port: 6381)))
        #expect(read("MOVED 3999 :6381") == .moved(slot: 3999, RedisEndpoint(host: "seed", port: 6381)))
        #expect(read("ASK 1 ::1:6381") == .ask(RedisEndpoint(host: "::1", port: 6381)))
        #expect(read("TRYAGAIN Multiple keys") == .tryAgain)
        #expect(read("NOSCRIPT No matching script") == .scriptUnknown)
        for other in [
            "MOVED", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h", "MOVED 1 h:0", "ERR x", "", "CROSSSLOT Keys",
        ] {
            #expect(read(other) == nil)
        }
    }

    @Test func topologyIsAskedForOncePerReason() {
        var machine = RefreshStateMachine(backoff: Backoff(initial: .milliseconds(10), maximum: .seconds(1)))
        #expect(machine.needed() == .ask)
        #expect(machine.needed() == .doNothing)
        #expect(machine.succeeded() == .pause(.milliseconds(100)))
        #expect(machine.needed() == .doNothing)
        #expect(machine.pauseEnded() == .ask, "asked for while asking, so the answer may have been too old")
        #expect(machine.succeeded() == .pause(.milliseconds(100)))
        #expect(machine.pauseEnded() == .doNothing)
        #expect(machine.needed() == .ask)
        #expect(machine.failed(jitter: 0) == .pause(.milliseconds(5)))
        #expect(machine.pauseEnded() == .ask)
        #expect(machine.failed(jitter: 0) == .pause(.milliseconds(10)))
        machine.close()
        #expect(machine.pauseEnded() == .doNothing)
        #expect(machine.needed() == .doNothing)
    }
}
