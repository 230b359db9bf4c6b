// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import StrataModel
import Testing

@testable import Webhooks

/// Claiming, reading and releasing of lanes, against PostgreSQL.
@Suite("lanes of webhooks")
struct LaneTests {
    private static func isAbout(_ duration: Duration, hours: Int) -> Bool {
        duration >= .seconds(3600 * hours) && duration < .seconds(3600 * hours + 60)
    }

    @Test("lanes are claimed once each, with their first events in order, within limits of count and bytes")
    func claimed() async throws {
        try await HookDatabase.run { database in
            let (one, two) = (try await database.hook(), try await database.hook())
            try await database.addPendingEvents(one, lanes: 3, events: 5)
            try await database.addPendingEvents(two, lanes: 3, events: 1)
            let some = try await database.claim([(one, 2), (two, 5)], total: 4, events: 3)
            #expect(some.map(\.hook).count { $0 == one } == 2)
            #expect(some.map(\.hook).count { $0 == two } == 2)
            #expect(
                some.filter { $0.hook == one }
                    .allSatisfy { $0.events.map(\.position) == [1, 2, 3] && $0.events.allSatisfy { $0.number == 0 } })
            #expect(
                some.allSatisfy { lane in
                    lane.events.allSatisfy { $0.subject == lane.lane && $0.kind == "Message.created" }
                })
            let rest = try await database.claim([(one, 5), (two, 5)], bytes: 801)
            #expect(rest.map(\.events.count).sorted() == [1, 3])
            #expect(Set((some + rest).map(\.lane)).count == 6)
            #expect(try await database.claim([(one, 5), (two, 5)]).isEmpty)
        }
    }

    @Test("an empty lane is claimed, and deleted at its end; a lane with events stays unchanged")
    func empty() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook, events: 0)
            try await database.addPendingEvents(hook, events: 1)
            let lanes = try await database.claim([(hook, 5)])
            #expect(lanes.map(\.events.count).sorted() == [0, 1])
            for lane in lanes { #expect(try await database.finish(lane, pause: .zero)) }
            #expect(try await database.number("SELECT count(*) FROM webhooks.lane") == 1)
            #expect(try await database.claim([(hook, 5)]).map(\.events.count) == [1])
        }
    }

    @Test(
        "reading events and a writer that locks their lane do not block each other, and new events are delivered later")
    func reading() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            let lane = try await database.addPendingEvents(hook)[0]
            let claimed = try #require(try await database.claim([(hook, 1)]).first)
            let write =
                "SELECT webhooks.emit('\(database.app)', '\(lane)', 2, 0, 'Message.created', gen_random_uuid(), now(), '{}')"
            try await database.during(write) {
                let rows = try await database.store.pool.query(
                    ReadLanes(hooks: [hook.rawValue], lanes: [lane], events: 10, bytes: 1000),
                    deadline: HookDatabase.soon)
                #expect(rows.count == 1)
                // The lane cannot be ended meanwhile, because the writer relies on it.
                #expect(try await !database.finish(claimed, upTo: claimed.events.last))
            }
            #expect(try await database.finish(claimed, upTo: claimed.events.last))
            #expect(try await database.claim([(hook, 1)]).first?.events.map(\.position) == [2])
        }
    }

    @Test("reading events takes no locks, and a claim reads no events")
    func statements() async throws {
        try await HookDatabase.run { database in
            // PostgreSQL refuses locks in a stable function.
            let volatility = try await database.texts(
                "SELECT provolatile::text FROM pg_proc WHERE oid = 'webhooks.read_lanes'::regproc")
            #expect(volatility == ["s"])
            let reading = try await database.number(
                "SELECT count(*) FROM pg_proc WHERE oid = 'webhooks.claim'::regproc AND prosrc LIKE '%outbox%'")
            #expect(reading == 0)
        }
    }

    @Test("failed lanes come after the others and get at most half of their hook's capacity, including running ones")
    func failing() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook, lanes: 20, attempts: 2, dueIn: -100)
            try await database.addPendingEvents(hook, lanes: 3)
            // If there is room for more than one lane, failed lanes get a share.
            let first = try await database.claim([(hook, 3)])
            #expect(first.map(\.failures).sorted() == [0, 0, 2])
            // One failed lane is already claimed. Including it, failed lanes get four of eight places.
            let second = try await database.claim([(hook, 7)])
            #expect(second.map(\.failures).sorted() == [0, 2, 2, 2])
            #expect(try await database.claim([(hook, 4)]).isEmpty)
            // Ending a failed lane makes room for another one.
            let failed = try #require(second.first { $0.failures == 2 })
            #expect(try await database.finish(failed, failures: 3, pause: .seconds(60)))
            #expect(try await database.claim([(hook, 5)]).map(\.failures) == [2])
        }
    }

    @Test("an unfinished claim counts as lost, and contains the size of its lane")
    func lost() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook, events: 2)
            func claim() async throws -> ClaimedLane {
                // The lease of the previous claim has ended.
                try await database.sql("UPDATE webhooks.lane SET due_at = now() - interval '1 second'")
                return try #require(try await database.claim([(hook, 1)]).first)
            }
            #expect(try await claim().lost == 0)
            #expect(try await claim().lost == 1)
            let third = try await claim()
            #expect(third.lost == 2 && third.bytes == 800)
            #expect(try await database.finish(third, upTo: third.events.first))
            let last = try await claim()
            #expect(last.lost == 0 && last.bytes == 400)
        }
    }

    @Test("a failed lane gets the only free place if no other lane is due")
    func alone() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook, lanes: 2, attempts: 1, dueIn: -100)
            try await database.addPendingEvents(hook)
            #expect(try await database.claim([(hook, 1)]).map(\.failures) == [0])
            #expect(try await database.claim([(hook, 1)]).map(\.failures) == [1])
        }
    }

    @Test("an event's first failure time is kept until its delivery, and the next event starts without one")
    func since() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook, events: 3)
            /// Claims the lane as if it had been ended an hour ago.
            func later() async throws -> ClaimedLane {
                try await database.sql(
                    "UPDATE webhooks.lane SET failed_since = failed_since - interval '1 hour', due_at = now() - interval '1 second'"
                )
                return try #require(try await database.claim([(hook, 1)]).first)
            }
            var lane = try await later()
            #expect(lane.failingFor == .zero && lane.failures == 0)
            // The lane was released without an attempt.
            try await database.finish(lane, pause: .zero)
            lane = try await later()
            #expect(lane.failingFor == .zero)
            try await database.finish(lane, failures: 1, pause: .seconds(10))
            lane = try await later()
            #expect(lane.failures == 1)
            #expect(Self.isAbout(lane.failingFor, hours: 1))
            try await database.finish(lane, failures: 2, pause: .seconds(30))
            lane = try await later()
            #expect(Self.isAbout(lane.failingFor, hours: 2))
            try await database.finish(lane, upTo: lane.events[0], failures: 1, pause: .seconds(10))
            lane = try await later()
            #expect(Self.isAbout(lane.failingFor, hours: 1))
            #expect(lane.failures == 1 && lane.events.map(\.position) == [2, 3])
            try await database.finish(lane, upTo: lane.events[0])
            lane = try await later()
            #expect(lane.failingFor == .zero && lane.failures == 0 && lane.events.map(\.position) == [3])
        }
    }
}
