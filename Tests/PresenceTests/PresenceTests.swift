// SPDX-License-Identifier: Apache-2.0

import Contracts
import Redis
import StrataModel
import Testing

@testable import Presence

@Suite("Presence in Redis, under a simulated clock", .timeLimit(.minutes(2)))
struct PresenceScriptTests {
    private struct PresenceScenario: Sendable {
        let fixture: PresenceFixture
        let store: PresenceStore
        let user: PresenceStore.User

        init(_ fixture: PresenceFixture, user: String = "ana", periods: PresencePeriods = .round) {
            self.fixture = fixture
            store = PresenceStore(
                redis: fixture.redis, periods: periods, timeout: .seconds(5),
                scripts: PresenceScripts(clock: .simulated))
            self.user = PresenceStore.User(app: .random(), id: UserID(trusted: user))
        }

        func at(_ seconds: Int64) async throws {
            _ = try await fixture.command("SET", "clock", .integer(seconds * 1000))
        }
        func set(_ status: Presence.Status?, _ connection: UInt64) async throws {
            try await store.set(status, of: connection, for: user, deadline: soon)
        }
        func renew(_ connections: UInt64...) async throws -> [UInt64] {
            try await store.renew([(user, connections)], deadline: soon)[0].connections
        }
        func release(_ connections: UInt64...) async throws {
            try await store.release([(user, connections)], deadline: soon)
        }
        /// Returns the status, and the times last seen and last changed, in seconds.
        func state() async throws -> (Presence.Status, Int64?, Int64?) {
            let found = try await store.find([user], deadline: soon)[0]
            return (
                found.presence.status, found.presence.lastSeenAt.map { $0.microseconds / 1_000_000 },
                found.changedAt.map { $0.microseconds / 1_000_000 }
            )
        }
        func sweep() async -> SweepFinding { await store.sweep([user.shard])[0] }
        func listen() async throws { try await fixture.listen(to: [Channels.presence(app: user.app, user: user.id)]) }
    }

    @Test("a user has the best status of their connections")
    func best() async throws {
        try await PresenceFixture.run { fixture in
            let scenario = PresenceScenario(fixture)
            try await scenario.listen()
            try await scenario.at(1000)
            #expect(try await scenario.state() == (.offline, nil, nil))
            try await scenario.set(.invisible, 1)
            #expect(try await scenario.state() == (.invisible, nil, 1000))
            try await scenario.at(1001)
            try await scenario.set(.away, 2)
            try await scenario.at(1002)
            try await scenario.set(.busy, 3)
            #expect(try await scenario.state() == (.busy, 1002, 1002))
            try await scenario.at(1003)
            try await scenario.set(.available, 2)
            #expect(try await scenario.state() == (.available, 1003, 1003))
            try await scenario.at(1004)
            try await scenario.set(.offline, 2)
            #expect(try await scenario.state() == (.busy, 1003, 1004))
            await fixture.log.wait(for: 5)
            #expect(fixture.log.statuses == [.invisible, .away, .busy, .available, .busy])
            guard case .presence(let last) = fixture.log.entries[4] else { return }
            #expect(last.presence.lastSeenAt == Timestamp(microseconds: 1_003_000_000))
            #expect(last.user == scenario.user.id && last.appID == scenario.user.app)
        }
    }

    @Test("auto means the status the user last chose, or available")
    func auto() async throws {
        try await PresenceFixture.run { fixture in
            let scenario = PresenceScenario(fixture)
            try await scenario.at(1000)
            try await scenario.set(nil, 1)
            #expect(try await scenario.state().0 == .available)
            try await scenario.set(.away, 1)
            try await scenario.at(5000)
            #expect(try await scenario.state().0 == .offline)
            try await scenario.set(nil, 2)
            #expect(try await scenario.state() == (.away, 5000, 5000))
        }
    }

    @Test("a lease that is not renewed ends and is announced once; a renewed one continues")
    func expiry() async throws {
        try await PresenceFixture.run { fixture in
            let scenario = PresenceScenario(fixture)
            try await scenario.listen()
            try await scenario.at(1000)
            try await scenario.set(.available, 1)
            #expect(await scenario.sweep() == .nothing(next: .seconds(60)))
            try await scenario.at(1050)
            #expect(try await scenario.renew(1, 9) == [9])
            try await scenario.at(1109)
            #expect(await scenario.sweep() == .nothing(next: .seconds(1)))
            try await scenario.at(1112)
            #expect(await scenario.sweep() == .work(lateness: .seconds(2)))
            #expect(await scenario.sweep() == .nothing(next: nil))
            #expect(try await scenario.state() == (.offline, 1050, 1112))
            #expect(try await scenario.renew(1) == [1])
            await fixture.log.wait(for: 2)
            #expect(fixture.log.statuses == [.available, .offline])
        }
    }

