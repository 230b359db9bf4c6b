// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Postgres
import StrataCommand
import Synchronization

/// How fast a webhook is told of what it is owed, with the whole system beside: 10,000 events of 1,000 conversations, to a receiver that accepts each at once;
/// and how fast messages are told while users send them.
enum WebhookBench {
    private static let events = 10_000
    private static let conversations = 1000

    static func run(group: any EventLoopGroup) async throws -> [String] {
        let system = try await BenchSystem()
        let receiver = try await CountingReceiver.start(on: group)
        do {
            let lines = try await measure(system, receiver)
            try await receiver.stop()
            try await system.stop()
            return lines
        } catch {
            try? await receiver.stop()
            try await system.stop()
            throw error
        }
    }

    private static func measure(_ system: BenchSystem, _ receiver: CountingReceiver) async throws -> [String] {
        let hook = UUID()
        try await execute(
            """
            INSERT INTO webhooks.hook (id, app_id, version, target_url, secret, events, kinds, status, verified_at)
            VALUES ('\(hook)', '\(system.app.id)', '3.0', 'http://127.0.0.1:\(receiver.port)/', 'secret', '{Message.created}', '{Message.created}', 'active', now());
            """, in: system)
        // All services know by then that the app has a hook.
        try await Task.sleep(for: .seconds(5))
        var lines: [String] = []
        for round in 1...12 { lines.append(try await drain(round, hook, system, receiver)) }
        lines.append(try await live(system, receiver))
        return lines
    }

    /// Owes the hook events, and waits until it has them.
    private static func drain(_ round: Int, _ hook: UUID, _ system: BenchSystem, _ receiver: CountingReceiver) async throws -> String {
        let (before, memory) = (system.processorTimes(), system.residentMemory["webhooks"] ?? 0)
        let goal = receiver.count + events
        let facts = """
            {"actor": "u0", "message": {"sender": "u0", "ordinal": 1, "sent_at": 1795502794527555, "position": 2, "statuses": [2, 0],
            "message_id": "00000000-0000-0000-0000-0000000000d1", "recipients": ["u0", "u1"], "updated_at": null, "receipt_policy": 0},
            "identities": {"u0": {"avatar_url": null, "display_name": "User"}}}
            """
        let begun = ContinuousClock.now
        try await execute(
            """
            WITH lane AS MATERIALIZED (SELECT gen_random_uuid() AS id FROM generate_series(1, \(conversations))), event AS (
                INSERT INTO webhooks.event (app_id, kind, event_id, created_at, subject, facts)
                SELECT '\(system.app.id)', 'Message.created', gen_random_uuid(), now(), l.id, '\(facts)'
                FROM lane l CROSS JOIN generate_series(1, \(events / conversations))
                RETURNING id, subject
            ), owed AS (
                INSERT INTO webhooks.outbox (hook_id, lane, position, number, event, size)
                SELECT '\(hook)', e.subject, row_number() OVER (PARTITION BY e.subject ORDER BY e.id), 0, e.id, 400 FROM event e
            )
            INSERT INTO webhooks.lane (hook_id, lane, app_id, bytes)
            SELECT '\(hook)', l.id, '\(system.app.id)', 400 * \(events / conversations) FROM lane l;
            """, in: system)
        try await receiver.wait(for: goal)
        let took = (ContinuousClock.now - begun) / .seconds(1)
        let used = system.processorTimes().merging(before) { $0 - $1 }
        let cost = (used["webhooks"] ?? 0) / Double(events) * 1e6
        return String(
            format: "webhooks, owed, round %d: %d deliveries in %.2f s, %.0f/s, %.0f µs of CPU each in webhooks, memory %.1f -> %.1f MB", round,
            events, took,
            Double(events) / took, cost, Double(memory) / 1e6, Double(system.residentMemory["webhooks"] ?? 0) / 1e6)
    }

    /// Sends messages as fast as 32 users can, and waits until the hook has them.
    private static func live(_ system: BenchSystem, _ receiver: CountingReceiver) async throws -> String {
        let (users, each) = (32, 50)
        try await system.signIn(users: users)
        var rooms: [String] = []
        for user in 0..<users { rooms.append(try await system.conversation(of: [user, (user + 1) % users], as: user)) }
        let goal = receiver.count + users * each
        let begun = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (user, room) in rooms.enumerated() {
                group.addTask {
                    for _ in 0..<each {
                        try await system.post(
                            "/conversations/\(room)/messages", as: user, "{\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"x\"}]}")
                    }
                }
            }
            try await group.waitForAll()
        }
        let sent = (ContinuousClock.now - begun) / .seconds(1)
        try await receiver.wait(for: goal)
        let told = (ContinuousClock.now - begun) / .seconds(1)
        return String(
            format: "webhooks, live: %d messages sent in %.2f s (%.0f/s), the last one told %.0f ms later", users * each, sent,
            Double(users * each) / sent,
            (told - sent) * 1000)
    }

    private static func execute(_ script: String, in system: BenchSystem) async throws {
        var configuration = try PostgresConfiguration(url: system.state.databaseURL)
        configuration.connections = 1
        try await Migrator(configuration: configuration).execute(script: script)
    }
}

/// Accepts every request, and counts them.
private final class CountingReceiver: Sendable {
    private let counted = Mutex(0)
    private let channel: any Channel

    static func start(on group: any EventLoopGroup) async throws -> CountingReceiver {
        let box = Box()
        let channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Accepting { if let receiver = box.receiver.withLock({ $0 }) { receiver.counted.withLock { $0 += 1 } } })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let receiver = CountingReceiver(channel: channel)
        box.receiver.withLock { $0 = receiver }
        return receiver
    }

    private final class Box: Sendable {
        let receiver = Mutex<CountingReceiver?>(nil)
    }

    private init(channel: any Channel) { self.channel = channel }

    var port: Int { channel.localAddress?.port ?? 0 }
    var count: Int { counted.withLock { $0 } }

    func wait(for goal: Int) async throws {
        let end = ContinuousClock.now + .seconds(120)
        while count < goal {
            guard .now < end else { throw BenchProblem("only \(count) of \(goal) events have come") }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    func stop() async throws { try await channel.close() }
}

private final class Accepting: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let accepted: () -> Void

    init(accepted: @escaping () -> Void) { self.accepted = accepted }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        accepted()
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
