// SPDX-License-Identifier: Apache-2.0

import Glibc
import LocalServers
import NIOCore
import NIOPosix
import TestTiers
import Testing

@testable import Redis

extension ServerTests {
    @Suite struct FailureTests {
        @Test(
            "after a kill, sent commands have an unknown fate, later ones fail at once, and all succeed after a restart"
        )
        func killAndRestart() async throws {
            try await RedisServer.with { server async throws in
                try await withClient(.test(server.endpoint)) { client async throws in
                    _ = try await client.run("PING")
                    server.send(signal: SIGSTOP)
                    let inFlight = Task { await code { _ = try await client.run("INCR", "n") } }
                    // This later command is sent after the other one. Once its deadline has passed, the other one was
                    // sent, too.
                    _ = await code {
                        _ = try await client.command(["PING"], key: nil, deadline: .now + .milliseconds(50))
                    }
                    await server.killNow()
                    #expect(await inFlight.value == .fateUnknown)
                    #expect(await code { _ = try await client.run("PING") } == .connectionUnavailable)
                    #expect(!client.isAvailable)
                    try await server.start()
                    try await eventually { await code { _ = try await client.run("PING") } != .connectionUnavailable }
                    #expect(try await client.run("GET", "n").isNull, "it must not have been sent again")
                    #expect(client.isAvailable)
                }
            }
        }

        @Test("without a server, the first command waits for the first attempt, and all fail with its reason")
        func nobodyThere() async throws {
            let port = try LoopbackPort.free()
            for isCluster in [false, nil] {
                try await withClient(.test(RedisEndpoint(host: "127.0.0.1", port: port), isCluster: isCluster)) {
                    client async throws in
                    for _ in 0..<3 {
                        let error = await #expect(throws: RedisError.self) { try await client.run("PING") }
                        #expect(error?.code == .connectionUnavailable)
                        #expect(error?.message.contains("\(port)") == true, "\(error?.message ?? "")")
                    }
                }
            }
        }

        @Test func withoutAnyServerNothingRuns() async throws {
            let group = MultiThreadedEventLoopGroup.singleton
            let client = RedisClient(configuration: .test(), eventLoopGroup: group, logger: quiet)
            let subscriber = RedisSubscriber(
                configuration: .test(), eventLoopGroup: group, delegate: RecordingDelegate(), logger: quiet)
            #expect(await code { try await client.run() } == .invalidConfiguration)
            #expect(await code { try await subscriber.run() } == .invalidConfiguration)
        }

        @Test("several addresses of one server are tried in turn")
        func severalEndpoints() async throws {
            try await RedisServer.with { server async throws in
                let dead = RedisEndpoint(host: "127.0.0.1", port: try LoopbackPort.free())
                for isCluster in [false, nil] {
                    try await withClient(.test(dead, server.endpoint, isCluster: isCluster)) { client async throws in
                        try await eventually {
                            await code { _ = try await client.run("PING") } != .connectionUnavailable
                        }
                        #expect(try await client.run("PING").string == "PONG")
                    }
                }
            }
        }

        @Test("waiting and idle clients detect a stopped server")
        func stalled() async throws {
            try await RedisServer.with { server async throws in
                var configuration = RedisConfiguration.test(server.endpoint)
                configuration.livenessTimeout = .milliseconds(800)
                try await withSubscriber(configuration) { subscriber, delegate async throws in
                    try await withClient(configuration) { client async throws in
                        subscriber.subscribe(["c"])
                        try await subscriber.confirmation(of: ["c"], deadline: .generous)
                        _ = try await client.run("PING")
                        server.send(signal: SIGSTOP)
                        #expect(await code { _ = try await client.run("PING") } == .fateUnknown)
                        await delegate.wait(for: .lost)
                        #expect(!subscriber.isAvailable)
                        server.send(signal: SIGCONT)
                        await delegate.wait(for: .recovered)
                        #expect(subscriber.isAvailable)
                        try await eventually {
                            await code { _ = try await client.run("PING") } != .connectionUnavailable
                        }
                        #expect(client.isAvailable)
                    }
                }
            }
        }

