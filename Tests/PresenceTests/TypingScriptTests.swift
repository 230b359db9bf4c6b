// SPDX-License-Identifier: Apache-2.0

import Contracts
import Redis
import SeededRandom
import StrataModel
import TestSupport
import Testing

@testable import Presence

@Suite("Typing in Redis, under a simulated clock")
struct TypingScriptTests {
    private static let settings: TypingSettings = TypingSettings()

    private func store(_ fixture: PresenceFixture) -> TypingStore {
        TypingStore(
            redis: fixture.redis, settings: Self.settings, timeout: .seconds(5),
            scripts: TypingScripts(clock: .simulated))
    }

    @Test("the scripts agree with the state machine", arguments: [1, 2, 3] as [UInt64])
    func model(seed: UInt64) async throws {
        try await PresenceFixture.run { fixture in
            let store = store(fixture)
            var random = SeededGenerator(seed: seed)
            let conversations = (0..<3).map { _ in ConversationID.random() }
            let typists = conversations.flatMap { id in ["ana", "ben}:{x", "zoë"].map { signal(id, $0, .started) } }
            try await fixture.listen(to: conversations.map(Channels.conversation))
            var models = typists.map { _ in TypingModel(pause: 10_000, finish: 10_000, repeatAfter: 2500) }
            var expected: [TypingSignal] = []
            var now = 1_700_000_000_000
            for _ in 0..<600 {
                now += Int.random(in: 0...3000, using: &random)
                // Clocks are corrected, and Redis restarts without its data.
                if random.chance(1) { now += random.int(-60_000...60_000) }
                if random.chance(1) {
                    _ = try await fixture.command("FLUSHALL")
                    for index in models.indices { models[index].forget() }
                }
                _ = try await fixture.command("SET", "clock", .integer(Int64(now)))
                if Int.random(in: 0..<3, using: &random) == 0 {
                    let due = models.indices.sorted {
                        (models[$0].deadline ?? .max, "\(typists[$0])") < (
                            models[$1].deadline ?? .max, "\(typists[$1])"
                        )
                    }
                    for index in due {
                        guard let action = models[index].sweep(at: now) else { continue }
                        expected.append(signal(typists[index].conversationID, typists[index].user.rawValue, action))
                    }
                    let findings = await store.sweep(Array(0..<Channels.shards))
                    #expect(!findings.contains(.failed))
                } else {
                    let index = Int.random(in: 0..<models.count, using: &random)
                    let actions: [TypingAction] = [.started, .started, .paused, .finished]
                    let action = actions[Int.random(in: 0..<4, using: &random)]
                    let said = signal(typists[index].conversationID, typists[index].user.rawValue, action)
                    let announced = models[index].event(action, at: now)
                    if announced != nil { expected.append(said) }
                    let outcome = try await store.event(said, deadline: soon)
                    try #require((outcome != .nothingAnnounced) == (announced != nil), "seed \(seed)")
                }
            }
            await fixture.log.wait(for: expected.count)
            // The order is exact for one typist. Between typists of one sweep it follows the shards.
            for typist in typists {
                func of(_ signals: [TypingSignal]) -> [TypingAction] {
                    signals.filter { $0.user == typist.user && $0.conversationID == typist.conversationID }
                        .map(\.action)
                }
                #expect(of(fixture.log.signals) == of(expected), "seed \(seed)")
            }
            #expect(fixture.log.signals.count == expected.count)
        }
    }

    @Test("a begin that is not renewed pauses after 10 s and finishes 10 s later, with exact times")
    func deadlines() async throws {
        try await PresenceFixture.run { fixture in
            let store = store(fixture)
            let id = ConversationID.random()
            func at(_ milliseconds: Int64) async throws -> SweepFinding {
                _ = try await fixture.command("SET", "clock", .integer(1_000_000 + milliseconds))
                return await store.sweep([id.shard])[0]
            }
            let idle = try await at(0)
            #expect(idle == .nothing(next: nil))
            #expect(try await store.event(signal(id, "ana", .started), deadline: soon) == .transition)
            #expect(try await at(1000) == .nothing(next: .seconds(9)))
            #expect(try await store.event(signal(id, "ana", .started), deadline: soon) == .nothingAnnounced)
            #expect(try await at(10_999) == .nothing(next: .milliseconds(1)))
            #expect(try await at(13_000) == .work(lateness: .seconds(2)))
            // The pause counts from the time it was due, not from the sweep.
            #expect(try await at(20_999) == .nothing(next: .milliseconds(1)))
            #expect(try await at(21_000) == .work(lateness: .zero))
            #expect(try await at(22_000) == .nothing(next: nil))
            #expect(try await fixture.keys() == ["clock"])
        }
    }

