// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import Synchronization
import Testing

@testable import Redis

/// The suites that use real servers. They run sequentially, because measuring silence requires an idle machine, and
/// some machines have two cores.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ServerTests {}

extension ServerTests {
    @Suite struct CommandTests {
        @Test("commands issued concurrently are answered in order")
        func pipelining() async throws {
            try await RedisServer.with { server async throws in
                try await withClient(.test(server.endpoint)) { client async throws in
                    let script = RedisScript("count", source: "return redis.call('INCR', KEYS[1])")
                    let calls = (0..<500).map { _ in (script: script, keys: ["n"], arguments: [RedisArgument]()) }
                    let results = await client.evaluateAll(calls, deadline: .generous)
                    #expect(try results.map { try $0.get().int } == (1...500).map { Int64($0) })
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<200 {
                            group.addTask { () async throws in
                                #expect(try await client.run("ECHO", "\(number)").string == "\(number)")
                            }
                        }
                        try await group.waitForAll()
                    }
                    #expect(client.isAvailable)
                }
            }
        }

        @Test func kindsOfReplies() async throws {
            try await RedisServer.with { server async throws in
                try await withClient(.test(server.endpoint)) { client async throws in
                    let bytes = ByteBuffer(bytes: (0..<70_000).map { UInt8(truncatingIfNeeded: $0) })
                    #expect(try await client.run("SET", "k", .bytes(bytes)) == .simple("OK"))
                    #expect(try await client.run("GET", "k").bytes == bytes)
                    #expect(try await client.run("GET", "none").isNull)
                    #expect(try await client.run("MGET", "none", "none").array == [.null, .null])
                    #expect(try await client.run("DEL", "k").int == 1)
                    let error = await #expect(throws: RedisError.self) { try await client.run("NOSUCH", "secret") }
                    #expect(error?.code == .server && error?.serverError?.kind == "ERR")
                    #expect(error.map { "\($0)".contains("secret") } == false)
                }
            }
        }

        @Test("a script is sent in full only to a server without it")
        func scripts() async throws {
            try await RedisServer.with { server async throws in
                try await withClient(.test(server.endpoint)) { client async throws in
                    let script = RedisScript("join", source: "return KEYS[1] .. ARGV[1] .. ARGV[2]")
                    let evaluate = { () async throws -> String? in
                        try await client.evaluate(script, keys: ["k"], arguments: ["a", 1], deadline: .generous).string
                    }
                    #expect(try await evaluate() == "ka1")
                    #expect(try await client.run("SCRIPT", "EXISTS", .string(script.sha)).array == [.integer(1)])
                    _ = try await client.run("SCRIPT", "FLUSH")
                    #expect(try await evaluate() == "ka1")
                    let broken = RedisScript("broken", source: "return redis.error_reply('CUSTOM x')")
                    let results = await client.evaluateAll(
                        [(script, ["k"], ["a", "b"]), (broken, [], []), (script, ["z"], ["c", "d"])],
                        deadline: .generous)
                    #expect(try results[0].get().string == "kab")
                    #expect(throws: RedisError.self) { try results[1].get() }
                    #expect(try results[2].get().string == "zcd")
                    #expect(await client.evaluateAll([], deadline: .generous).isEmpty)
                }
            }
        }

