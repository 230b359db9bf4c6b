// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import TestTiers
import Testing

@testable import StrataKit

@Suite("queries for conversations")
struct ConversationQueryTests {
    static let rows: [PropertyRow<Conversation>] = [
        .init("identifier", .lists, Example.conversation(2), equal: "2"),
        .init("lastMessage", .lists, Example.message(4), equal: "2", absent: "3"),
        .init("participants", .lists, ["ana"], equal: "1"),
        .init("createdAt", .order, Example.date(20), equal: "2", less: "1", greater: "3 4"),
        .init("hasUnreadMessages", .equality, true, equal: "2 4"),
        .init("isDistinct", .equality, true, equal: "1 3"),
        .init("lastMessage.sentAt", .order, Example.date(120), equal: "1", less: "4", greater: "2", absent: "3"),
        .init("lastMessage.receivedAt", .order, Example.date(230), equal: "2", less: "1", greater: "4", absent: "3"),
        .init("metadata", .equality, ["title": "Lunch"] as Metadata, equal: "4"),
        .init("metadata.title", .lists, "Lunch", equal: "1 4", absent: "2 3"),
        .init("metadata.theme.color", .lists, "red", equal: "1", absent: "3 4"),
    ]

    @Test(
        "each property takes its operators and no others", .proves("QRY-2", "QRY-4", "QRY-11", "SYNC-41"),
        arguments: rows.filter { $0.name != "participants" })
    func properties(row: PropertyRow<Conversation>) throws { try row.check() }

    @Test(
        "= and ≠ compare the exact participant set including the user; in and not in match any participant",
        .proves("QRY-10"),
        arguments: [
            (PredicateOperator.isEqualTo, ["ana"], "1"), (.isEqualTo, ["me", "ana"], "1"), (.isEqualTo, [], "3"),
            (.isEqualTo, ["ben"], ""),
            (.isNotEqualTo, ["ana"], "2 3 4"), (.isIn, ["ana"], "1 2"), (.isIn, ["ben", "ana"], "1 2"),
            (.isIn, ["me"], "1 2 3"), (.isIn, [], ""),
            (.isNotIn, ["ben"], "1 3 4"), (.isNotIn, ["me"], "4"), (.isNotIn, [], "1 2 3 4"),
        ])
    func participants(comparison: PredicateOperator, users: [String], expected: String) throws {
        let query = Query<Conversation>(predicate: try .where("participants", comparison, users))
        #expect(try QueryStore().list(query).joined(separator: " ") == expected)
    }

    @Test("participants may be user ids, their texts, identities, or one user alone", .proves("QRY-10"))
    func participantValues() throws {
        let values: [any QueryValueConvertible] = [
            ["ana"], [Example.user("ana")], [Identity(userID: Example.user("ana"))], Set([Example.user("ana")]), "ana",
            Example.user("ana"),
        ]
        for value in values {
            #expect(
                try QueryStore().list(Query<Conversation>(predicate: try .where("participants", .isEqualTo, value)))
                    == ["1"])
        }
    }

    @Test("no conversation is without participants, not even one that the user was removed from", .proves("QRY-10"))
    func noParticipants() throws {
        #expect(
            try QueryStore().list(Query<Conversation>(predicate: try .where("participants", .isEqualTo, nil))) == [])
        #expect(
            try QueryStore().list(Query<Conversation>(predicate: try .where("participants", .isNotEqualTo, nil))) == [
                "1", "2", "3", "4",
            ])
    }

    @Test(
        "participants take no other operators",
        arguments: [PredicateOperator.isLessThan, .isGreaterThanOrEqualTo, .like])
    func participantOperators(comparison: PredicateOperator) {
        expectStrataError(.unsupportedPredicate) {
            _ = try Query<Conversation>.Predicate.where("participants", comparison, ["ana"])
        }
    }

    @Test("no predicate finds an invisible conversation", .proves("QRY-1"))
    func hidden() throws {
        let store = try QueryStore()
        #expect(try store.list(Query<Conversation>()) == ["1", "2", "3", "4"])
        #expect(
            try store.list(
                Query<Conversation>(where: {
                    $0.id == Example.conversation(5) || $0.metadata[path: "title"] == "Hidden"
                })) == [])
    }

    @Test("an empty visible conversation is found", .proves("QRY-1"))
    func empty() throws {
        #expect(try QueryStore().list(Query<Conversation>(where: { $0.lastMessage.id == nil })) == ["3"])
    }

    @Test(
        "a whole dictionary is compared regardless of the order and nesting in which it is written", .proves("QRY-11"))
    func wholeMetadata() throws {
        let query = Query<Conversation>(where: { $0.metadata == ["theme": ["color": "red"], "title": "Lunch"] })
        #expect(try QueryStore().list(query) == ["1"])
        #expect(try QueryStore().list(Query<Conversation>(where: { $0.metadata == [:] })) == ["3"])
    }

    @Test("a key path to a group has no text", .proves("QRY-11"))
    func group() throws {
        #expect(
            try QueryStore().list(Query<Conversation>(where: { $0.metadata[path: "theme"] == nil })) == [
                "1", "2", "3", "4",
            ])
    }

    @Test(
        "keys of other software with any characters are found and do no harm",
        arguments: ["a b", "a\"b", "a\\b", "$", "é", "'; DROP TABLE conversation; --", "a[0]"])
    func oddKeys(key: String) throws {
        let store = try QueryStore(isEmpty: true)
        try store.addConversation(1, ["me"], metadata: [key: "x"])
        try store.addConversation(2, ["me"])
        #expect(try store.list(Query<Conversation>(where: { $0.metadata[path: key] == "x" })) == ["1"])
        #expect(try store.list(Query<Conversation>(where: { $0.metadata[path: key] != "x" })) == ["2"])
    }

    @Test("the former id of a conversation finds it and its messages", .proves("CONV-32"))
    func formerID() throws {
        let store = try QueryStore()
        try store.write(
            "INSERT INTO alias VALUES (?, ?)", [Example.conversation(9).blob, Example.conversation(1).blob])
        #expect(try store.list(Query<Conversation>(where: { $0.id == Example.conversation(9) })) == ["1"])
        #expect(
            try store.list(Query<Message>(where: { $0.conversationID.isIn([Example.conversation(9)]) })) == ["1", "2"])
    }
}
