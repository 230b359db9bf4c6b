// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import SeededRandom
import StrataModel
import TestSupport
import Testing

@testable import Conversations

extension StoreTests {
    /// The messages that a block hides, and the users it hides them from.
    @Suite struct BlockTests {
        private func user(_ name: String) -> UserID { UserID(trusted: name) }

        // MARK: The list

        @Test(
            "a block list has each user once, in order; only effective changes have a position and an entry in both logs"
        )
        func list() async throws {
            try await CallsFixture.run { calls in
                #expect(try await calls.block(["cleo", "ben", "ben", "ana"]) == Position(1))
                #expect(try await calls.block(["ben"]) == nil)
                #expect(try await calls.unblock(["dora"]) == nil)
                #expect(try await calls.blocks().users == ["ben", "cleo"])
                #expect(try await calls.blocks().total == 2)
                #expect(try await calls.blocks(pageSize: 1).users == ["ben"])
                #expect(try await calls.blocks(from: "ben").users == ["cleo"])
                #expect(try await calls.blocks(of: "ben").total == 0)
                try await expectPairs(of: "ana", blocked: ["ben", "cleo"], calls)
                try await expectPairs(of: "ben", by: ["ana"], calls)

                #expect(try await calls.changeBlocks([(.remove, ["ben"]), (.add, ["dora", "cleo"])]) == Position(2))
                #expect(try await calls.changeBlocks([(.set, [])]) == Position(3))
                #expect(try await calls.blocks().users == [])
                let log = try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges.map(\.content)
                #expect(
                    log == [
                        .blocksChanged(blocked: [user("ben"), user("cleo")], unblocked: []),
                        .blocksChanged(blocked: [user("dora")], unblocked: [user("ben")]),
                        .blocksChanged(blocked: [], unblocked: [user("cleo"), user("dora")]),
                    ])
                let others = try await calls.readLogs(as: "ben", [:], userAfter: .zero).userChanges.map(\.content)
                #expect(
                    others == [.blockedBy(user("ana"), isBlocked: true), .blockedBy(user("ana"), isBlocked: false)])
                // Publications equal the entries of the logs.
                let told = try calls.notices("ana")
                    .compactMap { if case .change(let change) = $0 { change } else { nil } }
                #expect(try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges == told)
                #expect(try calls.notices("ben").count == 2)
            }
        }

        @Test("many operations equal their sequential execution; operations that exceed the limit are refused")
        func manyOperations() async throws {
            try await CallsFixture.run { calls in
                try await calls.block(["ben", "cleo"])
                let most = 4 * (try #require(CallsFixture.quotas.blocked)) + 1000
                var operations: [(kind: ProtoBlockOperation.Kind, users: [String])] = []
                for number in 0..<(most / 2 - 2) {
                    operations.append((.add, ["u\(number)"]))
                    operations.append((.remove, ["u\(number)"]))
                }
                operations.append((.remove, ["ben"]))
                operations.append((.add, ["ben", "dora"]))
                operations.append((.remove, ["cleo"]))
                try await calls.changeBlocks(operations)
                #expect(try await calls.blocks().users == ["ben", "dora"])
                operations.append((.remove, ["ben"]))
                let refusal = try await calls.refusal { try await calls.changeBlocks(operations) }
                #expect(refusal?.code == .invalidProperty && refusal?.detail == .property("blocks"))
                #expect(try await calls.blocks().users == ["ben", "dora"])
            }
        }

        private func expectPairs(
            of user: String, blocked: [String] = [], by others: [String] = [], _ calls: CallsFixture,
            _ line: SourceLocation = #_sourceLocation
        ) async throws {
            let pairs = try await calls.blockPairs(of: user)
            #expect(pairs.blocked == blocked && pairs.by == others, sourceLocation: line)
        }

        @Test("users whose ids differ only in normalization are blocked and unblocked independently")
        func normalization() async throws {
            try await CallsFixture.run { calls in
                let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
                try await calls.block([composed])
                try await calls.changeBlocks([(.remove, [composed]), (.add, [decomposed])])
                let told = try calls.published.notices().filter { $0.appID == calls.app }
                func last(_ name: String) -> UserChange.Content? {
                    told.compactMap {
                        if $0.user == user(name), case .change(let change) = $0.content { change.content } else { nil }
                    }
                    .last
                }
                #expect(last(composed) == .blockedBy(user("ana"), isBlocked: false))
                #expect(last(decomposed) == .blockedBy(user("ana"), isBlocked: true))
                #expect(
                    try await calls.blocks().users.map { Array($0.unicodeScalars) } == [
                        Array(decomposed.unicodeScalars)
                    ])
                try await calls.block([composed], by: decomposed)
                let pairs = try await calls.blockPairs(of: composed)
                #expect(pairs.by.map { Array($0.unicodeScalars) } == [Array(decomposed.unicodeScalars)])
                let own = try calls.published.notices().last { $0.appID == calls.app && $0.user == user(decomposed) }
                guard case .change(let change) = own?.content else {
                    Issue.record("the one who blocks is told nothing")
                    return
                }
                #expect(change.content == .blocksChanged(blocked: [user(composed)], unblocked: []))
            }
        }

        @Test("mutual blocks end when both users have ended theirs")
        func mutual() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.block(["ben"])
                try await calls.block(["ana"], by: "ben")
                try await expectPairs(of: "ana", blocked: ["ben"], by: ["ben"], calls)
                try await calls.unblock(["ben"])
                try await calls.send(id, by: "ben", "hidden")
                try await calls.unblock(["ana"], by: "ben")
                try await calls.send(id, by: "ben", "shown")
                #expect(try await calls.texts(id, as: "ana") == ["shown"])
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.block WHERE app_id = '\(calls.app)'")
                        == 0)
            }
        }

        @Test("gateways read a user's blocks in pages of limited size, ordered by id")
        func pages() async throws {
            try await CallsFixture.run { calls in
                try await calls.block(["b", "d", "e"], by: "ana")
                for user in ["a", "c", "d"] { try await calls.block(["ana"], by: user) }
                var pages: [(blocked: [String], by: [String])] = []
                var from: String?
                repeat {
                    pages.append(try await calls.blockPairs(of: "ana", from: from, pageSize: 2))
                    from = (pages[pages.count - 1].blocked + pages[pages.count - 1].by).max()
                } while from != nil
                #expect(pages.map(\.blocked) == [["b"], ["d"], ["e"], []])
                #expect(pages.map(\.by) == [["a"], ["c", "d"], [], []])
            }
        }

        @Test("a user's block list has a maximum size, and existing blocks stay")
        func quota() async throws {
            try await CallsFixture.run { calls in
                let limit = CallsFixture.quotas.blocked ?? 0
                try await calls.block((0..<limit).map { "u\($0)" })
                let refusal = try await calls.refusal { try await calls.block(["one-more"]) }
                #expect(refusal?.code == .invalidProperty && refusal?.detail == .property("blocks"))
                #expect(try await calls.block(["u0"]) == nil)
                // Removing one entry makes room for another.
                #expect(try await calls.changeBlocks([(.remove, ["u0"]), (.add, ["one-more"])]) != nil)
                #expect(try await calls.blocks().total == Int64(limit))
            }
        }

        @Test("concurrent blocks by two users of each other both take effect")
        func race() async throws {
            try await CallsFixture.run { calls in
                for round in 0..<10 {
                    let (one, other) = ("a\(round)", "b\(round)")
                    async let first: Position? = calls.block([other], by: one)
                    async let second: Position? = calls.otherInstance.block([one], by: other)
                    _ = try await (first, second)
                    async let third: Position? = calls.unblock([other], by: one)
                    async let fourth: Position? = calls.otherInstance.block([one, "x"], by: other)
                    _ = try await (third, fourth)
                    try await expectPairs(of: one, by: [other], calls)
                    try await expectPairs(of: other, blocked: [one, "x"], calls)
                }
            }
        }

        // MARK: Messages

        @Test(
            "blocks hide new messages in both directions; third users, older messages and later messages are unaffected"
        )
        func directions() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.send(id, by: "ben", "1")
                try await calls.block(["ben"])
                let hidden = try await calls.send(id, by: "ben", "2")
                try await calls.send(id, by: "ana", "3")
                try await calls.send(id, by: "cleo", "4")
                #expect(try await calls.texts(id, as: "ana") == ["1", "3", "4"])
                #expect(try await calls.texts(id, as: "ben") == ["1", "2", "4"])
                #expect(try await calls.texts(id, as: "cleo") == ["1", "2", "3", "4"])
                #expect(try await calls.refusal { try await calls.message(hidden.id, as: "ana") }?.code == .notFound)
                #expect(
                    try await calls.refusal { try await calls.receipt(.read, hidden.id, by: "ana") }?.code == .notFound)
                let view = try await calls.get(id, as: "ana")
                #expect(view.totalCount == 3 && view.unreadCount == 2 && view.lastMessage?.parts.first?.body == "4")
                try await calls.unblock(["ben"])
                try await calls.send(id, by: "ben", "5")
                #expect(try await calls.texts(id, as: "ana") == ["1", "3", "4", "5"])
                #expect(try await calls.misplaced() == 0)
            }
        }

        @Test(
            "the published change of a hidden message names the users it is hidden from with their counts, as does the log"
        )
        func published() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.block(["ben"])
                let message = try await calls.send(id, by: "ben", parts: [.text("a"), .text("b")])
                _ = try await calls.edit(message.id, by: "ben", .add(ProtoMessagePart(.text("c"))))
                try await calls.delete(message.id, by: "ben", .allParticipants)
                let heard = try calls.publishedChanges(of: id).dropFirst()
                #expect(heard.map(\.hiddenFrom) == [[user("ana")], [user("ana")], [user("ana")]])
                #expect(heard.first?.counts[user("ana")] == UserCounts(excluded: 1, hidden: 1, position: Position(2)))
                let repaired = try await calls.readChanges(id, after: Position(1), users: ["ana"])
                #expect(repaired.changes.map(\.hiddenFrom) == heard.map(\.hiddenFrom))
                #expect(repaired.counts["ana"] == UserCounts(excluded: 1, hidden: 1, position: Position(4)))
                let owed = try await calls.readLogs(as: "ana", [id: Position(1)])
                #expect(owed.entries == [2, 3, 4].map { .skipped(id, Position($0)) })
                #expect(try await calls.readLogs(as: "cleo", [id: Position(1)]).changes.map(\.position.rawValue) == [4])
            }
        }

        @Test("a hidden message keeps the status sent for its sender, live, in the log and in lists")
        func statuses() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                let before = try await calls.send(id, by: "ben", "1")
                try await calls.block(["ben"])
                let hidden = try await calls.send(id, by: "ben", "2")
                let shown = try await calls.send(id, by: "cleo", "3")
                try await calls.markAllRead(id, by: "ana")
                let change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    change.content
                        == .receipts([
                            .init(
                                user: user("ana"), messageID: before.id, ordinal: 1, status: .read, sender: user("ben")),
                            .init(
                                user: user("ana"), messageID: shown.id, ordinal: 3, status: .read, sender: user("cleo")),
                        ]))
                #expect(change.counts[user("ana")]?.excluded == 3)
                #expect(
                    try await calls.readChanges(id, after: Position(change.position.rawValue - 1)).changes == [
                        change.withoutCounts
                    ])
                for reader in ["ben", "cleo"] {
                    #expect(try await calls.message(hidden.id, as: reader).status(of: user("ana")) == .sent)
                    let listed = try await calls.messages(id, as: reader).messages.map { $0.status(of: user("ana")) }
                    #expect(listed == [.read, .sent, .read])
                    let loaded = try await calls.load(as: reader, messages: 10).items
                    #expect(
                        loaded.flatMap(\.messages).filter { $0.id == hidden.id }
                            .allSatisfy { $0.status(of: user("ana")) == .sent })
                }
                // A receipt of a hidden message lists the users from whom it is hidden. They do not receive it.
                try await calls.receipt(.read, hidden.id, by: "cleo")
                let receipt = Change.Receipt(
                    user: user("cleo"), messageID: hidden.id, ordinal: 2, status: .read, sender: user("ben"),
                    hiddenFrom: [user("ana")])
                let told = try #require(try calls.publishedChanges(of: id).last)
                #expect(told.content == .receipts([receipt]) && !receipt.concerns(user("ana")))
                #expect(try await calls.readChanges(id, after: change.position).changes == [told.withoutCounts])
                // "All read" up to a later position would include the hidden message, so single receipts are logged. Up
                // to an earlier position it would not.
                let later = try await calls.send(id, by: "cleo", "4")
                try await calls.markAllRead(id, by: "ana")
                #expect(
                    try calls.publishedChanges(of: id).last?.content
                        == .receipts([
                            .init(
                                user: user("ana"), messageID: later.id, ordinal: 4, status: .read, sender: user("cleo"))
                        ]))
                // A former participant keeps these statuses.
                try await calls.patch(id, by: "ana", [remove("ben")])
                #expect(try await calls.message(hidden.id, as: "ben").status(of: user("ana")) == .sent)
                #expect(try await calls.message(before.id, as: "ben").status(of: user("ana")) == .read)
            }
        }

        @Test(
            "receipts up to a message before the first hidden one are reported in full, as are those after a re-addition"
        )
        func allRead() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                let before = try await calls.send(id, by: "ben", "1")
                try await calls.send(id, by: "cleo", "2")
                try await calls.block(["ben"])
                let hidden = try await calls.send(id, by: "ben", "3")
                try await calls.markAllRead(id, by: "ana", upTo: before.position)
                #expect(
                    try calls.publishedChanges(of: id).last?.content
                        == .allRead(user: user("ana"), upTo: before.position, audience: nil))
                try await calls.patch(id, by: "cleo", [remove("ana")])
                try await calls.patch(id, by: "cleo", [add("ana")])
                // An added user counts as having read all earlier messages, and others see that.
                #expect(try await calls.message(hidden.id, as: "ben").status(of: user("ana")) == .read)
                try await calls.send(id, by: "cleo", "4")
                try await calls.markAllRead(id, by: "ana")
                guard case .allRead = try calls.publishedChanges(of: id).last?.content else {
                    Issue.record("\(String(describing: try calls.publishedChanges(of: id).last?.content))")
                    return
                }
            }
        }

        @Test("a hidden message does not restore a deleted conversation; the next visible message does")
        func deletedConversation() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.send(id, by: "ben", "1")
                try await calls.delete(id, by: "ana", .myDevices)
                try await calls.block(["ben"])
                for text in ["2", "3"] { try await calls.send(id, by: "ben", text) }
                #expect(try await calls.list().total == 0)
                #expect(try await calls.misplaced() == 0)
                try await calls.send(id, by: "cleo", "4")
                #expect(try await calls.list().total == 1)
                #expect(try await calls.texts(id, as: "ana") == ["4"])
                #expect(try await calls.misplaced() == 0)
            }
        }

        // MARK: Conversations

        @Test(
            "a conversation created by a blocked user is listed only after another user writes",
            arguments: [true, false])
        func created(isCreatorBlocked: Bool) async throws {
            try await CallsFixture.run { calls in
                let (creator, other) = isCreatorBlocked ? ("ben", "ana") : ("ana", "ben")
                try await calls.block(["ben"])
                let id = try await calls.create([other, "cleo"], by: creator).id
                try await calls.send(id, by: creator, "1")
                #expect(try await calls.list(as: other).total == 0)
                #expect(try await calls.refusal { try await calls.get(id, as: other) }?.code == .notFound)
                #expect(try await calls.list(as: "cleo").total == 1)
                #expect(try await calls.misplaced() == 0)
                // So far the log has nothing for this user. Another user's message makes the conversation visible.
                try await calls.send(id, by: "cleo", "2")
                #expect(try await calls.list(as: other).total == 1)
                #expect(try await calls.texts(id, as: other) == ["2"])
                #expect(try await calls.misplaced() == 0)
            }
        }

        @Test(
            "an addition by a blocked user is hidden until another user writes; then the user sees messages since the addition"
        )
        func added() async throws {
            try await CallsFixture.run { calls in
                try await calls.block(["ben"])
                let id = try await calls.create(["cleo"], by: "ben").id
                try await calls.send(id, by: "cleo", "1")
                try await calls.patch(id, by: "ben", [add("ana")])
                #expect(try await calls.list().total == 0)
                try await calls.send(id, by: "ben", "2")
                #expect(try await calls.list().total == 0)
                try await calls.send(id, by: "cleo", "3")
                #expect(try await calls.texts(id, as: "ana") == ["3"])
                #expect(try await calls.misplaced() == 0)
            }
        }

        @Test("a former participant whom a blocked user adds again keeps the conversation")
        func addedAgain() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.send(id, by: "cleo", "1")
                try await calls.patch(id, by: "cleo", [remove("ana")])
                try await calls.block(["ben"])
                try await calls.patch(id, by: "ben", [add("ana")])
                #expect(try await calls.texts(id, as: "ana") == ["1"])
                #expect(try await calls.misplaced() == 0)
            }
        }

        @Test("one distinct conversation exists per participant set, and the user who creates it sees it")
        func distinct() async throws {
            try await CallsFixture.run { calls in
                try await calls.block(["ben"])
                let id = try await calls.create(["ana"], by: "ben", distinct: true).id
                try await calls.send(id, by: "ben", "1")
                let found = try await calls.create(["ben"], by: "ana", distinct: true)
                #expect(found.id == id && !found.isNew)
                #expect(try await calls.list().total == 1)
                #expect(try await calls.texts(id, as: "ana") == [])
                #expect(try await calls.misplaced() == 0)
            }
        }

        // MARK: Random operations

        // The seeds are unique to this test, because message ids derive from them and tests share a database.
        @Test(
            "lists, counts, logs and published changes agree after any sequence of writes, blocks and unblocks",
            arguments: [201, 202, 203] as [UInt64])
        func random(seed: UInt64) async throws {
            let users = ["ana", "ben", "cleo", "dora"]
            try await CallsFixture.run { calls in
                let created = try await calls.create(Array(users.dropFirst()))
                let id = created.id
                var random = SeededGenerator(seed: seed)
                var model = ConversationModel(users: users)
                var copy = ClientCopy(user: "ana", of: created.view)
                for round in 0..<120 {
                    let actor = users.randomElement(using: &random) ?? "ana"
                    if Int.random(in: 0..<6, using: &random) == 0 {
                        let other = users.filter { $0 != actor }.randomElement(using: &random) ?? "ben"
                        if Bool.random(using: &random) {
                            try await calls.block([other], by: actor)
                        } else {
                            try await calls.unblock([other], by: actor)
                        }
                        continue
                    }
                    let operation = ConversationModel.Operation(about: model, of: users, &random)
                    if operation.puts(out: "ana", askedBy: actor) { continue }
                    let before = model
                    _ = model.apply(operation, by: actor)
                    let head = try await calls.readChanges(id).head
                    _ = try await calls.refusal { try await calls.perform(operation, by: actor, in: id, before) }
                    let heard = try calls.publishedChanges(of: id).filter { $0.position > head }
                    #expect(
                        try await calls.readChanges(id, after: head).changes == heard.map(\.withoutCounts),
                        "seed \(seed), round \(round)")
                    #expect(try await calls.misplaced() == 0, "seed \(seed), round \(round)")
                    guard round % 10 == 9 else { continue }
                    let log = try await calls.readLogs(as: "ana", [id: copy.position], userAfter: copy.ownPosition)
                    for entry in log.entries { copy.apply(entry) }
                    try await compare(copy, log.counts[id], id, calls, "seed \(seed), round \(round)")
                }
            }
        }

        private func compare(
            _ copy: ClientCopy, _ counts: UserCounts?, _ id: ConversationID, _ calls: CallsFixture, _ place: Comment
        ) async throws {
            guard try await calls.list().total == 1 else { return }
            let view = try await calls.get(id)
            let fresh = try await calls.messages(id, pageSize: 1000)
            #expect(
                view.counts == counts && view.unreadCount == Int64(copy.unread) && view.totalCount == fresh.total, place
            )
            #expect(
                Int64(fresh.messages.count) == fresh.total && view.lastMessage?.id == fresh.messages.first?.id, place)
            #expect(Set(fresh.messages.map(\.id)) == Set(copy.messages.keys), place)
            for message in fresh.messages {
                for recipient in copy.messages[message.id]?.recipients ?? [] {
                    #expect(recipient.status == message.status(of: recipient.userID), place)
                }
            }
        }
    }
}
