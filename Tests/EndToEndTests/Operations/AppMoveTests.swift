// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import LocalServers
import Postgres
import ProtocolClient
import Synchronization
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("strata app move", .timeLimit(.minutes(5)))
    struct AppMoveTests {
        private static let starting = Task {
            var size = Cluster.Size(gateways: 2, conversations: 2, metadata: 2, webhooks: 1)
            size.databases = 3
            return try await Cluster.start(size)
        }

        /// A user's app in the last database, and the move of it to the first one.
        private struct Scene {
            let cluster: Cluster
            let app: TestApp
            let move: AppMove

            init(_ app: TestApp, _ cluster: Cluster) throws {
                let stores = AppStores(try #require(DatabaseList(cluster.databases.list())))
                (self.cluster, self.app) = (cluster, app)
                var move = AppMove(app: app.app.id, source: stores.all[2], target: stores.all[0])
                // No test awaits webhooks right after the move.
                (move.recording, move.grace) = (.zero, .zero)
                self.move = move
            }

            /// Returns the app's rows in each table of one of the move's databases, sorted. The number of a transaction
            /// differs between databases.
            func rows(in member: AppStores.Member) async throws -> [String: [String]] {
                var rows: [String: [String]] = [:]
                for table in try await member.store.query(ListMoveTables()) where rows[table.root] == nil {
                    let condition = try await sql("SELECT conversations.move_condition('\(table.key)')", in: member)
                        .replacingOccurrences(of: "$1", with: "'\(app.app.id)'")
                    let text = try await sql(
                        """
                        SELECT coalesce(json_agg(r ORDER BY r), '[]') FROM (
                            SELECT (to_jsonb(x) - 'fence')::text AS r FROM \(table.root) x WHERE \(condition)) o
                        """, in: member)
                    rows[table.root] = try JSONDecoder().decode([String].self, from: Data(text.utf8))
                }
                return rows
            }

            @discardableResult
            func sql(_ text: String, in member: AppStores.Member) async throws -> String {
                let name = try #require(URL(string: member.store.url)?.lastPathComponent)
                return try await cluster.postgres.runSQL(text, database: name)
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            }

            /// Returns the tables in which a database has rows of the app.
            func tables(in member: AppStores.Member) async throws -> [String] {
                try await rows(in: member).filter { !$0.value.isEmpty }.keys.sorted()
            }
        }

        private struct Interruption: Error {}

        @Test("every row of an app arrives, nothing else, and nothing stays behind")
        func everything() async throws {
            let cluster = try await Self.starting.value
            let (moved, stays) = (
                try await AppDeletionTests.Scene(cluster), try await AppDeletionTests.Scene(cluster)
            )
            let (scene, other) = (try Scene(moved.app, cluster), try Scene(stays.app, cluster))
            // The only table whose keys change.
            let conversation = moved.conversations[0].id.suffix(36)
            try await scene.sql(
                """
                INSERT INTO conversations.receipt_block (conversation_id, block, user_id, since_position)
                VALUES ('\(conversation)', 7, 'ana', 1)
                """, in: scene.move.source)
            // While the app is paused, neither clients nor background tasks change it.
            let paused = Mutex<(source: [String: [String]], target: [String: [String]])>(([:], [:]))
            var move = scene.move
            move.report = { progress in
                if case .complete(.copied) = progress {
                    try await scene.sql(
                        """
                        UPDATE conversations.receipt_block SET until_position = 5
                        WHERE conversation_id = '\(conversation)' AND block = 7
                        """, in: scene.move.source)
                }
                guard case .complete(.drained) = progress else { return }
                let rows = (
                    source: try await scene.rows(in: scene.move.source),
                    target: try await scene.rows(in: scene.move.target)
                )
                paused.withLock { $0 = rows }
            }
            try await move.run()
            let (source, target) = paused.withLock { $0 }
            #expect(source.filter { !$0.value.isEmpty }.count > 20)
            for (table, rows) in source { #expect(target[table] == rows, "\(table)") }
            #expect(try await scene.tables(in: scene.move.source) == [])
            #expect(try await other.tables(in: other.move.target) == [])

            try await moved.ana.send("from the other database", to: moved.conversations[0])
            try await stays.ana.send("from the same database", to: stays.conversations[0])
            let content = try await moved.ana.does("GET", layerPath(moved.content.id))
            #expect(content.json["download_url"].string != nil)
        }

        @Test("an app can be moved back, and its clients know the same epoch all the time", .long)
        func back() async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben"))
            let conversation = try await ana.converse(with: [ben])
            let epoch = try await ana.view(of: conversation)["epoch"].string
            #expect(epoch != nil)
            let scene = try Scene(app, cluster)
            try await scene.move.run()
            #expect(try await ana.view(of: conversation)["epoch"].string == epoch)
            var back = AppMove(app: app.app.id, source: scene.move.target, target: scene.move.source)
            (back.recording, back.grace) = (.zero, .zero)
            try await back.run()
            #expect(try await ana.view(of: conversation)["epoch"].string == epoch)
            try await ana.send("home again", to: conversation)
            #expect(try await scene.tables(in: scene.move.target) == [])
        }

        @Test(
            "a move that was interrupted after any step is finished by repeating it", .long,
            arguments: AppMove.Step.allCases)
        func repeated(after step: AppMove.Step) async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben"))
            let conversation = try await ana.converse(with: [ben])
            try await ana.send("before", to: conversation)
            let scene = try Scene(app, cluster)
            try await interrupt(scene.move, after: step)
            try await scene.move.run()
            try await ana.send("after", to: conversation)
            let texts = try await ben.does("GET", conversation.path + "/messages").json.array?
                .map { $0["parts"][0]["body"].string }
            #expect(texts == ["after", "before"])
            #expect(try await scene.tables(in: scene.move.source) == [])
        }

        @Test(
            "a move that was interrupted before the switch can be undone", .long,
            arguments: [AppMove.Step.begun, .copied, .caughtUp, .paused, .drained])
        func undone(after step: AppMove.Step) async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben"))
            let conversation = try await ana.converse(with: [ben])
            let scene = try Scene(app, cluster)
            try await interrupt(scene.move, after: step)
            try await scene.move.undo()
            try await ana.send("goes on", to: conversation)
            #expect(try await scene.tables(in: scene.move.target) == [])
            // Nothing of the first attempt is in the way.
            try await scene.move.run()
            try await ana.send("elsewhere", to: conversation)
        }

        @Test("a move that has come to the switch is not undone", .long)
        func late() async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let scene = try Scene(app, cluster)
            try await interrupt(scene.move, after: .switched)
            let failure = await #expect(throws: CommandFailure.self) { try await scene.move.undo() }
            #expect(failure?.status == .usage)
            try await scene.move.run()
        }

        @Test("an app does not arrive any more once its move is undone, and can be moved again", .long)
        func refused() async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let scene = try Scene(app, cluster)
            try await interrupt(scene.move, after: .drained)
            try await scene.sql("SELECT conversations.refuse_app('\(app.app.id)')", in: scene.move.target)
            let failure = await #expect(throws: CommandFailure.self) { try await scene.move.run() }
            #expect(failure?.status == .unavailable)
            try await scene.move.undo()
            try await scene.move.run()
        }

        @Test(
            "a database that was restored to a time before a move, or during one, leaves the app, which stays in the other one",
            .long, arguments: [nil, "copying"])
        func restored(state: String?) async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            let ana = try await app.signIn("ana")
            let scene = try Scene(app, cluster)
            try await scene.move.run()
            let change = state.map { "UPDATE conversations.app_move SET state = '\($0)'" }
            try await scene.sql(
                """
                \(change ?? "DELETE FROM conversations.app_move") WHERE app_id = '\(app.app.id)';
                INSERT INTO conversations.app (id, name, provider_id)
                VALUES ('\(app.app.id)', 'before', gen_random_uuid())
                """, in: scene.move.source)
            let stores = AppStores(try #require(DatabaseList(cluster.databases.list())))
            #expect(try await stores.member(of: app.app.id).name == scene.move.target.name)
            let refusal = await #expect(throws: CommandFailure.self) { try await stores.onlyMember(of: app.app.id) }
            #expect(refusal?.status == .usage)
            try await scene.move.run()
            #expect(try await stores.onlyMember(of: app.app.id).name == scene.move.target.name)
            #expect(try await scene.tables(in: scene.move.source) == [])
            #expect(try await ana.does("GET", "/conversations").json == [])
        }

        // The ids come to the target with the copy, or as changes after it, which replace rows.
        @Test(
            "rows of another app in the target stay as they are, even if the moving app makes some with the same ids",
            arguments: [AppMove.Step.begun, .copied])
        func foreign(after step: AppMove.Step) async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let scene = try Scene(app, cluster)
            let (id, other) = (UUID(), UUID())
            try await scene.sql(
                """
                INSERT INTO conversations.app (id, name, provider_id) VALUES ('\(other)', 'other', gen_random_uuid());
                \(Self.conversation(id, of: other))
                """, in: scene.move.target)
            let rows = "SELECT to_jsonb(c) FROM conversations.conversation c WHERE c.id = '\(id)'"
            let messages = "SELECT json_agg(m) FROM conversations.message m WHERE m.conversation_id = '\(id)'"
            let before = try await scene.sql("\(rows); \(messages)", in: scene.move.target)
            try await interrupt(scene.move, after: step)
            try await scene.sql(Self.conversation(id, of: app.app.id), in: scene.move.source)
            let error = await #expect(throws: PostgresError.self) { try await scene.move.run() }
            let reason = "another app of this database has an object with the same id"
            #expect(error?.serverDetail?.contains(reason) == true)
            #expect(try await scene.sql("\(rows); \(messages)", in: scene.move.target) == before)
            try await scene.move.undo()
            #expect(try await scene.sql("\(rows); \(messages)", in: scene.move.target) == before)
        }

        /// Returns a statement that creates a conversation with a message.
        private static func conversation(_ id: UUID, of app: UUID) -> String {
            """
            SELECT conversations.create_conversation(
                '\(app)', 'ana', '\(id)', ARRAY['ben'], false, NULL, NULL, 25, NULL, NULL);
            SELECT conversations.send_message(
                '\(app)', 'ana', '\(id)', gen_random_uuid(), '\\x01', NULL, NULL, NULL, NULL, true)
            """
        }

        @Test("an app that has left is not changed in its former database, whose maintenance goes on", .long)
        func left() async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let scene = try Scene(app, cluster)
            let sessions = "conversations.session WHERE app_id = '\(app.app.id)'"
            try await interrupt(scene.move, after: .switched)
            await #expect(throws: (any Error).self) {
                try await scene.sql("DELETE FROM \(sessions)", in: scene.move.source)
            }
            try await scene.sql(
                """
                SET strata.copying = on;
                UPDATE conversations.session SET expires_at = '-infinity' WHERE app_id = '\(app.app.id)'
                """, in: scene.move.source)
            try await scene.sql("SELECT conversations.sweep_accounts(1000)", in: scene.move.source)
            #expect(try await scene.sql("SELECT count(*) FROM \(sessions)", in: scene.move.source) == "1")
            try await scene.move.run()
        }

        @Test("a database that is away does not stop the moves between others", .long)
        func away() async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            let list = cluster.databases.list() + " away=postgresql://nobody@127.0.0.1:1/none"
            let stores = AppStores(try #require(DatabaseList(list)))
            let source = try await AppMove.source(of: app.app.id, to: stores.all[0], among: stores)
            #expect(source?.name == stores.all[2].name)
            #expect(try await stores.member(of: app.app.id).name == stores.all[2].name)
            // The database that is away may have the app, too.
            await #expect(throws: PostgresError.self) { try await stores.onlyMember(of: app.app.id) }
        }

        @Test("a move begins when no transaction with a write of the app is open", .long)
        func openWriters() async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            let scene = try Scene(app, cluster)
            let store = scene.move.source.store
            try await store.withConnection(patience: .seconds(5)) { writer in
                _ = try await writer.query(ShareMove(app: app.app.id), deadline: .now + .seconds(5))
                await #expect(throws: PostgresError.self) {
                    try await store.withConnection(patience: .milliseconds(100)) { other in
                        _ = try await other.query(
                            BeginMove(app: app.app.id, target: "main"), deadline: .now + .seconds(5))
                    }
                }
            }
        }

        /// Holds the lock of an app's writers for the session.
        private struct ShareMove: PostgresQuery {
            let app: UUID

            static let statement = Statement(
                "test.share", sql: "SELECT pg_advisory_lock_shared(conversations.move_lock($1))")

            var parameters: [Value] { [.uuid(app)] }
        }

        @Test("an app that is being moved is not deleted, and one that is being deleted is not moved")
        func deleted() async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let scene = try Scene(app, cluster)
            try await interrupt(scene.move, after: .begun)
            let deletion = AppDeletion(store: scene.move.source.store, app: app.app.id)
            let failure = await #expect(throws: CommandFailure.self) { _ = try await deletion.run() }
            #expect(failure?.status == .temporary)
            try await scene.move.undo()
            try await scene.sql(
                "SELECT conversations.begin_app_deletion('\(app.app.id)')", in: scene.move.source)
            let refusal = await #expect(throws: CommandFailure.self) { try await scene.move.run() }
            #expect(refusal?.status == .usage)
        }

        /// An event during a move.
        enum Disturbance: String, CaseIterable, Sendable {
            case none, commandKilled, serviceKilled
        }

        @Test(
            "no message is lost, duplicated or reordered while an app moves, and its sockets reconnect with 1001",
            arguments: TestTier.current == .long ? Disturbance.allCases : [.none])
        func busy(_ disturbance: Disturbance) async throws {
            let cluster = try await Self.starting.value
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            let conversation = try await ana.converse(with: [ben])
            let socket = try await ben.open()
            let scene = try Scene(app, cluster)
            let isDone = Mutex(false)
            async let sent: [String] = {
                var sent: [String] = []
                // Some messages follow the move.
                var rest = 10
                while rest > 0 {
                    if isDone.withLock({ $0 }) { rest -= 1 }
                    let id = "layer:///messages/\(UUID().uuidString.lowercased())"
                    try await Self.send(id, by: ana, to: conversation)
                    sent.append(id)
                }
                return sent
            }()
            try await run(scene.move, disturbance, cluster)
            isDone.withLock { $0 = true }
            let all = try await sent
            #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 1001)
            var (read, from): ([String], String?) = ([], nil)
            while true {
                let cursor = from.map { "&from_id=\($0)" } ?? ""
                let page =
                    try await ben.does("GET", conversation.path + "/messages?page_size=100\(cursor)").json.array ?? []
                read += page.compactMap { $0["id"].string }
                guard page.count == 100 else { break }
                from = read.last
            }
            #expect(read.reversed() == all)
            let again = try await ben.open()
            try await ana.send("live", to: conversation)
            try await again.message("live")
        }

        /// Moves the app, and begins again when the move is interrupted.
        private func run(_ move: AppMove, _ disturbance: Disturbance, _ cluster: Cluster) async throws {
            var move = move
            switch disturbance {
            case .none: try await move.run()
            case .commandKilled:
                // Each attempt goes a little further.
                for attempt in 1... {
                    let reports = Mutex(0)
                    move.report = { _ in
                        let count = reports.withLock { reports in
                            reports += 1
                            return reports
                        }
                        if count == attempt * 5 { throw Interruption() }
                    }
                    do { return try await move.run() } catch is Interruption {}
                }
            case .serviceKilled:
                let service = cluster.instances(of: .conversations)[0]
                move.report = { progress in
                    switch progress {
                    case .complete(.begun): await service.kill()
                    case .complete(.switched): try await service.start()
                    case .complete, .rows: break
                    }
                }
                try await move.run()
            }
        }

        /// Sends a message, again with the same id until it has arrived.
        private static func send(_ id: String, by user: TestUser, to conversation: Conversation) async throws {
            let body = TestUser.message("busy", id: id)
            let end = ContinuousClock.now + Waiting.limit
            while true {
                let answer = try? await user.call("POST", conversation.path + "/messages", body)
                if let answer, answer.isSuccess || answer.json["id"].string == "id_in_use" { return }
                guard let answer, answer.status == 503, .now < end else {
                    throw UnexpectedAnswer("\(String(describing: answer))", #fileID, #line)
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        private func interrupt(_ move: AppMove, after step: AppMove.Step) async throws {
            var move = move
            move.report = { progress in
                if case .complete(step) = progress { throw Interruption() }
            }
            await #expect(throws: Interruption.self) { try await move.run() }
        }
    }
}
