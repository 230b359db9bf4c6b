// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// The reports for operators.
    @Suite struct ReportTests {
        @Test("a wrong request is refused by the field's name, and an unknown object is not found")
        func refusals() async throws {
            try await CallsFixture.run { calls in
                try await calls.createApp()
                let conversation = try await calls.conversation()
                func field(_ name: String, _ fill: (inout ProtoReadReportRequest) -> Void) async throws -> String? {
                    let refusal = try await calls.refusal {
                        try await calls.call(AdminAPI.readReport) {
                            ($0.name, $0.appID, $0.conversationID) = (name, Data(calls.app), Data(conversation))
                            fill(&$0)
                        }
                    }
                    guard case .property(let field)? = refusal?.detail else { return nil }
                    return field
                }
                #expect(try await field("apps_") { _ in } == "name")
                #expect(try await field("app") { $0.appID = Data() } == "app_id")
                #expect(try await field("leaves") { $0.conversationID = Data() } == "conversation_id")
                #expect(try await field("user") { _ in } == "user_id")
                #expect(try await field("users") { $0.userID = "a\nb" } == "user_id")
                #expect(try await field("users") { $0.limit = 201 } == "limit")
                #expect(try await field("leaves") { $0.limit = 501 } == "limit")
                for (name, cursor) in [
                    ("apps", "1"), ("changes", "0"), ("changes", "x"), ("users", "\u{1}"), ("leaves", "a..b"),
                    ("conversations", "before"), ("conversations", "before 1 2"), ("conversations", "after 1"),
                    ("space", "1"),
                ] { #expect(try await field(name) { $0.after = cursor } == "after", "\(name) \(cursor)") }

                let other = calls.with(app: .random())
                for name in ["conversation", "leaves", "changes"] {
                    let refusal = try await calls.refusal {
                        _ = try await other.report(name, conversation: conversation)
                    }
                    #expect(refusal?.code == .notFound, "\(name)")
                }
                #expect(try await calls.refusal { _ = try await calls.report("user", user: "eve") }?.code == .notFound)
            }
        }

        @Test("apps are listed oldest first, in pages, with their numbers of keys, tokens, webhooks and indexes")
        func apps() async throws {
            try await CallsFixture.run { calls in
                try await calls.createApp()
                try await calls.createToken(expiresIn: 60)
                try await calls.pushWebhook()
                try await calls.addIndex("title")
                var (apps, after): ([JSONDocument], String) = ([], "")
                while true {
                    let page = try await calls.report("apps", after: after, limit: 3).elements
                    guard let last = page.last?.id?.text else { break }
                    apps += page
                    after = last
                }
                #expect(apps.count == Int(try await calls.number("SELECT count(*) FROM conversations.app")))
                let app = try #require(apps.first { $0.id?.text == "\(calls.app)" })
                #expect([app.keys, app.tokens, app.webhooks, app.indexes].map(\.?.number) == [1, 2, 1, 1])
                #expect(apps.map { $0.created_at?.text ?? "" } == apps.map { $0.created_at?.text ?? "" }.sorted())
            }
        }

        @Test("users are listed by id, in pages, by the beginning of their ids")
        func users() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "anton", "an", "ben", "ann%a")
                try await calls.suspend("anton")
                func ids(_ prefix: String) async throws -> [String] {
                    try await calls.reportItems("users", user: prefix, limit: 2).compactMap { $0.user_id?.text }
                }
                #expect(try await ids("") == ["an", "ana", "ann%a", "anton", "ben"])
                #expect(try await ids("an") == ["an", "ana", "ann%a", "anton"])
                #expect(try await ids("ann%") == ["ann%a"])
                #expect(try await ids("c") == [])
                let anton = try await calls.report("users", user: "anton").items?.elements.first
                #expect(anton?.suspended?.bool == true && anton?.display_name?.text == "ANTON")
            }
        }

        @Test("conversations are listed by their latest change; silent ones follow; other apps' are left out")
        func conversations() async throws {
            try await CallsFixture.run { calls in
                var ids: [ConversationID] = []
                for _ in 0..<5 { ids.append(try await calls.create(["ben", "cleo"]).id) }
                _ = try await calls.with(app: .random()).create(["ben"])
                for id in [ids[3], ids[1]] { try await calls.send(id) }
                try await calls.delete(ids[0], .allParticipants)
                let order = [0, 1, 3, 4, 2].map { "\(ids[$0])" }
                for limit: UInt32 in [1, 2, 5, 200] {
                    let items = try await calls.reportItems("conversations", limit: limit)
                    #expect(items.compactMap { $0.id?.text } == order)
                    #expect(items.map(\.deleted?.bool) == [true, false, false, false, false])
                }
                let first = try await calls.report("conversations", limit: 2).items?.elements.last
                #expect(first?.participants?.elements.map(\.text) == ["ana", "ben", "cleo"])
                #expect(first?.participant_count?.number == 3 && first?.messages?.number == 1)
                #expect(first?.position?.number == 2)

                // The log of two of them is gone.
                try await calls.execute(
                    """
                    DO $$ BEGIN
                        DELETE FROM conversations.change WHERE conversation_id IN ('\(ids[3])', '\(ids[2])');
                        UPDATE conversations.conversation SET last_change_at = '1970-01-01', created_at = '1970-01-01'
                        WHERE id IN ('\(ids[3])', '\(ids[2])');
                    END $$
                    """)
                for limit: UInt32 in [1, 2, 3, 200] {
                    let items = try await calls.reportItems("conversations", limit: limit)
                    let (active, silent) = (items.prefix(3), items.dropFirst(3))
                    #expect(active.compactMap { $0.id?.text } == [0, 1, 4].map { "\(ids[$0])" })
                    #expect(silent.compactMap { $0.id?.text } == [ids[2], ids[3]].map { "\($0)" }.sorted())
                }
            }
        }

        @Test("a conversation shows present participants first, with what they have read, and former ones")
        func conversation() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let id = try await calls.create(["ben", "cleo"]).id
                let message = try await calls.send(id)
                try await calls.receipt(.read, message.id, by: "ben")
                try await calls.patch(id, [remove("cleo")])
                try await calls.send(id)
                let report = try await calls.report("conversation", conversation: id)
                #expect(report.messages?.number == 2 && report.participant_count?.number == 2)
                #expect(report.distinct?.bool == false && report.deleted_at == .null)
                let people = report.participants?.elements ?? []
                #expect(people.map(\.user_id?.text) == ["ana", "ben", "cleo"])
                #expect(people.map(\.display_name?.text) == ["ANA", "BEN", nil])
                #expect(people.map(\.unread?.number) == [0, 1, 1])
                #expect(people[1].read_through?.number == 1 && people[2].read_through == .null)
                #expect(people.map { $0.left_position == .null } == [true, true, false])
            }
        }

        @Test("each value of a tree names its writer and time, until the log is gone")
        func leaves() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben"], metadata: ["a": "1", "b.c": "2"]).id
                try await calls.patch(id, by: "ben", metadata: [set("b.d", "3")])
                try await calls.patch(id, by: "", metadata: [set("z", "4")], byServer: true)
                let items = try await calls.reportItems("leaves", conversation: id, limit: 3)
                #expect(items.map(\.path?.text) == ["a", "b.c", "b.d", "z"])
                #expect(items.map(\.value?.text) == ["1", "2", "3", "4"])
                #expect(items.map(\.actor?.text) == ["ana", "ana", "ben", ""])
                #expect(items.map(\.position?.number) == [1, 1, 2, 3])
                #expect(items.allSatisfy { $0.at?.text?.hasSuffix("+00:00") == true })
                try await calls.execute("DELETE FROM conversations.change WHERE conversation_id = '\(id)'")
                let old = try await calls.report("leaves", conversation: id).items?.elements ?? []
                #expect(old.count == 4 && old.allSatisfy { $0.actor == .null && $0.at == .null })
            }
        }

        @Test("a tree of 5,000 keys is read in pages of 500")
        func manyLeaves() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation()
                try await calls.execute(
                    """
                    INSERT INTO metadata.leaf (conversation_id, path, value, position)
                    SELECT '\(id)', 'key' || n, 'value', 1 FROM generate_series(1, 5000) n
                    """)
                let items = try await calls.reportItems("leaves", conversation: id, limit: 500)
                #expect(Set(items.compactMap { $0.path?.text }).count == 5000)
                #expect(items.allSatisfy { $0.actor?.text == "ana" })
            }
        }

        @Test("changes are listed newest first, with the operations of their kind")
        func changes() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben"]).id
                let message = try await calls.send(id)
                try await calls.receipt(.delivery, message.id, by: "ben")
                try await calls.patch(id, metadata: [set("a.b", "1")])
                try await calls.patch(id, metadata: [delete("a")])
                try await calls.patch(id, [add("cleo"), remove("ben")])
                try await calls.markAllRead(id, by: "cleo")
                let other = try await calls.send(id)
                try await calls.markAllRead(id, by: "cleo")
                try await calls.delete(other.id, by: "ana", .allParticipants)
                let items = try await calls.reportItems("changes", conversation: id, limit: 2)
                #expect(
                    items.reversed().map(\.kind?.text) == [
                        "conversation_created", "message_created", "receipts", "metadata_changed", "metadata_changed",
                        "participants_changed", "message_created", "all_read", "message_deleted",
                    ])
                let positions = items.compactMap { $0.position?.number }
                #expect(positions == (1...9).reversed().map { Double($0) })
                let byPosition = Array(items.reversed())
                #expect(byPosition[0].operations == nil && byPosition[0].message_id == nil)
                #expect(byPosition[1].message_id?.text == "\(message.id)")
                let receipt = byPosition[2].operations?.elements.first
                #expect(receipt?.user?.text == "ben" && receipt?.status?.text == "delivered")
                #expect(receipt?.message_id?.text == "\(message.id)")
                #expect(
                    byPosition[3].operations?.elements.first?.members == ["path": .text("a.b"), "value": .text("1")])
                #expect(byPosition[4].operations?.elements.first?.value == .null)
                #expect(byPosition[5].operations?.added?.elements == [.text("cleo")])
                #expect(byPosition[5].operations?.removed?.elements == [.text("ben")])
                #expect(byPosition[7].operations?.user?.text == "cleo" && byPosition[7].actor?.text == "cleo")
            }
        }

        @Test("a page of changes has at most about 1 MB of operations, and the next page continues")
        func largeChanges() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation()
                try await calls.execute(
                    """
                    DO $$ BEGIN
                        FOR n IN 1..8 LOOP
                            PERFORM conversations.append_change('\(id)', 3::smallint, 'ana', NULL, NULL, NULL, NULL,
                                jsonb_build_object('effects', (SELECT jsonb_agg(jsonb_build_array('a' || k, repeat('x', 2000)))
                                    FROM generate_series(1, CASE n WHEN 4 THEN 800 ELSE 150 END) k)));
                        END LOOP;
                    END $$
                    """)
                let page = try await calls.report("changes", conversation: id, limit: 200)
                #expect(page.items?.elements.map(\.position?.number) == [9, 8, 7])
                let items = try await calls.reportItems("changes", conversation: id, limit: 200)
                #expect(items.compactMap { $0.position?.number } == (1...9).reversed().map { Double($0) })
            }
        }

        @Test("a user shows devices, counts and follows; an erased one shows the erasure while it runs")
        func user() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben", "cleo")
                let id = try await calls.create(["ben"]).id
                for _ in 0..<3 { try await calls.send(id, by: "ben") }
                try await calls.setPushToken("phone")
                try await calls.follow(["cleo"])
                try await calls.follow(["ana"], by: "cleo")
                let ana = try await calls.report("user", user: "ana")
                #expect(ana.unread_messages?.number == 3 && ana.suspended?.bool == false)
                #expect(ana.push_tokens?.elements.map(\.device_id?.text) == ["phone"])
                #expect(ana.following?.number == 1 && ana.followers?.number == 1)
                #expect((ana.log_position?.number ?? 0) > 0 && ana.erasure == .null)
                try await calls.erase("ana")
                let erased = try await calls.report("user", user: "ana")
                #expect(erased.erasure?.requested_at?.text != nil)
            }
        }

        @Test("the space is shown by table, app and week, with what the service deletes when")
        func space() async throws {
            try await CallsFixture.run { calls in
                try await calls.createApp()
                let id = try await calls.conversation()
                try await calls.fill(id, with: 500)
                try await calls.execute("ANALYZE conversations.message_place")
                try await calls.execute(
                    """
                    INSERT INTO conversations.content (id, app_id, owner, mime_type, size, uploaded_at)
                    SELECT gen_random_uuid(), '\(calls.app)', 'ana', 'image/png', 1000, now()
                    FROM generate_series(1, 3)
                    """)
                try await calls.execute("SELECT console.record_command('backup', 'deploy/backup.sh', NULL)")
                let space = try await calls.report("space", limit: 200)
                #expect((space.database_bytes?.number ?? 0) > 1_000_000)
                let tables = space.tables?.elements ?? []
                let names = tables.map { "\($0.schema?.text ?? "").\($0.table?.text ?? "")" }
                #expect(names.contains("conversations.message") && names.contains("metadata.leaf"))
                #expect(names.contains("conversations.change") && !names.contains("conversations.change_rest"))
                #expect(Set(names).count == names.count)
                for table in tables { #expect(table.bytes?.number == sum(table.table_bytes, table.index_bytes)) }
                let app = try #require(space.apps?.elements.first { $0.id?.text == "\(calls.app)" })
                let messages = try #require(app.messages?.number)
                #expect((450...550).contains(messages) && (app.bytes_estimate?.number ?? 0) > 0)
                #expect(app.content_bytes?.number == 3000 && space.last_backup_at?.text != nil)
                let weeks = space.log_partitions?.elements ?? []
                #expect(weeks.count >= 4 && weeks.last?.from == .null)
                #expect(weeks.first?.from?.text?.hasSuffix("T00:00:00+00:00") == true)
                #expect(space.oldest_change_at?.text != nil && (space.wal_bytes?.number ?? 0) > 0)
                #expect(space.retention_seconds?.number == 2_592_000)
                #expect(space.sweeps?.elements.allSatisfy { ($0.after?.number ?? 0) > 0 } == true)
            }
        }

        private func sum(_ first: JSONDocument?, _ second: JSONDocument?) -> Double? {
            (first?.number ?? 0) + (second?.number ?? 0)
        }

        @Test("without statistics, the numbers by app are unknown, and all apps are listed")
        func noStatistics() async throws {
            let url = try await ServiceFixture.migratedDatabase()
            try await CallsFixture.run(on: url, connections: 1) { calls in
                try await calls.createApp()
                let apps = try await calls.report("space").apps?.elements ?? []
                #expect(apps.map(\.name?.text) == ["Chess"])
                #expect(apps.map(\.messages) == [.null] && apps.map(\.bytes_estimate) == [.null])
            }
        }
    }
}