    @Test("an unchanged state is announced at most every 2.5 s, and keys expire without sweeps")
    func repeated() async throws {
        try await PresenceFixture.run { fixture in
            let store = store(fixture)
            let id = ConversationID.random()
            func say(_ action: TypingAction, at milliseconds: Int64) async throws -> TypingStore.Outcome {
                _ = try await fixture.command("SET", "clock", .integer(1_000_000 + milliseconds))
                return try await store.event(signal(id, "ana", action), deadline: soon)
            }
            #expect(try await say(.started, at: 0) == .transition)
            #expect(try await say(.started, at: 2499) == .nothingAnnounced)
            #expect(try await say(.started, at: 2500) == .announcedAgain)
            #expect(try await say(.started, at: 4999) == .nothingAnnounced)
            #expect(try await say(.paused, at: 5000) == .transition)
            #expect(try await say(.paused, at: 5100) == .nothingAnnounced)
            #expect(try await say(.started, at: 5200) == .transition)
            for key in ["t:{\(id.shard)}", "td:{\(id.shard)}"] {
                let left = try await fixture.command("PTTL", .string(key)).int ?? 0
                #expect((1...80_000).contains(left))
            }
            #expect(try await say(.finished, at: 5300) == .transition)
            #expect(try await say(.finished, at: 5400) == .nothingAnnounced)
            #expect(try await fixture.keys() == ["clock"])
        }
    }

    @Test("a sweep discards a state without a deadline and a deadline without a state")
    func halfLost() async throws {
        try await PresenceFixture.run { fixture in
            let store = store(fixture)
            let id = ConversationID.random()
            _ = try await fixture.command("SET", "clock", 1_000_000)
            try await store.event(signal(id, "ana", .started), deadline: soon)
            _ = try await fixture.command("DEL", .string("t:{\(id.shard)}"))
            _ = try await fixture.command("SET", "clock", 2_000_000)
            #expect(await store.sweep([id.shard]) == [.work(lateness: .seconds(990))])
            #expect(await store.sweep([id.shard]) == [.nothing(next: nil)])
            try await store.event(signal(id, "ana", .started), deadline: soon)
            _ = try await fixture.command("DEL", .string("td:{\(id.shard)}"))
            #expect(try await store.event(signal(id, "ana", .finished), deadline: soon) == .transition)
            #expect(try await fixture.keys() == ["clock"])
        }
    }

    @Test("an announcement has a validity longer than any following silence, for all periods")
    func goodFor() async throws {
        #expect(TypingSettings().goodFor(.started) == .seconds(25))
        #expect(TypingSettings().goodFor(.paused) == .seconds(15))
        try await PresenceFixture.run { fixture in
            var settings = TypingSettings()
            settings.pauseAfter = .seconds(60)
            settings.finishAfter = .seconds(40)
            settings.sweepEvery = .seconds(5)
            let store = TypingStore(
                redis: fixture.redis, settings: settings, timeout: .seconds(5),
                scripts: TypingScripts(clock: .simulated))
            let id = ConversationID.random()
            try await fixture.listen(to: [Channels.conversation(id)])
            _ = try await fixture.command("SET", "clock", 1_000_000)
            try await store.event(signal(id, "ana", .started), deadline: soon)
            _ = try await fixture.command("SET", "clock", 1_060_000)
            _ = await store.sweep([id.shard])
            await fixture.log.wait(for: 2)
            // The validity exceeds the periods by an unannounced renewal and two sweep intervals.
            #expect(
                fixture.log.goodFor == [
                    .seconds(60 + 40) + .milliseconds(2500) + .seconds(10),
                    .seconds(40) + .milliseconds(2500) + .seconds(10),
                ])
        }
    }

    @Test("a sweep takes at most one batch, and reports whether it was full")
    func batch() async throws {
        try await PresenceFixture.run { fixture in
            var settings = TypingSettings()
            settings.sweepBatch = 3
            let store = TypingStore(
                redis: fixture.redis, settings: settings, timeout: .seconds(5),
                scripts: TypingScripts(clock: .simulated))
            let id = ConversationID.random()
            try await fixture.listen(to: [Channels.conversation(id)])
            _ = try await fixture.command("SET", "clock", 1_000_000)
            for user in 0..<7 { try await store.event(signal(id, "u\(user)", .paused), deadline: soon) }
            _ = try await fixture.command("SET", "clock", 1_010_000)
            for _ in 0..<2 { #expect(await store.sweep([id.shard]) == [.work(lateness: .zero, isBatchFull: true)]) }
            #expect(await store.sweep([id.shard]) == [.work(lateness: .zero)])
            #expect(await store.sweep([id.shard]) == [.nothing(next: nil)])
            await fixture.log.wait(for: 14)
            #expect(fixture.log.signals.suffix(7).allSatisfy { $0.action == .finished })
        }
    }
}
