// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import LocalServers
import Model
import Postgres
import TestSupport
import Testing

@testable import Conversations

/// What a statement reads does not depend on what the planner believes about the tables: every call that is made often, or when a socket opens, is made
/// while the planner's knowledge is of another time, and how each of its statements was executed is looked at.
@Suite(.timeLimit(.minutes(5))) struct PlanTests {
    private static let settings = [
        "session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_nested_statements": "on",
        "auto_explain.log_analyze": "on", "auto_explain.log_buffers": "on", "auto_explain.log_timing": "off", "auto_explain.log_format": "json",
        "autovacuum": "off", "log_line_prefix": "",
    ]

    @Test("whatever the planner believes, no call reads more than it needs")
    func bounds() async throws {
        let server = try await TestServers.privatePostgres(settings: Self.settings)
        let url = try await TestServers.freshDatabase(on: server)
        try await ServiceFixture.migrate(url)
        let log = PlanLog(path: server.log)

        // Statistics that say that there is nothing, and plans that were made when there was nothing.
        let (installation, busy) = try await CallsFixture.run(on: url, connections: 1) { calls in
            try await calls.execute("ANALYZE")
            try await calls.register()
            let long = try await calls.conversation()
            for _ in 0..<7 { try await Scene(calls: calls, long: long).play { _, call in try await call() } }
            let installation = Installation(app: calls.app, long: long)
            try await calls.execute("DO $load$ BEGIN \(installation.script) END $load$")
            try await check(calls, long, log, "plans made when the tables were empty")
            return (installation, calls.app)
        }

        let beliefs = [
            ("statistics from before the load", "SELECT"),
            ("tables said to be empty", "UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE relkind IN ('r', 'i') AND oid > 16384"),
            (
                "tables said to be huge, in few pages",
                "UPDATE pg_class SET reltuples = 1e9, relpages = 1 WHERE relkind IN ('r', 'i') AND oid > 16384"
            ),
            ("true statistics", "ANALYZE"),
            ("no statistics of columns", "DELETE FROM pg_statistic WHERE starelid > 16384"),
        ]
        for (belief, statement) in beliefs {
            try await CallsFixture.run(on: url, connections: 1) { calls in
                try await calls.execute(statement)
                let calls = calls.with(app: busy)
                for _ in 0..<2 { try await check(calls, installation.long, log, belief) }
            }
        }
        await server.stop()
    }

    /// Makes every call, and looks at what it did.
    private func check(_ calls: CallsFixture, _ long: ConversationID, _ log: PlanLog, _ belief: String) async throws {
        try await Scene(calls: calls, long: long)
            .play { name, call in
                let start = try log.end
                try await call()
                let executions = try log.executions(since: start)
                #expect(!executions.isEmpty, "\(name) is not in the log")
                // What these calls themselves did within the last half minute is more than a page.
                let rule = name == "heads" ? PlanRule(readsByTime: true, rows: 5000) : PlanRule()
                for execution in executions {
                    for fault in rule.faults(of: execution) { Issue.record("\(belief), \(name): \(fault)") }
                }
            }
    }
}

/// A user's day: the calls whose plans are looked at, in an order in which each finds something to do.
private struct Scene {
    let calls: CallsFixture
    let long: ConversationID