    @Test("the status stays for the grace period after a disconnect, and a new connection keeps it")
    func grace() async throws {
        try await PresenceFixture.run { fixture in
            let scenario = PresenceScenario(fixture)
            try await scenario.listen()
            try await scenario.at(1000)
            try await scenario.set(.busy, 1)
            try await scenario.at(1010)
            try await scenario.release(1, 2)
            #expect(try await scenario.state() == (.busy, 1010, 1000))
            try await scenario.at(1039)
            #expect(await scenario.sweep() == .nothing(next: .seconds(1)))
            try await scenario.set(nil, 5)
            try await scenario.at(1040)
            #expect(await scenario.sweep() == .work(lateness: .zero))
            #expect(try await scenario.state().0 == .busy)
            try await scenario.release(5)
            try await scenario.at(1070)
            #expect(await scenario.sweep() == .work(lateness: .zero))
            await fixture.log.wait(for: 2)
            #expect(fixture.log.statuses == [.busy, .offline])
        }
    }

    @Test("invisible and offline do not advance the user's last-seen time")
    func unseen() async throws {
        try await PresenceFixture.run { fixture in
            let scenario = PresenceScenario(fixture)
            try await scenario.at(1000)
            try await scenario.set(.available, 1)
            try await scenario.at(1020)
            try await scenario.set(.invisible, 1)
            try await scenario.at(1030)
            _ = try await scenario.renew(1)
            #expect(try await scenario.state() == (.invisible, 1000, 1020))
            try await scenario.at(1040)
            try await scenario.set(.offline, 1)
            try await scenario.release(1)
            #expect(try await scenario.state() == (.offline, 1000, 1040))
        }
    }

    @Test("names may contain braces and colons", arguments: ["a}b{c", "{}", "a:b:c", "zoë 😀"])
    func names(_ name: String) async throws {
        try await PresenceFixture.run { fixture in
            let scenario = PresenceScenario(fixture, user: name)
            try await scenario.listen()
            try await scenario.at(1000)
            try await scenario.set(.available, 1)
            try await scenario.at(1060)
            #expect(await scenario.sweep() == .work(lateness: .zero))
            await fixture.log.wait(for: 2)
            #expect(fixture.log.statuses == [.available, .offline])
            guard case .presence(let change) = fixture.log.entries[0] else { return }
            #expect(change.user.rawValue == name)
        }
    }

    @Test(
        "with the defaults, a user is offline within 30 seconds of a closed connection, or of a dead gateway's last renewal"
    )
    func within() async throws {
        let periods = PresencePeriods()
        #expect(periods.longestUntilOffline <= .seconds(29))
        #expect(periods.renewAfter * 3 <= periods.lease)
        try await PresenceFixture.run { fixture in
            for isReleased in [true, false] {
                let scenario = PresenceScenario(fixture, periods: periods)
                try await scenario.at(1000)
                try await scenario.set(.available, 1)
                try await scenario.at(1005)
                #expect(try await scenario.renew(1) == [])
                if isReleased { try await scenario.release(1) }
                try await scenario.at(1024)
                #expect(try await scenario.state().0 == .available)
                // The latest possible time of the sweep (`longestUntilOffline`).
                try await scenario.at(1005 + 29)
                #expect(try await scenario.state().0 == .offline)
            }
        }
    }

    @Test("a sweep reports whether its batch was full")
    func batch() async throws {
        try await PresenceFixture.run { fixture in
            var periods = PresencePeriods.round
            periods.sweepBatch = 3
            let store = PresenceStore(
                redis: fixture.redis, periods: periods, timeout: .seconds(5),
                scripts: PresenceScripts(clock: .simulated))
            let app = AppID.random()
            let users = (0...).lazy.map { PresenceStore.User(app: app, id: UserID(trusted: "u\($0)")) }
                .filter { $0.shard == 7 }.prefix(5)
            _ = try await fixture.command("SET", "clock", 1_000_000)
            for user in users { try await store.set(.available, of: 1, for: user, deadline: soon) }
            _ = try await fixture.command("SET", "clock", 1_060_000)
            #expect(await store.sweep([7]) == [.work(lateness: .zero, isBatchFull: true)])
            #expect(await store.sweep([7]) == [.work(lateness: .zero)])
            #expect(await store.sweep([7]) == [.nothing(next: nil)])
        }
    }

