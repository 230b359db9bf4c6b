// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct ListTests {
        @Test("only current and former participants of this app see a conversation")
        func visibility() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.patch(id, [remove("cleo")])
                #expect(try await calls.get(id, as: "ben").isParticipant)
                let former = try await calls.get(id, as: "cleo")
                #expect(
                    !former.isParticipant && former.conversation.participants.isEmpty
                        && former.conversation.position == Position(2))
                for (calls, user, id) in [
                    (calls, "eve", id), (calls, "ana", ConversationID.random()),
                    (calls.with(app: .random()), "ana", id),
                ] {
                    #expect(try await calls.refusal { try await calls.get(id, as: user) }?.code == .notFound)
                    #expect(try await calls.refusal { try await calls.messages(id, as: user) }?.code == .notFound)
                }
                #expect(try await calls.list(as: "ben").total == 1)
                #expect(try await calls.list(as: "cleo").total == 1)
                #expect(try await calls.list(as: "eve").total == 0)
                #expect(try await calls.with(app: .random()).list().total == 0)
                try await calls.delete(id, .allParticipants)
                for user in ["ana", "ben", "cleo"] {
                    #expect(try await calls.refusal { try await calls.get(id, as: user) }?.code == .notFound)
                    #expect(try await calls.list(as: user).total == 0)
                }
            }
        }

        @Test("conversations are sorted newest first, by creation or by last message; pages have no gaps or duplicates")
        func orders() async throws {
            try await CallsFixture.run { calls in
                var ids: [ConversationID] = []
                for _ in 0..<7 { ids.append(try await calls.conversation(["ben"])) }
                for index in [2, 5, 0, 2] { try await calls.send(ids[index], by: "ben") }
                let byCreation = [6, 5, 4, 3, 2, 1, 0].map { ids[$0] }
                let byLastMessage = [2, 0, 5, 6, 4, 3, 1].map { ids[$0] }
                for (byLast, expected) in [(false, byCreation), (true, byLastMessage)] {
                    let all = try await calls.list(byLastMessage: byLast)
                    #expect(all.total == 7 && all.views.map(\.conversation.id) == expected)
                    for size in [1, 2, 3, 7] {
                        var paged: [ConversationID] = []
                        while paged.count < 20 {
                            let page = try await calls.list(byLastMessage: byLast, pageSize: size, from: paged.last)
                            #expect(page.total == 7 && page.views.count <= size)
                            if page.views.isEmpty { break }
                            paged += page.views.map(\.conversation.id)
                        }
                        #expect(paged == expected)
                    }
                }
                let views = try await calls.list().views
                for view in views { #expect(try await calls.get(view.conversation.id) == view) }
            }
        }

        @Test("conversations that are requested together are the same as one by one, in answers of any size")
        func together() async throws {
            try await CallsFixture.run { calls in
                var ids = [ConversationID.random()]
                for number in 0..<60 {
                    let tree = ["number": "\(number)", "of.all": "60"]
                    let id = try await calls.conversation(["ben", "cleo"], metadata: number % 3 == 0 ? nil : tree)
                    if number % 2 == 0 { try await calls.send(id, by: "ben") }
                    ids.append(id)
                }
                let value = String(repeating: "x", count: 2000)
                ids.append(try await calls.conversation(["cleo"], metadata: ["a": value, "b": value, "c": value]))
                try await calls.patch(ids[2], [remove("cleo")])
                try await calls.patch(ids[2], metadata: [set("later", "than the removal")])
                try await calls.delete(ids[3], by: "cleo", .myDevices)
                try await calls.delete(ids[4], .allParticipants)
                try await calls.delete(try await calls.send(ids[5], by: "ana").id, by: "cleo", .myDevices)
                ids.shuffle()
                // The app's own server is no user.
                for (user, count) in [("cleo", 59), ("", 60)] {
                    var views: [ConversationView] = []
                    for id in ids {
                        _ = try await calls.refusal { views.append(try await calls.get(id, as: user)) }
                    }
                    #expect(views.count == count)
                    for bytes in [0, 20_000, 1] {
                        #expect(try await calls.views(of: ids, as: user, bytes: bytes) == views)
                    }
                    // Nothing else is visible behind one that exceeds the limit.
                    let sparse = [views[0].conversation.id] + (0..<30).map { _ in .random() }
                    #expect(try await calls.views(of: sparse, as: user, bytes: 1) == [views[0]])
                }
            }
        }

        @Test("the newest message that a user sees is searched once, for any number of participants")
        func searches() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation((0..<5).map { "user\($0)" })
                for _ in 0..<2 { try await calls.send(id) }
                try await calls.delete(try await calls.send(id).id, by: "ana", .myDevices)
                try await calls.execute(
                    """
                    DO $$ DECLARE
                        search CONSTANT regproc := 'conversations.search_last_visible';
                    BEGIN
                        SET LOCAL track_functions = 'all';
                        PERFORM * FROM conversations.views_of('\(calls.app)', 'ana', ARRAY['\(id)']::uuid[], NULL);
                        IF pg_stat_get_xact_function_calls(search) <> 1 THEN
                            RAISE EXCEPTION '% searches', pg_stat_get_xact_function_calls(search);
                        END IF;
                    END $$
                    """)
            }
        }

        @Test("the order by last message uses the messages that this user sees")
        func ownOrder() async throws {
            try await CallsFixture.run { calls in
                let (first, second) = (try await calls.conversation(["ben"]), try await calls.conversation(["ben"]))
                try await calls.send(second, by: "ben")
                let newest = try await calls.send(first, by: "ben")
                #expect(try await calls.list(byLastMessage: true).views.map(\.conversation.id) == [first, second])
                try await calls.delete(newest.id, by: "ana", .myDevices)
                #expect(try await calls.list(byLastMessage: true).views.map(\.conversation.id) == [second, first])
                #expect(
                    try await calls.list(as: "ben", byLastMessage: true).views.map(\.conversation.id) == [
                        first, second,
                    ])
            }
        }

        @Test(
            "the order by last message places changed, hidden and left conversations correctly across any number of pages"
        )
        func manyByLastMessage() async throws {
            try await CallsFixture.run { calls in
                var ids: [ConversationID] = []
                for _ in 0..<60 { ids.append(try await calls.conversation(["ben"])) }
                // Send the last message of each in an order other than that of creation. Then make changes that are no
                // messages.
                let order = (0..<60).map { $0 * 7 % 60 }
                for index in order where index % 5 != 0 { try await calls.send(ids[index], by: "ben") }
                for index in stride(from: 0, to: 60, by: 3) {
                    try await calls.patch(ids[index], metadata: [set("title", "another")])
                }
                try await calls.patch(ids[order[59]], [remove("ana")])
                let silent = (0..<60).reversed().filter { $0 % 5 == 0 }
                let expected = (order.reversed().filter { $0 % 5 != 0 } + silent).map { ids[$0] }
                for size in [1, 7, 59, 60, 100] {
                    var paged: [ConversationID] = []
                    while true {
                        let page = try await calls.list(byLastMessage: true, pageSize: size, from: paged.last)
                        #expect(page.total == 60)
                        if page.views.isEmpty { break }
                        paged += page.views.map(\.conversation.id)
                    }
                    #expect(paged == expected)
                }
            }
        }

        @Test("the next message restores a hidden conversation, and only the user who hid it lost it")
        func hiddenAndBack() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.send(id, by: "ben")
                for user in ["ana", "cleo"] { try await calls.delete(id, by: user, .myDevices) }
                #expect(try await calls.list().total == 0)
                #expect(try await calls.list(as: "ben").total == 1)
                try await calls.send(id, by: "ben")
                for user in ["ana", "ben", "cleo"] {
                    #expect(try await calls.list(as: user).views.map(\.conversation.id) == [id])
                }
                // Delete it again, and leave it. No later message undoes leaving.
                try await calls.delete(id, by: "ana", .myDevices)
                try await calls.delete(id, by: "cleo", .myDevices, leave: true)
                try await calls.send(id, by: "ben")
                #expect(try await calls.list().total == 1)
                #expect(try await calls.list(as: "cleo").total == 0)
                try await calls.patch(id, by: "ben", [add("cleo")])
                #expect(try await calls.list(as: "cleo").total == 1)
                #expect(try await calls.misplaced() == 0)
            }
        }

        @Test("a page continues from a conversation that has left the list, and refuses an unknown one")
        func cursors() async throws {
            try await CallsFixture.run { calls in
                var ids: [ConversationID] = []
                for _ in 0..<4 { ids.append(try await calls.conversation(["ben"])) }
                try await calls.delete(ids[2], .myDevices)
                let page = try await calls.list(from: ids[2])
                #expect(page.total == 3 && page.views.map(\.conversation.id) == [ids[1], ids[0]])
                let foreign = try await calls.create(["ben"], by: "cleo").id
                for id in [foreign, .random()] {
                    let failure = try await calls.refusal { try await calls.list(from: id) }
                    #expect(failure?.code == .invalidProperty && failure?.detail == .property("from_id"))
                }
            }
        }
    }
}
