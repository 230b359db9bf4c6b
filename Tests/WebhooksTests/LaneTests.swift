// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataModel
import Testing

@testable import Webhooks

/// How lanes are claimed, read and ended, against PostgreSQL.
@Suite("lanes of webhooks")
struct LaneTests {
    @Test("lanes are claimed once each, with their first events in order, as many as asked for and of about so many bytes")
    func claimed() async throws {
        try await HookDatabase.run { database in
            let (one, two) = (try await database.hook(), try await database.hook())
            try await database.owe(one, lanes: 3, events: 5)
            try await database.owe(two, lanes: 3, events: 1)
            let some = try await database.claim([(one, 2), (two, 5)], total: 4, events: 3)
            #expect(some.map(\.hook).count { $0 == one } == 2)
            #expect(some.map(\.hook).count { $0 == two } == 2)
            #expect(some.filter { $0.hook == one }.allSatisfy { $0.events.map(\.position) == [1, 2, 3] && $0.events.allSatisfy { $0.number == 0 } })
            #expect(some.allSatisfy { lane in lane.events.allSatisfy { $0.subject == lane.lane && $0.kind == "Message.created" } })
            let rest = try await database.claim([(one, 5), (two, 5)], bytes: 801)
            #expect(rest.map(\.events.count).sorted() == [1, 3])
            #expect(Set((some + rest).map(\.lane)).count == 6)
            #expect(try await database.claim([(one, 5), (two, 5)]).isEmpty)
        }
    }

    @Test("a lane without events is claimed, and goes when it is ended with nothing done; one with events stays as it was")
    func empty() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.owe(hook, events: 0)
            try await database.owe(hook, events: 1)
            let lanes = try await database.claim([(hook, 5)])
            #expect(lanes.map(\.events.count).sorted() == [0, 1])
            for lane in lanes { #expect(try await database.finish(lane, pause: .zero)) }
            #expect(try await database.number("SELECT count(*) FROM webhooks.lane") == 1)
            #expect(try await database.claim([(hook, 5)]).map(\.events.count) == [1])
        }
    }

    @Test("events are read while a writer has locked their lane: neither waits for the other, and what the writer adds is told later")
    func reading() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            let lane = try await database.owe(hook)[0]
            let claimed = try #require(try await database.claim([(hook, 1)]).first)
            let write = "SELECT webhooks.emit('\(database.app)', '\(lane)', 2, 0, 'Message.created', gen_random_uuid(), now(), '{}')"
            try await database.during(write) {
                let rows = try await database.store.pool.query(
                    ReadLanes(hooks: [hook.rawValue], lanes: [lane], events: 10, bytes: 1000), deadline: HookDatabase.soon)
                #expect(rows.count == 1)
                // It cannot be ended meanwhile, since the writer counts on it.
                #expect(try await !database.finish(claimed, upTo: claimed.events.last))
            }
            #expect(try await database.finish(claimed, upTo: claimed.events.last))
            #expect(try await database.claim([(hook, 1)]).first?.events.map(\.position) == [2])
        }
    }

    @Test("what reads events cannot lock anything, and a claim reads none")
    func statements() async throws {
        try await HookDatabase.run { database in
            // The server refuses locks in such a function.
            #expect(try await database.texts("SELECT provolatile::text FROM pg_proc WHERE oid = 'webhooks.read_lanes'::regproc") == ["s"])
            #expect(try await database.number("SELECT count(*) FROM pg_proc WHERE oid = 'webhooks.claim'::regproc AND prosrc LIKE '%outbox%'") == 0)
        }
    }
}