        @Test func deadlineAndCancellation() async throws {
            try await RedisServer.with { server async throws in
                try await withClient(.test(server.endpoint)) { client async throws in
                    _ = try await client.run("PING")
                    #expect(
                        await code { _ = try await client.command(["PING"], key: nil, deadline: .now - .seconds(1)) }
                            == .deadlineExceeded)
                    server.send(signal: SIGSTOP)
                    #expect(
                        await code {
                            _ = try await client.command(["PING"], key: nil, deadline: .now + .milliseconds(50))
                        } == .deadlineExceeded)
                    let script = RedisScript("s", source: "return 1")
                    let late = await client.evaluateAll(
                        [(script, [], []), (script, [], [])], deadline: .now + .milliseconds(20))
                    #expect(
                        late.allSatisfy {
                            if case .failure(let error) = $0 { error.code == .deadlineExceeded } else { false }
                        })
                    let (started, continuation) = AsyncStream<Void>.makeStream()
                    let task = Task {
                        continuation.yield()
                        return try await client.command(["PING"], key: nil, deadline: .generous)
                    }
                    let batch = Task {
                        await client.evaluateAll([(script, [], []), (script, [], [])], deadline: .generous)
                    }
                    for await _ in started { break }
                    task.cancel()
                    batch.cancel()
                    #expect(await code { _ = try await task.value } == .cancelled)
                    #expect(
                        await batch.value.allSatisfy {
                            if case .failure(let error) = $0 { error.code == .cancelled } else { false }
                        })
                    server.send(signal: SIGCONT)
                    // The answer to a cancelled call must not go to another caller.
                    #expect(try await client.run("ECHO", "mine").string == "mine")
                }
            }
        }

        @Test("a cancelled task sends nothing")
        func cancelledBefore() async throws {
            try await RedisServer.with { server async throws in
                try await withClient(.test(server.endpoint)) { client async throws in
                    let (go, continuation) = AsyncStream<Void>.makeStream()
                    let task = Task {
                        for await _ in go {}
                        return try await client.command(["INCR", "n"], key: nil, deadline: .generous)
                    }
                    task.cancel()
                    continuation.finish()
                    #expect(await code { _ = try await task.value } == .cancelled)
                    #expect(try await client.run("GET", "n").isNull)
                }
            }
        }

        @Test("commands above the limit fail at once, and dropped publishes do no harm")
        func queueLimit() async throws {
            try await RedisServer.with { server async throws in
                var configuration = RedisConfiguration.test(server.endpoint)
                configuration.queueLimit = 10
                try await withClient(configuration) { client async throws in
                    _ = try await client.run("PING")
                    server.send(signal: SIGSTOP)
                    let codes = try await withThrowingTaskGroup(of: RedisError.Code?.self) { group in
                        for _ in 0..<30 { group.addTask { await code { _ = try await client.run("PING") } } }
                        var codes: [RedisError.Code?] = []
                        for try await code in group {
                            codes.append(code)
                            if codes.count == 20 {
                                client.publishWithoutWaiting(ByteBuffer(string: "x"), to: "c")
                                server.send(signal: SIGCONT)
                            }
                        }
                        return codes
                    }
                    #expect(codes.prefix(20).allSatisfy { $0 == .queueFull })
                    #expect(codes.dropFirst(20).allSatisfy { $0 == nil })
                    #expect(try await client.run("PING").string == "PONG")
                }
            }
        }

        @Test func passwordAndName() async throws {
            try await RedisServer.with(["--requirepass", "se cret"]) { server async throws in
                var configuration = RedisConfiguration.test(server.endpoint)
                configuration.password = "se cret"
                configuration.clientName = "strata-test"
                try await withClient(configuration) { client async throws in
                    #expect(try await client.run("CLIENT", "GETNAME").string == "strata-test")
                }
                configuration.username = "default"
                try await withClient(configuration) { client async throws in
                    #expect(try await client.run("PING").string == "PONG")
                }
                configuration.password = "wrong"
                try await withClient(configuration) { client async throws in
                    // Only a command that waits for the first connection attempt gets the reason. This one may come
                    // later.
                    let error = await #expect(throws: RedisError.self) { try await client.run("PING") }
                    #expect(error?.code == .connectionUnavailable)
                }
                configuration.password = nil
                configuration.isCluster = false
                try await withClient(configuration) { client async throws in
                    let error = await #expect(throws: RedisError.self) { try await client.run("PING") }
                    #expect(error?.serverError?.kind == "NOAUTH")
                }
            }
        }

        @Test func afterShutdownEverythingIsRefused() async throws {
            try await RedisServer.with { server async throws in
                let client = try await withClient(.test(server.endpoint)) { client async throws in
                    _ = try await client.run("PING")
                    return client
                }
                #expect(await code { _ = try await client.run("PING") } == .closed)
                #expect(await code { try await client.run() } == .alreadyRunning)
                #expect(!client.isAvailable)
            }
        }
    }
}