    @Test("a sweep that cannot process its findings has failed, even with a full batch; other shards continue")
    func unsettled() async throws {
        try await PresenceFixture.run { fixture in
            var periods = PresencePeriods.round
            periods.sweepBatch = 1
            let store = PresenceStore(
                redis: fixture.redis, periods: periods, timeout: .seconds(5),
                scripts: PresenceScripts(clock: .simulated))
            let app = AppID.random()
            func user(on shard: Int) throws -> PresenceStore.User {
                let users = (0...).lazy.map { PresenceStore.User(app: app, id: UserID(trusted: "u\($0)")) }
                return try #require(users.first { $0.shard == shard })
            }
            let (stuck, fine) = (try user(on: 3), try user(on: 7))
            _ = try await fixture.command("SET", "clock", 1_000_000)
            for user in [stuck, fine] { try await store.set(.available, of: 1, for: user, deadline: soon) }
            _ = try await fixture.command("DEL", .string(stuck.keys[0]))
            _ = try await fixture.command("SET", .string(stuck.keys[0]), "no hash")
            _ = try await fixture.command("SET", "clock", 1_060_000)
            #expect(await store.sweep([3, 7]) == [.failed, .work(lateness: .zero, isBatchFull: true)])
            #expect(await store.sweep([3, 7]) == [.failed, .nothing(next: nil)])
            _ = try await fixture.command("DEL", .string(stuck.keys[0]))
            #expect(await store.sweep([3]) == [.work(lateness: .zero, isBatchFull: true)])
            #expect(await store.sweep([3]) == [.nothing(next: nil)])
        }
    }

    @Test("deadlines without a user are deleted and do not count towards a full batch")
    func strange() async throws {
        try await PresenceFixture.run { fixture in
            var periods = PresencePeriods.round
            periods.sweepBatch = 3
            let store = PresenceStore(
                redis: fixture.redis, periods: periods, timeout: .seconds(5),
                scripts: PresenceScripts(clock: .simulated))
            let users = (0...).lazy.map { PresenceStore.User(app: .random(), id: UserID(trusted: "u\($0)")) }
            let user = try #require(users.first { $0.shard == 7 })
            _ = try await fixture.command("SET", "clock", 1_000_000)
            try await store.set(.available, of: 1, for: user, deadline: soon)
            for word in ["no user", "nor:this", "\(user.app)".uppercased() + ":ana"] {
                _ = try await fixture.command("ZADD", "pd:{7}", 1_000_000, .string(word))
            }
            _ = try await fixture.command("SET", "clock", 1_060_000)
            #expect(await store.sweep([7]) == [.work(lateness: .seconds(60))])
            #expect(try await fixture.command("ZRANGE", "pd:{7}", 0, -1).array?.compactMap(\.string) == [user.member])
            #expect(await store.sweep([7]) == [.work(lateness: .zero)])
            #expect(await store.sweep([7]) == [.nothing(next: nil)])
        }
    }

    @Test("all keys expire eventually, leases soon and remembered statuses after weeks")
    func retention() async throws {
        try await PresenceFixture.run { fixture in
            let store = PresenceStore(redis: fixture.redis, periods: .round, timeout: .seconds(5))
            let user = PresenceStore.User(app: .random(), id: UserID(trusted: "ana"))
            try await store.set(.available, of: 1, for: user, deadline: soon)
            let leases = try await fixture.command("PTTL", .string(user.keys[0])).int ?? 0
            #expect((60_000...121_000).contains(leases))
            let record = try await fixture.command("PTTL", .string(user.keys[1])).int ?? 0
            #expect((1...2_592_000_000).contains(record) && record > 2_500_000_000)
            _ = try await store.find([.init(app: .random(), id: UserID(trusted: "nobody"))], deadline: soon)
            #expect(try await fixture.keys().count == 3)
        }
    }
}
