// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import Postgres
import ProtocolClient
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("strata app delete", .timeLimit(.minutes(5)))
    struct AppDeletionTests {
        /// Three users of an app, with rows of every kind that is kept for them.
        struct Scene {
            let cluster: Cluster
            let app: TestApp
            let ana: TestUser
            let conversations: [Conversation]
            let content: AnnouncedContent

            init(_ cluster: Cluster) async throws {
                self.cluster = cluster
                app = try await cluster.app()
                let users = try await app.signIn(["ana", "ben", "cleo"])
                let (ben, cleo) = (users[1], users[2])
                ana = users[0]
                try await IndexCommands(app, cluster).run("add", "metadata.a.b")
                let conversation = try await ana.converse(
                    with: [ben, cleo], metadata: ["a": ["b": "c"]], distinct: false)
                let message = try await ana.send("hello", to: conversation)
                try await ben.does("POST", layerPath(message) + "/receipts", ["type": "read"])
                try await ana.patch(conversation, remove(cleo))
                // Cleo still sees the message's state at the time of leaving.
                let part = try await Self.part(of: message, ana)
                try await ana.does(
                    "PUT", layerPath(message) + "/parts/\(part)", ["mime_type": "text/plain", "body": "better"])
                try await ana.does(
                    "DELETE", layerPath(try await ana.send("oops", to: conversation)) + "?mode=my_devices")
                conversations = [conversation, try await ana.converse(with: [ben])]
                // Ana has not met this user. For others no row is kept.
                try await ana.does("POST", "/following/users", [.string("layer:///identities/dora")])
                let device: JSONValue = [
                    "device_id": .string(UUID().uuidString), "type": "gcm", "token": "t", "gcm_sender_id": "1",
                ]
                try await ana.does("POST", "/push_tokens", device)
                content = try await ana.upload(Data("x".utf8))
                try await ana.does("POST", conversation.path + "/messages", content.message)
                _ = try await cluster.announce("News", in: app, to: ["ana"])
                #expect(
                    try await AppServer(app).call("PUT", "/users/ana/badge", ["external_unread_count": 3]).status == 204
                )
                try await cluster.sql(
                    """
                    INSERT INTO conversations.erasure (app_id, user_id, requested_at, not_before)
                    VALUES ('\(app.app.id)', 'gone', now(), 'infinity');
                    INSERT INTO conversations.outside_sending (conversation_id, user_id, app_id, recorded_at)
                    VALUES ('\(conversation.id.suffix(36))', 'bot', '\(app.app.id)', now())
                    """)
            }

            private static func part(of message: String, _ user: TestUser) async throws -> String {
                let id = try await user.does("GET", layerPath(message))["parts"][0]["id"].string
                return try #require(id?.split(separator: "/").last.map(String.init))
            }

            /// Returns the number of the app's rows in each table. Includes every table that has a column for an app's
            /// or a conversation's id.
            func rows() async throws -> [String: Int] {
                let ids = conversations.map { "'\($0.id.suffix(36))'" }.joined(separator: ",")
                let columns = try await sql(
                    """
                    SELECT c.table_schema || '.' || c.table_name, c.column_name FROM information_schema.columns c
                    JOIN information_schema.tables t USING (table_schema, table_name)
                    WHERE t.table_type = 'BASE TABLE' AND c.column_name IN ('app_id', 'conversation_id') AND c.table_schema !~ '^(pg_|information_)'
                    """)
                let counts = columns.map { row in
                    let condition = row[1] == "app_id" ? "app_id = '\(app.app.id)'" : "conversation_id IN (\(ids))"
                    return "SELECT '\(row[0])', count(*) FROM \(row[0]) WHERE \(condition)"
                }
                return try await sql(counts.joined(separator: " UNION ALL "))
                    .reduce(into: [:]) { $0[$1[0]] = max($0[$1[0]] ?? 0, Int($1[1]) ?? -1) }
            }

            @discardableResult
            func sql(_ text: String) async throws -> [[String]] {
                let name = try #require(URL(string: cluster.databaseURL)?.lastPathComponent)
                return try await cluster.postgres.runSQL(text, database: name).split(separator: "\n")
                    .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
            }
        }

        private static let content = "conversations.content"
        /// The tables that the scene must fill, so that the test is meaningful.
        private static let tables: Set = Set(
            [
                "conversation", "roster", "participant", "user_conversation", "message", "kept_receipts",
                "message_place", "distinct_set", "change",
                "user_log", "user_change", "app_key", "server_token", "session", "identity", "follow", "announcement",
                "announcement_recipient",
                "push_token", "content", "content_reference", "badge", "erasure", "outside_sending", "addition",
                "later",
            ]
            .map { "conversations.\($0)" } + [
                "metadata.leaf", "metadata.tree", "metadata.index_path", "metadata.index_entry", "metadata.later",
            ])

        @Test(
            "an interrupted and repeated app deletion deletes all rows of one app, in every table, and none of another")
        func everything() async throws {
            let cluster = try await Cluster.shared()
            let (gone, stays) = (try await Scene(cluster), try await Scene(cluster))
            // Simulate a later migration that adds tables.
            try await gone.sql(
                """
                CREATE TABLE conversations.later (app_id uuid, x int);
                CREATE TABLE metadata.later (conversation_id uuid, x int);
                INSERT INTO conversations.later SELECT id, 1 FROM conversations.app;
                INSERT INTO metadata.later SELECT id, 1 FROM conversations.conversation;
                """)
            let (before, others) = (try await gone.rows(), try await stays.rows())
            let filled = Set(before.filter { $0.value > 0 }.keys)
            #expect(Self.tables.subtracting(filled).isEmpty)

            let store = AppStore(url: cluster.databaseURL)
            let id = gone.app.app.id
            let subject = try #require(try await AppDeletion(store: store, app: id).subject())
            #expect(subject.name == "Test")
            #expect(
                subject.extent
                    == AppDeletion.Extent(conversations: 2, messages: 3, users: 4, sessions: 3, files: 1, fileBytes: 1))
            #expect(subject.extent.description == "2 conversations, 3 messages, 4 users, 3 sessions, 1 file (1 bytes)")

            let interrupted = Task {
                try await AppDeletion(store: store, app: id, grace: .zero)
                    .run { _ in _ = withUnsafeCurrentTask { $0?.cancel() } }
            }
            await #expect(throws: (any Error).self) { try await interrupted.value }
            let listed = try #require(try await store.list().first { $0.id == id })
            #expect(listed.isBeingDeleted && listed.isSuspended)
            let failure = await #expect(throws: CommandFailure.self) { try await store.setSuspended(false, for: id) }
            #expect(failure?.message.contains("is being deleted") == true)
            let refusal = await #expect(throws: ProtocolClientError.self) { try await gone.app.signIn("ana") }
            #expect(refusal?.answer?.errorID == "app_suspended")

            #expect(try await AppDeletion(store: store, app: id, grace: .zero).run() > 0)
            #expect(try await AppDeletion(store: store, app: id).subject() == nil)
            let after = try await gone.rows().filter { $0.value > 0 }
            // The content's row remains until a gateway has removed its bytes. It is out of reach and due for removal.
            #expect(after == [Self.content: 1])
            let due = try await gone.sql("SELECT content_id FROM conversations.sweep_contents('10 hours', 1000)")
            #expect(due.map { $0[0] }.contains(String(gone.content.id.suffix(36))))
            #expect(try await gone.sql("SELECT id FROM conversations.app WHERE id = '\(id)'").isEmpty)

            #expect(try await stays.rows() == others)
            try await stays.ana.send("still here", to: stays.conversations[0])
            try await gone.sql("DROP TABLE conversations.later, metadata.later")
        }

        @Test("an app is deleted 45 seconds after the command, when all gateways have noticed it, and not before")
        func grace() async throws {
            let cluster = try await Cluster.shared()
            let gone = try await Scene(cluster)
            let (store, id) = (AppStore(url: cluster.databaseURL), gone.app.app.id)
            let begun = try await gone.sql(
                "UPDATE conversations.app SET deleting_since = clock_timestamp() - interval '44 seconds' WHERE id = '\(id)' RETURNING deleting_since"
            )
            #expect(try await AppDeletion(store: store, app: id).run() > 0)
            // The database's clock decides.
            let since = try #require(begun.first?.first)
            #expect(
                try await gone.sql("SELECT clock_timestamp() - '\(since)'::timestamptz >= interval '45 seconds'") == [
                    ["t"]
                ])
            #expect(try await AppDeletion(store: store, app: id).subject() == nil)
        }

        @Test("a deletion waits for a locked conversation and deletes it with its app")
        func locked() async throws {
            let cluster = try await Cluster.shared()
            let gone = try await Scene(cluster)
            let (app, gate) = (gone.app.app.id, Int.random(in: 1...Int(Int32.max)))
            // Holds the lock until the deletion waits for it or is finished.
            async let held: Void = {
                _ = try await gone.sql(
                    """
                    DO $$ BEGIN
                        PERFORM FROM conversations.conversation WHERE id = '\(gone.conversations[0].id.suffix(36))' FOR UPDATE;
                        PERFORM pg_advisory_xact_lock(\(gate));
                        FOR i IN 1..6000 LOOP
                            EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))
                                OR NOT EXISTS (SELECT FROM conversations.app WHERE id = '\(app)');
                            PERFORM pg_sleep(0.01);
                        END LOOP;
                    END $$
                    """)
            }()
            try await eventually("the conversation is locked") {
                try await gone.sql(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = \(gate) AND granted") == [
                        ["1"]
                    ]
            }
            let store = AppStore(url: cluster.databaseURL)
            #expect(try await AppDeletion(store: store, app: app, grace: .zero).run() > 0)
            try await held
            #expect(try await AppDeletion(store: store, app: app).subject() == nil)
            #expect(try await gone.rows().filter { $0.value > 0 } == [Self.content: 1])
        }

        @Test("commands may scan whole tables, because no index serves their queries")
        func wholeTables() async throws {
            let store = AppStore(url: try await Cluster.shared().databaseURL)
            let setting = try await store.withConnection { connection in
                try await connection.query(
                    Statement("test.setting", sql: "SELECT current_setting('enable_seqscan')"),
                    deadline: Waiting.deadline)
            }
            #expect(try setting.first?.get(0, as: String.self) == "on")
        }

        @Test("a command waits for a lock as long as for an answer, because a conversation may stay locked")
        func patience() async throws {
            let store = AppStore(url: try await Cluster.shared().databaseURL)
            let settings = try await store.withConnection(patience: .seconds(600)) { connection in
                try await connection.query(
                    Statement(
                        "test.patience",
                        sql: "SELECT current_setting('lock_timeout'), current_setting('statement_timeout')"),
                    deadline: Waiting.deadline)
            }
            let row = try #require(settings.first)
            #expect(try row.get(0, as: String.self) == "10min")
            #expect(try row.get(1, as: String.self) == "10min")
        }

        @Test("the command asks for confirmation, ends sessions and sockets, and reports its actions")
        func command() async throws {
            let cluster = try await Cluster.shared()
            let (gone, stays) = (try await Scene(cluster), try await Scene(cluster))
            let (socket, other) = (try await gone.ana.open(), try await stays.ana.open())
            let strata = try StrataProgram()
            let words = ["app", "delete", gone.app.id, "--database", cluster.databaseURL]

            let refused = try await strata.run(words)
            #expect(refused.status == CommandFailure.Status.usage.rawValue)
            #expect(refused.output.contains("2 conversations, 3 messages, 4 users"))
            #expect(
                refused.errorOutput
                    == "strata: Nothing was deleted. Confirm with --yes, or run the command in a terminal.\n")
            #expect(try await gone.ana.send("still here", to: gone.conversations[0]) != "")

            // Simulate an interrupted earlier call. The delay in which gateways notice is over; another test waits for
            // it.
            try await gone.sql(
                "UPDATE conversations.app SET deleting_since = now() - interval '1 minute' WHERE id = '\(gone.app.app.id)'"
            )
            let exit = try await strata.run(words + ["--yes", "--json"], timeout: .seconds(240))
            #expect(exit.status == 0, "\(exit.errorOutput)")
            let answer = try JSONDecoder().decode(AppDeleteCommand.Answer.self, from: Data(exit.output.utf8))
            #expect(answer.app == gone.app.id && answer.deleted.messages == 4 && answer.rows > 20)
            #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 4401)
            #expect(try await gone.ana.call("GET", "/conversations").errorID == "authentication_required")
            let refusal = await #expect(throws: ProtocolClientError.self) { try await gone.app.signIn("ana") }
            #expect(refusal?.answer?.errorID == "invalid_app_id")
            #expect(
                try await strata.run(words + ["--yes"]).errorOutput.contains("The app \(gone.app.id) does not exist."))
            #expect(try await gone.rows().filter { $0.value > 0 && $0.key != Self.content }.isEmpty)

            #expect(try await other.ask("Counter.read").isSuccess)
            #expect(other.faults == [])
        }
    }
}