    /// Makes each call inside `body`, which gets its name.
    func play(_ body: (String, () async throws -> Void) async throws -> Void) async throws {
        var recent: [ConversationID] = []
        var cursor: MessageID?
        let lately = Model.Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000) - 1_000_000)
        try await body("create") { recent.append(try await calls.create(["ben", "cleo"], metadata: ["title": "new"]).id) }
        try await body("create distinct") { recent.append(try await calls.create(["ben"], distinct: true).id) }
        try await body("send") {
            for _ in 0..<3 { cursor = try await calls.send(long, by: "ben").id }
            try await calls.send(recent[0], by: "cleo")
        }
        try await body("receipt") { if let cursor { try await calls.receipt(.read, cursor, by: "ana") } }
        try await body("mark all read") { try await calls.markAllRead(long, by: "ana") }
        try await body("metadata") { try await calls.patch(long, metadata: [set("color.\(recent[0])", "blue"), delete("color")]) }
        try await body("participants") {
            try await calls.patch(recent[0], [add("dora"), remove("cleo")])
            try await calls.patch(recent[0], [add("cleo")])
        }
        try await body("get") { _ = try await calls.get(long) }
        for byLastMessage in [false, true] {
            try await body("list") {
                let page = try await calls.list(byLastMessage: byLastMessage, pageSize: 5).views
                _ = try await calls.list(byLastMessage: byLastMessage, pageSize: 5, from: page.last?.conversation.id)
            }
        }
        try await body("messages") {
            let page = try await calls.messages(long, pageSize: 20).messages
            _ = try await calls.messages(long, pageSize: 20, from: page.last?.id)
        }
        try await body("message") { if let cursor { _ = try await calls.message(cursor, as: "ana") } }
        try await body("edit") {
            let message = try await calls.send(recent[0], parts: [.text("one")])
            try await calls.edit(message.id, .add(ProtoMessagePart(.text("two"))))
        }
        try await body("delete message") { if let cursor { try await calls.delete(cursor, by: "ana", .myDevices) } }
        for age: Int64 in [1, 3600, 86_400, 8 * 86_400] {
            try await body("baseline") {
                _ = try await calls.baseline(as: "ana", since: Model.Timestamp(microseconds: lately.microseconds - age * 1_000_000))
            }
        }
        // Not by the call, which gives the same answer for half a second.
        try await body("heads") {
            _ = try await calls.database.runAlone(.heads, [.timestamp(Postgres.Timestamp(microseconds: lately.microseconds))], deadline: .soon)
        }
        let head = try await calls.get(long).conversation.position.rawValue
        try await body("replay") {
            _ = try await calls.readLogs(as: "ana", [long: Position(head - 3), recent[0]: .zero], userAfter: .zero, limit: 50, bytes: 1 << 20)
            _ = try await calls.readLogs(as: "ana", [long: Position(head / 2)], limit: 50, bytes: 4000)
        }
        try await body("repair") {
            _ = try await calls.readChanges(long, after: Position(head / 2), limit: 50, bytes: 1 << 20, users: ["ana", "ben"])
        }
        try await body("follow") { try await calls.follow(["eve"]) }
        try await body("following") {
            _ = try await calls.followed(by: "ana")
            _ = try await calls.isFollowed("fay")
            _ = try await calls.listFollowed()
        }
        try await body("unfollow") { try await calls.unfollow("eve") }
        try await body("announcement") {
            let id = try await calls.announce(["ana"])
            try await calls.receipt(.read, id, by: "ana")
            _ = try await calls.announcements(of: "ana")
            try await calls.removeAnnouncement(id, by: "ana")
        }
        try await body("content") {
            let content = try await calls.content()
            let message = try await calls.send(recent[0], parts: [.text("look"), .content(content)])
            _ = try await calls.canSee(content, "ben")
            try await calls.delete(message.id, by: "ana", .allParticipants)
        }
        let sessions = Sessions(
            database: calls.database, publisher: Publisher(logger: ServiceFixture.quietLogger) { _, _ in }, lifetime: .seconds(86_400))
        let digest = [UInt8](repeating: 1, count: 32)
        try await body("session") {
            // Nobody has signed in before the load.
            _ = try await calls.refusal { try await sessions.find(digest, deadline: .soon) }
            _ = try await sessions.ended([digest], deadline: .soon)
        }
        try await body("trees") {
            try await calls.execute(
                """
                SELECT * FROM metadata.trees_within(
                    '\(calls.app)', ARRAY['\(long)', '\(recent[0])']::uuid[], ARRAY['ana', 'ana'], 1048576, 67108864)
                """)
        }
        try await body("delete") {
            try await calls.delete(recent[0], by: "ana", .myDevices)
            try await calls.delete(recent[0], by: "ben", .allParticipants)
        }
    }
}