        @Test(
            "garbage closes the connection and nothing else",
            arguments: [
                "hello\r\n", "\u{0}\u{1}\u{2}", "$99999999999999999999\r\n", "*2147483647\r\n", "%1\r\n",
                ":1\r\n:2\r\n",
            ])
        func garbage(_ text: String) async throws {
            try await FakeServer.with(reaction: { _, _ in .send(text) }) { server async throws in
                try await withClient(.test(server.endpoint, isCluster: false)) { client async throws in
                    let code = await code { _ = try await client.run("GET", "k") }
                    #expect(code == (text.hasPrefix(":") ? nil : .protocolViolation))
                    try await eventually { server.connections >= 2 }
                }
            }
        }

        @Test(
            "the client survives a server that stops in the middle of an answer",
            arguments: ["", "$5\r\nab", "*2\r\n:1\r\n", "+OK\r"])
        func brokenOff(_ text: String) async throws {
            try await FakeServer.with(reaction: { _, _ in .sendAndClose(text) }) { server async throws in
                try await withClient(.test(server.endpoint, isCluster: false)) { client async throws in
                    #expect(await code { _ = try await client.run("GET", "k") } == .fateUnknown)
                    try await eventually { server.connections >= 2 }
                }
            }
        }

        @Test("the client closes a connection with a half-sent answer")
        func halfAnAnswer() async throws {
            try await FakeServer.with(reaction: { _, read in read == 0 ? .send("*2\r\n$3\r\nab") : .nothing }) {
                server async throws in
                var configuration = RedisConfiguration.test(server.endpoint, isCluster: false)
                configuration.livenessTimeout = .milliseconds(200)
                try await withClient(configuration) { client async throws in
                    #expect(await code { _ = try await client.run("GET", "k") } == .fateUnknown)
                }
            }
        }

        @Test("the client rejects a server that sends no greeting or an invalid one")
        func greetings() async throws {
            for greeting in [
                FakeServer.Reaction.nothing, .send("HTTP/1.1 400\r\n"), .send("-ERR max number of clients reached\r\n"),
                .sendAndClose(""),
            ] {
                try await FakeServer.with(greeting: greeting, reaction: { _, _ in .nothing }) { server async throws in
                    for isCluster in [false, nil] {
                        var configuration = RedisConfiguration.test(server.endpoint, isCluster: isCluster)
                        configuration.connectTimeout = .milliseconds(100)
                        try await withClient(configuration) { client async throws in
                            let code = await code { _ = try await client.run("PING") }
                            #expect(code == .connectionUnavailable)
                        }
                    }
                }
            }
        }

        @Test("a command fails when a cluster redirects its clients in circles", arguments: ["MOVED", "ASK"])
        func redirectedInCircles(_ kind: String) async throws {
            let slots = "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:PORT\r\n"
            let redirect = "-\(kind) 12539 :PORT\r\n"
            let answer = kind == "ASK" ? "+OK\r\n" + redirect : redirect
            try await FakeServer.with(reaction: { connection, read in
                connection % 2 == 1 || read > 20 ? .send(slots) : .send(read == 0 ? redirect : answer)
            }) { server async throws in
                try await withClient(.test(server.endpoint, isCluster: true)) { client async throws in
                    #expect(await code { _ = try await client.run("GET", "k", key: "k") } == .tooManyRedirections)
                }
            }
        }

        @Test("a client configured without cluster follows no redirects")
        func redirectsOfNoCluster() async throws {
            try await FakeServer.with(reaction: { _, _ in .send("-MOVED 1 127.0.0.1:1\r\n") }) { server async throws in
                try await withClient(.test(server.endpoint, isCluster: false)) { client async throws in
                    #expect(await code { _ = try await client.run("GET", "k") } == .server)
                }
            }
        }

        @Test("an invalid reply on a subscribing connection is a loss, and the subscription survives it")
        func subscriberGarbage() async throws {
            let nonsense = [
                "hello\r\n", ":1\r\n", "*3\r\n$10\r\nssubscribe\r\n$1\r\nx\r\n:1\r\n", "*1\r\n$1\r\nx\r\n", "*0\r\n",
            ]
            for text in nonsense {
                try await FakeServer.with(reaction: { _, _ in .send(text) }) { server async throws in
                    try await withSubscriber(.test(server.endpoint, isCluster: false)) {
                        subscriber, delegate async throws in
                        subscriber.subscribe(["c"])
                        await delegate.wait(for: .lost)
                        try await eventually { server.connections >= 3 }
                        #expect(
                            await code {
                                try await subscriber.confirmation(of: ["c"], deadline: .now + .milliseconds(20))
                            } == .deadlineExceeded)
                    }
                }
            }
        }
    }
}
