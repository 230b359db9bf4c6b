// SPDX-License-Identifier: Apache-2.0

import Glibc
import LocalServers
import NIOCore
import TestTiers
import Testing

@testable import Redis

extension ServerTests {
    @Suite struct SubscriberTests {
        @Test func messagesOfAnyBytesArriveInOrder() async throws {
            try await RedisServer.with { server async throws in
                try await withSubscriber(.test(server.endpoint)) { subscriber, delegate async throws in
                    try await withClient(.test(server.endpoint)) { client async throws in
                        subscriber.subscribe(["c:{1}:a", "b"])
                        try await subscriber.confirmation(of: ["c:{1}:a", "b"], deadline: .generous)
                        #expect(subscriber.isAvailable)
                        let binary = ByteBuffer(bytes: Array(0...255) + Array("\r\n$3\r\n".utf8))
                        #expect(try await client.publish(binary, to: "c:{1}:a", deadline: .generous) == 1)
                        #expect(try await client.publish(binary, to: "nobody", deadline: .generous) == 0)
                        for number in 0..<1000 {
                            client.publishWithoutWaiting(ByteBuffer(string: "\(number)"), to: "b")
                        }
                        let events = await delegate.wait { $0.contains(.message("b", ByteBuffer(string: "999"))) }
                        #expect(events.contains(.message("c:{1}:a", binary)))
                        let numbers = events.compactMap {
                            if case .message("b", let text) = $0 { String(buffer: text) } else { nil }
                        }
                        #expect(numbers == (0..<1000).map(String.init))
                        #expect(!events.contains(.lost) && !events.contains(.recovered))
                    }
                }
            }
        }

        @Test func unsubscribedChannelsAreSilent() async throws {
            try await RedisServer.with { server async throws in
                try await withSubscriber(.test(server.endpoint)) { subscriber, delegate async throws in
                    try await withClient(.test(server.endpoint)) { client async throws in
                        subscriber.subscribe(["a", "b"])
                        try await subscriber.confirmation(of: ["a", "b"], deadline: .generous)
                        subscriber.unsubscribe(["a"])
                        // Answers come in order, so a is unsubscribed once c is confirmed.
                        subscriber.subscribe(["c"])
                        try await subscriber.confirmation(of: ["c"], deadline: .generous)
                        #expect(try await client.publish(ByteBuffer(string: "x"), to: "a", deadline: .generous) == 0)
                        #expect(try await client.publish(ByteBuffer(string: "x"), to: "b", deadline: .generous) == 1)
                        await delegate.wait(for: .message("b", ByteBuffer(string: "x")))
                        #expect(
                            await code { try await subscriber.confirmation(of: ["a"], deadline: .generous) }
                                == .notSubscribed)
                        subscriber.subscribe(["a"])
                        try await subscriber.confirmation(of: ["a"], deadline: .generous)
                        #expect(try await client.publish(ByteBuffer(string: "y"), to: "a", deadline: .generous) == 1)
                    }
                }
            }
        }

