// SPDX-License-Identifier: Apache-2.0

import Contracts
import Foundation
import LocalServers
import RPC
import StrataModel
import TestTiers
import Testing

@testable import Presence

@Suite("Presence through the service", .timeLimit(.minutes(2)))
struct PresenceServiceTests {
    private struct Caller: Sendable {
        let client: RPCClient
        let app = AppID.random()

        func lease(_ user: String, _ connection: UInt64) -> ProtoLease {
            var lease = ProtoLease()
            lease.appID = Data(app)
            lease.userID = user
            lease.connection = connection
            return lease
        }
        func set(_ user: String, _ connection: UInt64, _ status: String) async throws(Failure) {
            var request = ProtoSetPresenceRequest()
            request.lease = lease(user, connection)
            request.status = status
            _ = try await client.call(PresenceAPI.setPresence, with: request, for: .until(soon))
        }
        func renew(_ leases: [ProtoLease]) async throws(Failure) -> [ProtoLease] {
            var request = ProtoRenewPresenceRequest()
            request.leases = leases
            return try await client.call(PresenceAPI.renewPresence, with: request, for: .until(soon))
                .forgotten
        }
        func release(_ leases: [ProtoLease]) async throws(Failure) {
            var request = ProtoReleasePresenceRequest()
            request.leases = leases
            _ = try await client.call(PresenceAPI.releasePresence, with: request, for: .until(soon))
        }
        func get(_ users: [String], since: Timestamp? = nil) async throws -> [PresencePublication] {
            var request = ProtoGetPresenceRequest()
            request.appID = Data(app)
            request.userIds = users
            if let since { request.since = since.microseconds }
            return try await client.call(PresenceAPI.getPresence, with: request, for: .until(soon))
                .presences
                .map { try PresencePublication($0) }
        }
    }

    private func withServices(
        _ count: Int, _ periods: PresencePeriods = .short,
        _ body: @Sendable (PresenceFixture, Caller) async throws -> Void
    ) async throws {
        try await PresenceFixture.run { fixture in
            let services = try (0..<count).map { _ in try fixture.service(presence: periods) }
            try await running(services) {
                let client = try await fixture.client(of: services[0])
                try await running([client]) { try await body(fixture, Caller(client: client)) }
            }
        }
    }

    @Test("two instances that sweep concurrently announce each expired lease exactly once")
    func exactlyOnce() async throws {
        try await withServices(2) { fixture, caller in
            let users = (0..<50).map { "u\($0)" }
            try await fixture.listen(
                to: (users + ["last"]).map { Channels.presence(app: caller.app, user: UserID(trusted: $0)) })
            for user in users { try await caller.set(user, 1, "available") }
            await fixture.log.wait(for: 100)
            try await caller.set("last", 1, "busy")
            await fixture.log.wait(for: 102)
            #expect(fixture.log.statuses.count { $0 == .available } == 50)
            #expect(fixture.log.statuses.count { $0 == .offline } == 51)
        }
    }

    @Test("many leases that expire together are announced in one sweep, not one batch per sweep")
    func together() async throws {
        var periods = PresencePeriods.short
        periods.sweepBatch = 1
        periods.sweepEvery = .seconds(2)
        try await withServices(1, periods) { fixture, caller in
            let names = (0...).lazy.map { "u\($0)" }
                .filter { Channels.presenceShard(app: caller.app, user: UserID(trusted: $0)) == 7 }.prefix(80)
            try await fixture.listen(to: names.map { Channels.presence(app: caller.app, user: UserID(trusted: $0)) })
            for name in names { try await caller.set(name, 1, "available") }
            // With a sweep every two seconds, this would exceed the test's time limit.
            await fixture.log.wait(for: 160)
            #expect(fixture.log.statuses.count { $0 == .offline } == 80)
        }
    }

    @Test("a renewal returns forgotten leases, and a release ends presence after the grace period")
    func leases() async throws {
        try await withServices(1, PresencePeriods()) { fixture, caller in
            try await caller.set("ana", 1, "available")
            try await caller.set("ana", UInt64.max, "away")
            try await caller.set("ben", 3, "auto")
            let forgotten = try await caller.renew([
                caller.lease("ana", 1), caller.lease("ana", .max), caller.lease("ana", 2), caller.lease("ben", 3),
                caller.lease("eve", 4),
            ])
            #expect(Set(forgotten) == [caller.lease("ana", 2), caller.lease("eve", 4)])
            #expect(try await caller.renew([]) == [])
            try await caller.release([caller.lease("ana", 1), caller.lease("eve", 4)])
            #expect(try await caller.get(["ana"])[0].presence.status == .available)
        }
        try await withServices(1) { fixture, caller in
            try await fixture.listen(to: [Channels.presence(app: caller.app, user: UserID(trusted: "ana"))])
            try await caller.set("ana", 1, "available")
            try await caller.release([caller.lease("ana", 1)])
            await fixture.log.wait(for: 2)
            #expect(fixture.log.statuses == [.available, .offline])
        }
    }

    @Test("every answer tells gateways to renew three times per lease")
    func renewal() async throws {
        var periods = PresencePeriods()
        periods.lease = .seconds(12)
        try await withServices(1, periods) { _, caller in
            let lease = caller.lease("ana", 1)
            var (first, next) = (ProtoSetPresenceRequest(), ProtoRenewPresenceRequest())
            first.lease = lease
            first.status = "available"
            next.leases = [lease]
            let set = try await caller.client.call(PresenceAPI.setPresence, with: first, for: .until(soon))
            let renewed = try await caller.client.call(PresenceAPI.renewPresence, with: next, for: .until(soon))
            #expect(set.renewAfterMs == 4000 && renewed.renewAfterMs == 4000)
        }
    }

    @Test("presences are returned in request order, or only those changed since a time")
    func get() async throws {
        try await withServices(1, PresencePeriods()) { fixture, caller in
            try await caller.set("ana", 1, "available")
            try await caller.set("ben", 2, "invisible")
            let all = try await caller.get(["eve", "ben", "ana"])
            #expect(all.map(\.user.rawValue) == ["eve", "ben", "ana"])
            #expect(all.map(\.presence.status) == [.offline, .invisible, .available])
            #expect(all[0].presence.lastSeenAt == nil && all[1].presence.lastSeenAt == nil)
            let seen = try #require(all[2].presence.lastSeenAt)
            #expect(
                try await caller.get(["ana", "eve"], since: Timestamp(microseconds: seen.microseconds - 1))
                    .map(\.user.rawValue) == ["ana"])
            #expect(try await caller.get(["ana", "eve"], since: seen).isEmpty)
        }
    }

    @Test("an invalid status or user is refused")
    func refused() async throws {
        try await withServices(1) { _, caller in
            let status = await #expect(throws: Failure.self) { try await caller.set("ana", 1, "online") }
            #expect(status?.code == .invalidProperty && status?.detail == .property("status"))
            let user = await #expect(throws: Failure.self) { try await caller.set("", 1, "away") }
            #expect(user?.detail == .property("user_id"))
        }
    }

    @Test("callers fail at once while Redis is down, and succeed afterwards")
    func away() async throws {
        try await withServices(1) { fixture, caller in
            try await caller.set("ana", 1, "away")
            await fixture.server.kill()
            let failure = await #expect(throws: Failure.self) { try await caller.set("ana", 1, "busy") }
            #expect(failure?.code == .serviceUnavailable)
            try await fixture.server.restart()
            try await eventually("callers still fail") {
                (try? await caller.renew([caller.lease("ana", 1)])) == [caller.lease("ana", 1)]
            }
        }
    }
}
