// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import Synchronization
import Testing

@testable import StrataKit

@Suite("objects that queries load")
struct LoadedObjectsTests {
    @Test("loaded objects equal the objects that are loaded individually")
    func equality() throws {
        try QueryStore()
            .read { reader in
                for object in try reader.execute(Query<Conversation>()) {
                    #expect(try reader.conversation(object.id) == object)
                }
                for object in try reader.execute(Query<Message>()) { #expect(try reader.message(object.id) == object) }
                for object in try reader.execute(Query<Announcement>()) {
                    #expect(try reader.announcementRecord(object.id).map { try reader.announcement($0) } == object)
                }
                for object in try reader.execute(Query<Identity>()) {
                    #expect(try object.userID.map { try reader.identity($0) } == object)
                }
                for object in try reader.execute(Query<MessagePart>()) {
                    #expect(try object.messageID.flatMap { try reader.message($0) }?.parts[object.index] == object)
                }
            }
    }

    @Test("loaded objects have their parts in order, the sender's identity and all participants")
    func details() throws {
        let store = try QueryStore()
        let picture = try store.read { try $0.execute(Query<Message>(where: { $0.id == Example.message(2) })) }.first
        #expect(picture?.parts.map(\.mimeType) == ["text/plain", "image/png"])
        let group = try store.read { try $0.execute(Query<Conversation>(where: { $0.id == Example.conversation(2) })) }
            .first
        #expect(group?.participantIDs == [Example.user("ana"), Example.user("ben"), Example.user("me")])
        #expect(group?.participants.first { $0.userID == Example.user("ana") }?.displayName == "Ana")
        #expect(group?.lastMessage?.parts.map(\.transferStatus) == [.uploading])
    }

    @Test("any number of objects is loaded with few statements")
    func statements() throws {
        let store = try QueryStore(isEmpty: true)
        for number in 1...700 {
            try store.addConversation(number, ["me", "user\(number)"])
            try store.addMessage(
                number, in: number, position: Int64(number), from: "user\(number)", parts: [.init(type: "text/plain")])
        }
        try store.finish()
        let count = Mutex(0)
        try store.read { reader in
            reader.db.trace { _ in count.withLock { $0 += 1 } }
            let page = try reader.execute(Query<Conversation>(limit: 200))
            #expect(page.count == 200)
            #expect(count.withLock { $0 } <= 4)
            let all = try reader.execute(Query<Message>())
            #expect(all.count == 700)
            reader.db.trace(options: [])
        }
        #expect(count.withLock { $0 } <= 9)
    }
}
