// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import TestTiers
import Testing

@testable import Redis

extension ServerTests {
    /// A single test with one cluster, because forming a cluster takes seconds.
    @Test("commands, scripts and channels find their servers, and follow a moved slot")
    func cluster() async throws {
        try await RedisCluster.with { cluster async throws in
            try await withClient(.test(cluster.seed)) { client async throws in
                try await withSubscriber(.test(cluster.seed)) { subscriber, delegate async throws in
                    try await keysAndScripts(client)
                    try await channels(client, subscriber, delegate)
                    try await movedSlot(cluster, client, subscriber, delegate)
                    try await lostServer(cluster, client, subscriber, delegate)
                }
            }
        }
    }

    private func keysAndScripts(_ client: RedisClient) async throws {
        for number in 0..<50 {
            let key = "key:\(number)"
            _ = try await client.run("SET", .string(key), .integer(Int64(number)), key: key)
        }
        let script = RedisScript("get", source: "return redis.call('GET', KEYS[1])")
        let calls = (0..<50).map { (script: script, keys: ["key:\($0)"], arguments: [RedisArgument]()) }
        let results = await client.evaluateAll(calls, deadline: .generous)
        #expect(try results.map { try $0.get().int } == (0..<50).map { Int64($0) })
        #expect(try await client.run("PING").string == "PONG")
        #expect(client.isAvailable)
        let error = await #expect(throws: RedisError.self) {
            try await client.run("MGET", "key:1", "key:2", key: "key:1")
        }
        #expect(error?.serverError?.kind == "CROSSSLOT")
    }

    private func channels(
        _ client: RedisClient, _ subscriber: RedisSubscriber, _ delegate: RecordingDelegate
    ) async throws {
        let names = (0..<60).map { "c:{\($0 % 20)}:\($0)" }
        subscriber.subscribe(names)
        try await subscriber.confirmation(of: names, deadline: .generous)
        #expect(subscriber.isAvailable)
        for name in names {
            #expect(try await client.publish(ByteBuffer(string: name), to: name, deadline: .generous) == 1)
        }
        let events = await delegate.wait { events in
            names.allSatisfy { name in events.contains(.message(name, ByteBuffer(string: name))) }
        }
        #expect(!events.contains(.lost))
        #expect(events.count { if case .message = $0 { true } else { false } } == 60)
    }

    private func movedSlot(
        _ cluster: RedisCluster, _ client: RedisClient, _ subscriber: RedisSubscriber, _ delegate: RecordingDelegate
    ) async throws {
        let key = "{moving}"
        let target = (cluster.owner(of: key) + 1) % 3
        subscriber.subscribe(["{moving}:old"])
        try await subscriber.confirmation(of: ["{moving}:old"], deadline: .generous)
        try await cluster.beginMigration(of: key, to: target)
        // The owner does not have the key and answers ASK. The target requires ASKING.
        #expect(try await client.run("SET", "{moving}", "asked", key: key).string == "OK")
        let script = RedisScript("asked", source: "return {redis.call('GET', KEYS[1]), 'asked'}")
        let value = try await client.evaluate(script, keys: [key], arguments: [], deadline: .generous)
        #expect(value.array?.first?.string == "asked")
        delegate.forget()
        try await cluster.endMigration(of: key, to: target)
        // The owner ends the subscription unasked. It is restored at the other server.
        await delegate.wait(for: .recovered)
        #expect(delegate.events.contains(.lost) && delegate.events.contains(.confirmed("{moving}:old")))
        #expect(try await client.run("GET", "{moving}", key: key).string == "asked", "MOVED is followed")
        subscriber.subscribe(["{moving}:new"])
        try await subscriber.confirmation(of: ["{moving}:old", "{moving}:new"], deadline: .generous)
        for name in ["{moving}:old", "{moving}:new"] {
            #expect(try await client.publish(ByteBuffer(string: "x"), to: name, deadline: .generous) == 1)
            await delegate.wait(for: .message(name, ByteBuffer(string: "x")))
        }
        subscriber.unsubscribe(["{moving}:old"])
        subscriber.subscribe(["{moving}:last"])
        try await subscriber.confirmation(of: ["{moving}:last"], deadline: .generous)
        #expect(try await client.publish(ByteBuffer(string: "x"), to: "{moving}:old", deadline: .generous) == 0)
    }

    private func lostServer(
        _ cluster: RedisCluster, _ client: RedisClient, _ subscriber: RedisSubscriber, _ delegate: RecordingDelegate
    ) async throws {
        let key = (0..<50).map { "key:\($0)" }.first { cluster.owner(of: $0) == 1 } ?? "key"
        let other = (0..<50).map { "key:\($0)" }.first { cluster.owner(of: $0) == 0 } ?? "key"
        delegate.forget()
        await cluster.servers[1].killNow()
        await delegate.wait(for: .lost)
        try await eventually {
            await code { _ = try await client.run("GET", .string(key), key: key) } == .connectionUnavailable
        }
        #expect(!client.isAvailable)
        #expect(await code { _ = try await client.run("ECHO", "x", key: other) } == nil, "the others go on serving")
        try await cluster.servers[1].start()
        await delegate.wait(for: .recovered)
        try await eventually { await code { _ = try await client.run("SET", .string(key), "back", key: key) } == nil }
        #expect(client.isAvailable)
    }
}