        @Test("a server restart loses the connection, then the client restores every subscription")
        func killAndRestart() async throws {
            try await RedisServer.with { server async throws in
                try await withSubscriber(.test(server.endpoint)) { subscriber, delegate async throws in
                    let channels = (0..<1000).map { "channel:\($0)" }
                    subscriber.subscribe(channels)
                    try await subscriber.confirmation(of: channels, deadline: .generous)
                    delegate.forget()
                    await server.killNow()
                    await delegate.wait(for: .lost)
                    #expect(!subscriber.isAvailable)
                    subscriber.subscribe(["new"])
                    subscriber.unsubscribe(["channel:0"])
                    try await server.start()
                    let events = await delegate.wait { $0.contains(.recovered) }
                    #expect(events.first == .lost && events.last == .recovered && events.count { $0 == .lost } == 1)
                    let confirmed = events.compactMap { if case .confirmed(let channel) = $0 { channel } else { nil } }
                    #expect(confirmed.count == 1000 && Set(confirmed) == Set(channels.dropFirst() + ["new"]))
                    #expect(subscriber.isAvailable)
                    try await withClient(.test(server.endpoint)) { client async throws in
                        #expect(
                            try await client.publish(ByteBuffer(string: "x"), to: "channel:999", deadline: .generous)
                                == 1)
                        #expect(try await client.publish(ByteBuffer(string: "x"), to: "new", deadline: .generous) == 1)
                        #expect(
                            try await client.publish(ByteBuffer(string: "x"), to: "channel:0", deadline: .generous) == 0
                        )
                    }
                }
            }
        }

        @Test("a killed connection is a loss, then the client restores every subscription")
        func connectionKilled() async throws {
            try await RedisServer.with { server async throws in
                try await withSubscriber(.test(server.endpoint)) { subscriber, delegate async throws in
                    try await withClient(.test(server.endpoint)) { client async throws in
                        subscriber.subscribe(["c"])
                        try await subscriber.confirmation(of: ["c"], deadline: .generous)
                        #expect(try await client.run("CLIENT", "KILL", "TYPE", "pubsub").int == 1)
                        await delegate.wait(for: .recovered)
                        #expect(try await client.publish(ByteBuffer(string: "x"), to: "c", deadline: .generous) == 1)
                    }
                }
            }
        }

        @Test func startedBeforeTheServer() async throws {
            try await RedisServer.with { server async throws in
                await server.killNow()
                for isCluster in [false, nil] {
                    try await withSubscriber(.test(server.endpoint, isCluster: isCluster)) {
                        subscriber, delegate async throws in
                        subscriber.subscribe(["c"])
                        await delegate.wait(for: .lost)
                        try await server.start()
                        await delegate.wait(for: .recovered)
                        try await subscriber.confirmation(of: ["c"], deadline: .generous)
                        await server.killNow()
                    }
                }
            }
        }

        @Test func idleConnectionsAreKept() async throws {
            try await RedisServer.with { server async throws in
                var configuration = RedisConfiguration.test(server.endpoint)
                configuration.livenessTimeout = .seconds(2)
                try await withSubscriber(configuration) { subscriber, delegate async throws in
                    try await withClient(configuration) { client async throws in
                        subscriber.subscribe(["c"])
                        try await subscriber.confirmation(of: ["c"], deadline: .generous)
                        let pings = { () async throws -> Int64 in
                            let text = try await client.run("INFO", "commandstats").string ?? ""
                            let line = text.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_ping:calls=") }
                            return line.flatMap {
                                Int64($0.dropFirst("cmdstat_ping:calls=".count).prefix { $0 != "," })
                            } ?? 0
                        }
                        let before = try await pings()
                        try await eventually { try await pings() >= before + 4 }
                        #expect(!delegate.events.contains(.lost))
                    }
                }
            }
        }

        @Test func waitsEndByDeadlineCancellationAndShutdown() async throws {
            let nobody = RedisEndpoint(host: "127.0.0.1", port: try LoopbackPort.free())
            let shutDown = try await withSubscriber(.test(nobody)) { subscriber, delegate async throws in
                subscriber.subscribe(["c"])
                #expect(
                    await code { try await subscriber.confirmation(of: ["c"], deadline: .now + .milliseconds(20)) }
                        == .deadlineExceeded)
                #expect(
                    await code { try await subscriber.confirmation(of: ["d"], deadline: .generous) } == .notSubscribed)
                let task = Task { await code { try await subscriber.confirmation(of: ["c"], deadline: .generous) } }
                task.cancel()
                #expect(await task.value == .cancelled)
                let withdrawn = Task {
                    await code { try await subscriber.confirmation(of: ["c"], deadline: .generous) }
                }
                subscriber.unsubscribe(["c"])
                #expect(await withdrawn.value == .notSubscribed)
                subscriber.subscribe(["e"])
                let (started, continuation) = AsyncStream<Void>.makeStream()
                let last = Task {
                    continuation.yield()
                    return await code { try await subscriber.confirmation(of: ["e"], deadline: .generous) }
                }
                for await _ in started { break }
                return last
            }
            #expect(await shutDown.value == .closed)
        }
    }
}
