// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("queries for messages")
struct MessageQueryTests {
    static let rows: [PropertyRow<Message>] = [
        .init("identifier", .lists, Example.message(2), equal: "2"),
        .init("conversation", .lists, Example.conversation(1), equal: "1 2"),
        .init("position", .order, Int64(16384), equal: "2", less: "1", greater: "3 5", absent: "4"),
        .init("sentAt", .order, Example.date(120), equal: "2", less: "1 5", greater: "3 4"),
        .init("receivedAt", .order, Example.date(210), equal: "3", less: "1 2", greater: "4 5"),
        .init("isSent", .equality, true, equal: "1 2 3 5"),
        .init("isUnread", .equality, true, equal: "3 5"),
        .init("sender.userID", .lists, "me", equal: "2 4", absent: "5"),
        .init("sender.displayName", .lists, "Ana", equal: "1", absent: "2 4"),
        .init("parts.MIMEType", .lists, "text/plain", equal: "1 2 4"),
        .init("parts.size", .numbers, 5, equal: "1", less: "2 4", greater: "2 3 5"),
        .init("parts.transferStatus", .lists, ContentTransferStatus.complete, equal: "1 2 3 5"),
    ]

    @Test("each property takes its operators and no others", .proves("QRY-2", "QRY-4", "SYNC-41"), arguments: rows)
    func properties(row: PropertyRow<Message>) throws { try row.check() }

    @Test("a sender without a user id is found by its name")
    func systemSender() throws {
        #expect(try QueryStore().list(Query<Message>(where: { $0.sender.displayName == "System" })) == ["5"])
    }

    @Test("names of older versions and Swift names refer to the same properties")
    func aliases() throws {
        let store = try QueryStore()
        #expect(try store.list(Query<Message>(predicate: try .where("index", .isEqualTo, Int64(8192)))) == ["1"])
        #expect(try store.list(Query<Message>(predicate: try .where("sender.name", .isEqualTo, "Ana"))) == ["1"])
        #expect(
            try store.list(Query<Message>(predicate: try .where("conversationID", .isEqualTo, Example.conversation(4))))
                == ["5"])
        #expect(
            try store.list(Query<Message>(predicate: try .where("parts.mimeType", .isEqualTo, "text/html"))) == ["5"])
    }

    @Test("an id may be given as text, URL or object")
    func idValues() throws {
        let store = try QueryStore()
        let whole = try #require(try store.read { try $0.conversation(Example.conversation(1)) })
        let values: [any QueryValueConvertible] = [
            Example.conversation(1).layerID, Example.conversation(1).description,
            try #require(URL(string: whole.id.layerID)), whole,
        ]
        for value in values {
            #expect(
                try store.list(Query<Message>(predicate: try .where("conversation", .isEqualTo, value))) == ["1", "2"])
        }
    }

    @Test(
        "the id of another kind of object, and an invalid id, are refused",
        arguments: [Example.message(1).layerID, "lunch", "layer:///conversations/"])
    func wrongID(text: String) {
        expectStrataError(.unsupportedPredicate) {
            _ = try Query<Message>.Predicate.where("conversation", .isEqualTo, text)
        }
        expectStrataError(.unsupportedPredicate) {
            _ = try Query<Message>.Predicate.where("conversation", .isIn, [text])
        }
    }

    @Test("a query never finds an announcement or its parts as messages", .proves("ANN-1"))
    func announcements() throws {
        #expect(try QueryStore().list(Query<Message>(where: { $0.parts.size == 50 })) == [])
        #expect(try QueryStore().list(Query<MessagePart>(where: { $0.size == 50 })) == [])
    }
}

@Suite("queries for message parts")
struct MessagePartQueryTests {
    static let rows: [PropertyRow<MessagePart>] = [
        .init("identifier", .lists, Example.part(2, 1), equal: "2.1"),
        .init("message", .lists, Example.message(2), equal: "2.0 2.1"),
        .init("message.conversation", .lists, Example.conversation(1), equal: "1.0 2.0 2.1"),
        .init("MIMEType", .lists, "image/png", equal: "2.1 3.0"),
        .init("index", .numbers, 1, equal: "2.1", less: "1.0 2.0 3.0 4.0 5.0"),
        .init("size", .numbers, 5, equal: "1.0", less: "2.0 4.0", greater: "2.1 3.0 5.0"),
        .init("transferStatus", .lists, ContentTransferStatus.uploading, equal: "4.0"),
    ]

    @Test("each property takes its operators and no others", .proves("QRY-2", "QRY-4"), arguments: rows)
    func properties(row: PropertyRow<MessagePart>) throws { try row.check() }

    @Test("a part has its message and its index in it")
    func place() throws {
        let parts = try QueryStore().read { try $0.execute(Query<MessagePart>(where: { $0.id == Example.part(2, 1) })) }
        #expect(parts.map(\.messageID) == [Example.message(2)])
        #expect(parts.map(\.index) == [1])
    }

    @Test("the id of a part may have LayerKit's format")
    func layerID() throws {
        let text = "\(Example.message(2).layerID)/parts/\(Example.part(2, 1).uuidString)"
        #expect(
            try QueryStore().list(Query<MessagePart>(predicate: try .where("identifier", .isEqualTo, text))) == ["2.1"])
        expectStrataError(.unsupportedPredicate) {
            _ = try Query<MessagePart>.Predicate.where("identifier", .isEqualTo, Example.message(2).layerID)
        }
    }
}
