// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import TestTiers
import Testing

@testable import StrataKit

@Suite("predicates")
struct PredicateTests {
    @Test("typed predicates equal those with LayerKit's names")
    func typed() throws {
        typealias Predicate = Query<Conversation>.Predicate
        let typed = Query<Conversation>(where: {
            $0.hasUnreadMessages == true && $0.metadata[path: "theme.color"] == "red"
        })
        let named =
            try Predicate.where("hasUnreadMessages", .isEqualTo, true)
            && Predicate.where("metadata.theme.color", .isEqualTo, "red")
        #expect(typed.predicate == named)
        let last = Query<Conversation>(where: {
            $0.lastMessage.receivedAt > Example.date(1) || $0.lastMessage.id != nil
        })
        let names =
            try Predicate.where("lastMessage.receivedAt", .isGreaterThan, Example.date(1))
            || Predicate.where("lastMessage", .isNotEqualTo, nil)
        #expect(last.predicate == names)
    }

    @Test("typed predicates compare users by id, text or identity, and numbers, dates and lists")
    func typedValues() throws {
        let store = try QueryStore()
        #expect(try store.list(Query<Conversation>(where: { $0.participants == ["ana", "ben"] })) == ["2"])
        #expect(
            try store.list(Query<Conversation>(where: { $0.participants != Set([Example.user("ana")]) })) == [
                "2", "3", "4",
            ])
        #expect(
            try store.list(
                Query<Conversation>(where: { $0.participants.isNotIn([Identity(userID: Example.user("ana"))]) })) == [
                    "3", "4",
                ])
        #expect(
            try store.list(
                Query<Message>(where: { $0.sender.userID == "ben" || $0.sender.userID == Example.user("ana") })) == [
                    "1", "3",
                ])
        #expect(
            try store.list(Query<Message>(where: { $0.sender.userID.isIn(["ben", "ana"]) && $0.parts.size < 50 })) == [
                "1"
            ])
        #expect(
            try store.list(Query<Message>(where: { $0.position >= 24576 && $0.sentAt <= Example.date(100) })) == ["5"])
        #expect(
            try store.list(Query<Message>(where: { $0.parts.transferStatus.isNotIn([.complete, .uploading]) })) == [])
        #expect(
            try store.list(Query<Identity>(where: { $0.presenceStatus != .busy && $0.isFollowed == false })) == ["ben"])
        #expect(
            try store.list(Query<Identity>(where: { $0.metadata[path: "team"].isIn(["red", "green"]) })) == ["ana"])
        #expect(try store.list(Query<MessagePart>(where: { $0.mimeType != "text/plain" && $0.index == 1 })) == ["2.1"])
    }

    @Test("predicates combine with and, or and not", .proves("QRY-3"))
    func compound() throws {
        let store = try QueryStore()
        let query = Query<Message>(where: {
            ($0.isUnread == true || $0.conversationID == Example.conversation(1)) && !($0.sender.userID == "me")
        })
        #expect(try store.list(query) == ["1", "3", "5"])
        #expect(try store.list(Query<Message>(predicate: .not(.or([])))) == ["1", "2", "3", "4", "5"])
        #expect(try store.list(Query<Message>(predicate: .and([]))) == ["1", "2", "3", "4", "5"])
        #expect(
            try store.list(Query<Message>(where: { !($0.position > 0 && $0.sender.displayName == "Ana") })) == [
                "2", "3", "4", "5",
            ])
    }

    @Test("an empty list matches nothing, and its negation everything")
    func emptyLists() throws {
        let store = try QueryStore()
        #expect(try store.list(Query<Message>(where: { $0.sender.displayName.isIn([String]()) })) == [])
        #expect(
            try store.list(Query<Message>(where: { $0.sender.displayName.isNotIn([String]()) })) == [
                "1", "2", "3", "4", "5",
            ])
    }

    @Test(
        "an unknown property is error 12000", .proves("QRY-8"),
        arguments: ["", "lunch", "parts", "sender", "metadata.", "metadata.title", "receivedAt "])
    func unqueryable(name: String) {
        expectStrataError(.unqueryableProperty) { _ = try Query<Message>.Predicate.where(name, .isEqualTo, nil) }
    }

    @Test(
        "a value of another type, nil in a list, and nil in a comparison of order are error 12001",
        .proves("QRY-8", "QRY-4"))
    func wrongValues() {
        typealias Predicate = Query<Message>.Predicate
        expectStrataError(.unsupportedPredicate) { _ = try Predicate.where("isUnread", .isEqualTo, 1) }
        expectStrataError(.unsupportedPredicate) { _ = try Predicate.where("sentAt", .isLessThan, nil) }
        expectStrataError(.unsupportedPredicate) { _ = try Predicate.where("sentAt", .isEqualTo, 5) }
        expectStrataError(.unsupportedPredicate) {
            _ = try Predicate.where("identifier", .isIn, [Example.message(1), nil])
        }
        expectStrataError(.unsupportedPredicate) { _ = try Predicate.where("parts.transferStatus", .isEqualTo, 17) }
        expectStrataError(.unsupportedPredicate) {
            _ = try Query<Conversation>.Predicate.where("metadata", .isEqualTo, "red")
        }
        expectStrataError(.unsupportedPredicate) {
            _ = try Query<Conversation>.Predicate.where("participants", .isEqualTo, [""])
        }
    }

    @Test("the errors have the numbers 12000, 12001 and 12002", .proves("QRY-8"))
    func numbers() {
        let errors: [() throws -> Void] = [
            { _ = try Query<Message>.Predicate.where("lunch", .isEqualTo, nil) },
            { _ = try Query<Message>.Predicate.where("isUnread", .like, true) },
            { _ = try Query<Message>.SortDescriptor("lunch", ascending: true) },
        ]
        let codes = errors.map { error in #expect(throws: StrataError.self, performing: error)?.code }
        #expect(codes.map { $0?.number } == [12000, 12001, 12002])
        #expect(codes.allSatisfy { $0?.domain == .querying })
    }

    @Test("values are bound parameters, never part of the SQL")
    func injection() throws {
        let text = "x' OR 1 = 1 --"
        #expect(
            try QueryStore().list(Query<Identity>(where: { $0.displayName == text || $0.displayName.isIn([text]) }))
                == [])
        let compiled = try QueryStore()
            .read { reader in
                try reader.compile(
                    Query<Conversation>(where: { $0.metadata[path: text] == text && $0.participants == [text] })
                )
                .rows()
                .build(reader.db)
            }
        #expect(!compiled.sql.contains("1 = 1"))
    }

    @Test("a predicate nested too deeply for the store is refused, and a deep one is accepted")
    func depth() throws {
        let store = try QueryStore()
        func query(_ depth: Int) -> Query<Message> {
            let properties = Message.queryProperties
            let (isSent, isUnread) = (properties.isSent == true, properties.isUnread == true)
            let innermost = properties.sender.displayName.isNotIn(["x"])
            return Query(
                predicate: (0..<depth).reduce(innermost) { $1 % 2 == 0 ? .or([isUnread, $0]) : .and([isSent, $0]) })
        }
        #expect(try store.list(query(QueryCompiler.maximumDepth)) == ["1", "2", "3", "5"])
        expectStrataError(.unsupportedPredicate) { _ = try store.list(query(QueryCompiler.maximumDepth + 1)) }
    }

    @Test("a predicate too large for the store is refused, and a large one is accepted")
    func size() throws {
        let store = try QueryStore()
        func query(_ count: Int) -> Query<Message> {
            Query(
                predicate: (0..<count)
                    .map { Query<Message>.Predicate.or([Message.queryProperties.id == Example.message($0)]) }
                    .reduce(.or([])) { $0 || $1 })
        }
        #expect(try store.list(query(199)) == ["1", "2", "3", "4", "5"])
        expectStrataError(.unsupportedPredicate) { _ = try store.list(query(500)) }
        let many = Query<Message>(where: { $0.id.isIn((0..<40_000).map { _ in Example.message(1) }) })
        expectStrataError(.unsupportedPredicate) { _ = try store.list(many) }
    }
}
