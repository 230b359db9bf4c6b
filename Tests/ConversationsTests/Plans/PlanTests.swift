// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import LocalServers
import Mutations
import Postgres
import StrataModel
import TestSupport
import Testing

@testable import Conversations

/// The rows that a statement reads must not depend on the planner's statistics. With outdated statistics, the test
/// makes every call that is frequent or happens when a socket opens. It then checks the execution plan of each
/// statement.
@Suite(.timeLimit(.minutes(5))) struct PlanTests {
    private static let settings = [
        "session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0",
        "auto_explain.log_nested_statements": "on",
        "auto_explain.log_analyze": "on", "auto_explain.log_buffers": "on", "auto_explain.log_timing": "off",
        "auto_explain.log_format": "json",
        "autovacuum": "off", "log_line_prefix": "",
    ]

    @Test("no call reads more rows than necessary, under any planner statistics")
    func bounds() async throws {
        let server = try await TestServers.privatePostgres(settings: Self.settings)
        let url = try await TestServers.freshDatabase(on: server)
        try await ServiceFixture.migrate(url)
        let log = PlanLog(path: server.log)

        // Statistics of empty tables, and plans made while the tables were empty.
        let (installation, busy) = try await CallsFixture.run(on: url, connections: 1) { calls in
            try await calls.execute("ANALYZE")
            try await calls.register()
            try await calls.index("title")
            let long = try await calls.conversation()
            for _ in 0..<7 { try await Scene(calls: calls, long: long).play { _, call in try await call() } }
            let installation = Installation(app: calls.app, long: long)
            try await calls.execute("DO $load$ BEGIN \(installation.script) END $load$")
            try await check(calls, long, log, "plans made when the tables were empty")
            return (installation, calls.app)
        }

        let beliefs = [
            ("statistics from before the load", "SELECT"),
            (
                "tables said to be empty",
                "UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE relkind IN ('r', 'i') AND oid > 16384"
            ),
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

    @Test("following many users, or replaying these follows, reads each conversation of the user once")
    func followed() async throws {
        let server = try await TestServers.privatePostgres(settings: Self.settings)
        let url = try await TestServers.freshDatabase(on: server)
        try await ServiceFixture.migrate(url)
        let log = PlanLog(path: server.log)
        try await CallsFixture.run(on: url, connections: 1) { calls in
            let conversations = 300
            try await calls.execute(
                """
                DO $load$ BEGIN
                    CREATE TEMPORARY TABLE load ON COMMIT DROP AS SELECT n, gen_random_uuid() AS id FROM generate_series(1, \(conversations)) n;
                    INSERT INTO conversations.conversation (
                        id, app_id, created_at, created_by, is_distinct, position, last_change_at, message_count, last_ordinal)
                    SELECT l.id, '\(calls.app)', now(), 'ana', false, 1, now(), 0, 0 FROM load l;
                    INSERT INTO conversations.participant (conversation_id, user_id, app_id, first_joined, joined, uncounted, hidden_count)
                    SELECT l.id, u, '\(calls.app)', 1, 1, 0, 0 FROM load l, unnest(ARRAY['ana', 'met' || l.n]) u;
                    INSERT INTO conversations.user_conversation (app_id, user_id, conversation_id, created_at)
                    SELECT '\(calls.app)', u, l.id, now() FROM load l, unnest(ARRAY['ana', 'met' || l.n]) u;
                END $load$
                """)
            let users = (1...100).map { "user\($0)" }
            var start = try log.end
            let query = Follow(
                app: calls.app, user: UserID(trusted: "ana"),
                users: (users + ["met1", "met2"]).map { UserID(trusted: $0) }, limit: nil)
            let rows = try await calls.database.exclusive.query(
                Follow.statement.direct, with: query.parameters, deadline: .soon)
            #expect(rows.count == 1 + users.count)
            let following = try log.executions(since: start)
            #expect(read(following) <= Double(5 * conversations))

            // Unfollowing leaves no row, so each such user must be looked up to find out whether they have met.
            for user in users.prefix(20) { try await calls.unfollow(user) }
            start = try log.end
            let told = try await calls.readLogs(as: "ana", [:], userAfter: .zero, limit: 200).userChanges
            #expect(told.count == 120 && told.filter { $0.content == .obsolete }.count == 20)
            let executions = try log.executions(since: start)
            #expect(read(executions) <= Double(5 * conversations))
            #expect(executions.count { $0.query.contains("conversations.followed_among($1") } == 1)
        }
        await server.stop()
    }

    /// Returns the number of rows read to determine which users have met.
    private func read(_ executions: [PlanLog.Execution]) -> Double {
        executions.flatMap(\.plan.all)
            .filter { ["participant", "user_conversation"].contains($0.relation) && $0.children.isEmpty }
            .reduce(0) { $0 + $1.loops * ($1.rows + $1.removed) }
    }

    private static func rule(for name: String) -> PlanRule {
        switch name {
        // This test's own calls within the last half minute exceed a page.
        case "heads": PlanRule(readsByTime: true, rows: 5000)
        // It reads the log in batches of 2000 entries.
        case "report conversations": PlanRule(readsByTime: true, rows: 5000)
        // It lists the apps of a deployment, which have no index by age.
        case "report apps": PlanRule(whole: ["app"])
        default: PlanRule()
        }
    }

    /// Makes every call and checks the plans of its statements.
    private func check(_ calls: CallsFixture, _ long: ConversationID, _ log: PlanLog, _ belief: String) async throws {
        try await Scene(calls: calls, long: long)
            .play { name, call in
                let start = try log.end
                try await call()
                let executions = try log.executions(since: start)
                #expect(!executions.isEmpty, "\(name) is not in the log")
                let rule = Self.rule(for: name)
                for execution in executions {
                    for fault in rule.faults(of: execution) { Issue.record("\(belief), \(name): \(fault)") }
                }
            }
    }
}

/// A sequence of the calls whose plans are checked, ordered so that each call finds data.
private struct Scene {
    let calls: CallsFixture
    let long: ConversationID

    /// Makes each call inside `body`, which gets its name.
    func play(_ body: (String, () async throws -> Void) async throws -> Void) async throws {
        var recent: [ConversationID] = []
        var cursor: MessageID?
        let lately = StrataModel.Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000) - 1_000_000)
        try await body("create") {
            recent.append(try await calls.create(["ben", "cleo"], metadata: ["title": "new"]).id)
        }
        try await body("create distinct") { recent.append(try await calls.create(["ben"], distinct: true).id) }
        try await body("send") {
            for _ in 0..<3 { cursor = try await calls.send(long, by: "ben").id }
            try await calls.send(recent[0], by: "cleo")
        }
        try await body("receipt") { if let cursor { try await calls.receipt(.read, cursor, by: "ana") } }
        try await body("receipts") {
            if let cursor { try await calls.receipts(.read, [cursor, .random()], in: long, by: "ana") }
        }
        try await body("delete up to a position") {
            if let cursor {
                try await calls.delete(
                    long, by: "ben", upTo: Position(calls.message(cursor, as: "ana").position.rawValue - 1))
            }
        }
        try await body("mark all read") { try await calls.markAllRead(long, by: "ana") }
        try await body("metadata") {
            try await calls.patch(long, metadata: [set("color.\(recent[0])", "blue"), delete("color")])
        }
        try await body("participants") {
            try await calls.patch(recent[0], [add("dora"), remove("cleo")])
            try await calls.patch(recent[0], [add("cleo")])
        }
        try await calls.patchApp(addedBy: "followed")
        try await body("participants, followed") {
            try await calls.patch(recent[0], [remove("dora")])
            try await calls.patch(recent[0], [add("dora")])
        }
        try await calls.patchApp(addedBy: "anyone")
        try await body("get") { _ = try await calls.get(long) }
        for byLastMessage in [false, true] {
            try await body("list") {
                let page = try await calls.list(byLastMessage: byLastMessage, pageSize: 5).views
                _ = try await calls.list(byLastMessage: byLastMessage, pageSize: 5, from: page.last?.conversation.id)
            }
        }
        for messages in [20, nil] {
            try await body("load") {
                let page = try await calls.load(pageSize: 5, messages: messages, bytes: 1 << 20)
                _ = try await calls.load(
                    byLastMessage: true, pageSize: 5, from: page.items.last?.view.conversation.id.rawValue,
                    messages: messages)
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
                _ = try await calls.baseline(
                    as: "ana", since: StrataModel.Timestamp(microseconds: lately.microseconds - age * 1_000_000))
            }
        }
        try await body("listed") { _ = try await calls.baseline(as: "ana", since: lately) { $0.listedOnly = true } }
        // Run the statement directly, because the call caches its answer for half a second.
        try await body("heads") {
            _ = try await calls.database.runExclusive(
                ReadHeads(since: PostgresTimestamp(microseconds: lately.microseconds)), deadline: .soon)
        }
        let head = try await calls.get(long).conversation.position.rawValue
        try await body("replay") {
            _ = try await calls.readLogs(
                as: "ana", [long: Position(head - 3), recent[0]: .zero], userAfter: .zero, limit: 50, bytes: 1 << 20)
            _ = try await calls.readLogs(as: "ana", [long: Position(head / 2)], limit: 50, bytes: 4000)
        }
        try await body("repair") {
            _ = try await calls.readChanges(
                long, after: Position(head / 2), limit: 50, bytes: 1 << 20, users: ["ana", "ben"])
        }
        let name = IdempotencyKey.random
        try await body("named change") {
            try await calls.named(name, ConversationsAPI.patchConversation, calls.patching(long, add: "ana"))
        }
        try await body("repeated change") {
            try await calls.named(name, ConversationsAPI.patchConversation, calls.patching(long, add: "ana"))
        }
        for (test, user) in [(.equals("new"), ""), (.hasPrefix("n"), "ana"), (.exists, "ben")]
            as [(MetadataCondition.Test, String)]
        {
            try await body("find") {
                let page = try await calls.find("title", test, of: user, pageSize: 5)
                _ = try await calls.find("title", test, of: user, pageSize: 5, from: page.ids.last)
            }
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
            // The deletion is also logged for former participants.
            try await calls.patch(recent[0], [remove("cleo")])
            try await calls.delete(message.id, by: "ana", .allParticipants)
            _ = try await calls.readLogs(as: "cleo", [:], userAfter: .zero, limit: 50)
        }
        let sessions = Sessions(
            database: calls.database, publisher: Publisher(logger: ServiceFixture.quietLogger) { _, _ in },
            lifetime: .seconds(86_400))
        let digest = [UInt8](repeating: 1, count: 32)
        try await body("session") {
            // The bulk load contains no sessions.
            _ = try await calls.refusal { try await sessions.find(digest, deadline: .soon) }
            _ = try await sessions.ended([digest], deadline: .soon)
        }
        // No pending erasure is due.
        try await body("erasures") { _ = try await calls.erasures.step(deadline: .soon) }
        // The report `space` is left out: it reads the catalogs.
        for report in ["apps", "app", "conversations", "users", "conversation", "leaves", "changes", "user"] {
            try await body("report \(report)") {
                _ = try await calls.report(report, user: "ana", conversation: long)
            }
        }
        try await body("trees") {
            try await calls.execute(
                """
                SELECT * FROM conversations.views_of(
                    '\(calls.app)', 'ana', ARRAY['\(long)', '\(recent[0])']::uuid[], 1048576)
                """)
        }
        try await body("delete") {
            try await calls.delete(recent[0], by: "ana", .myDevices)
            try await calls.delete(recent[0], by: "ben", .allParticipants)
        }
    }
}
