// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("packets about conversations")
struct ConversationPacketTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)
    private let ana = WireJSON.ana
    private let ben = WireJSON.ben
    private let cleo = WireJSON.cleo

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat, metadata: ["trip": ["city": "Porto", "hotel": "A"]])
    }

    /// Applies packets twice, and expects the second time to change nothing.
    private func applyTwice(_ packets: JSONValue...) throws -> StoreCore.Outcome<Void> {
        let outcome = try store.write { store in for packet in packets { try store.applyPacket(packet) } }
        #expect(try store.write { store in for packet in packets { try store.applyPacket(packet) } }.changes.isEmpty)
        return outcome
    }

    @Test("a creation packet has the object's current state", .proves("CONV-10", "META-36"))
    func created() throws {
        let last = WireJSON.message(.test(9), in: .test(2), at: 6)
        let object = WireJSON.conversation(
            .test(2), at: 7, metadata: ["a": "b"], isDistinct: true, unread: 1, total: 3, last: last)
        #expect(try applyTwice(WireJSON.created(object, at: 2)).words == ["conversation create", "message create"])
        let conversation = try #require(try store.conversation(.test(2)))
        #expect(
            conversation.lastMessage?.id == .test(9) && conversation.isDistinct && conversation.metadata["a"] == "b")
        #expect(conversation.totalMessageCount == 3 && conversation.totalUnreadMessageCount == 1)
        #expect(try store.progress(of: .test(2))?.applied == 7)
    }

    @Test("the synchronized range of a new conversation is stored", .proves("STORE-1"))
    func progress() throws {
        let last = WireJSON.message(.test(9), in: .test(2), at: 6)
        try store.apply(WireJSON.created(WireJSON.conversation(.test(2), at: 7, unread: 4, total: 8, last: last)))
        let progress = try #require(try store.progress(of: .test(2)))
        #expect(progress == SyncProgress(applied: 7, oldest: 6 * 8192, goal: .firstUnread, generation: 0))
        let outcome = try store.apply(WireJSON.updated(.test(2), at: 8, WireJSON.set("metadata.a", "b")))
        #expect(outcome.findings.unknownConversations.isEmpty && outcome.words == ["conversation update metadata"])
    }

    @Test("metadata is set and deleted by path", .proves("META-1", "META-13", "CONV-13"))
    func metadata() throws {
        let outcome = try applyTwice(
            WireJSON.updated(
                chat, at: 2, WireJSON.set("metadata.trip.city", "Faro"), WireJSON.delete("metadata.trip.hotel")))
        #expect(outcome.words == ["conversation update metadata"])
        #expect(try store.metadata(of: chat) == ["trip.city": "Faro"])
        _ = try applyTwice(WireJSON.updated(chat, at: 3, WireJSON.delete("metadata.trip")))
        #expect(try store.metadata(of: chat) == [:])
    }

    @Test("a complete replacement by other software is understood", .proves("META-32", "META-18"))
    func replaced() throws {
        _ = try applyTwice(WireJSON.updated(chat, at: 2, WireJSON.set("metadata", ["a b": "c", "ä": ["d": "e"]])))
        #expect(try store.metadata(of: chat) == ["a b": "c", "ä.d": "e"])
    }

    @Test("changes before the object's position are skipped, those at the same position are not", .proves("SYNC-5"))
    func position() throws {
        try store.apply(WireJSON.updated(chat, at: 5, WireJSON.set("metadata.trip.city", "Faro")))
        #expect(
            try store.apply(
                WireJSON.updated(chat, at: 4, WireJSON.set("metadata.trip.city", "Old"), WireJSON.remove(ben))
            )
            .changes.isEmpty)
        try store.apply(
            WireJSON.updated(chat, at: 5, WireJSON.set("metadata.trip.hotel", "B"), WireJSON.set("distinct", true)))
        #expect(try store.metadata(of: chat) == ["trip.city": "Faro", "trip.hotel": "B"])
        #expect(try store.conversation(chat)?.isDistinct == true)
    }

    @Test("counts and the last message are always applied", .proves("SYNC-50", "SYNC-51", "SYNC-70"))
    func counts() throws {
        try store.apply(WireJSON.updated(chat, at: 5, WireJSON.set("metadata.a", "b")))
        let last = WireJSON.set("last_message", WireJSON.message(.test(4), in: chat, at: 4))
        let outcome = try applyTwice(
            WireJSON.counts(of: chat, at: 4, unread: 2, total: 7), WireJSON.updated(chat, at: 4, last))
        #expect(
            Set(outcome.words)
                .isSuperset(of: ["conversation update totalNumberOfMessages", "conversation update lastMessage"]))
        #expect(try store.conversation(chat)?.totalMessageCount == 7)
        #expect(try store.progress(of: chat)?.applied == 5)
    }

    @Test("packets of the user's own log are applied at any position")
    func userPosition() throws {
        try store.apply(WireJSON.updated(chat, at: 5, WireJSON.set("metadata.a", "b")))
        _ = try applyTwice(WireJSON.counts(of: chat, user: 3, unread: 4, total: 9))
        #expect(try store.conversation(chat)?.totalUnreadMessageCount == 4)
        #expect(store.core.cursor.userPosition == 3)
    }

    @Test("participants join and leave; a new one has read all earlier messages", .proves("CONV-16"))
    func participants() throws {
        try store.addMessages(2...3, in: chat)
        _ = try applyTwice(WireJSON.updated(chat, at: 4, WireJSON.add(cleo), WireJSON.remove(ben)))
        #expect(try store.participants(of: chat) == [ana, cleo])
        #expect(try store.message(.test(3))?.recipientStatusByUserID[cleo] == .read)
        #expect(try store.message(.test(3))?.recipientStatusByUserID[ben] == .read)
    }

    @Test("a user added in a stored object has read earlier messages too")
    func containedAddition() throws {
        try store.addMessages(2...5, in: chat)
        try store.apply(WireJSON.created(WireJSON.conversation(chat, at: 6, participants: [ana, cleo])))
        _ = try applyTwice(WireJSON.updated(chat, at: 4, WireJSON.add(cleo)))
        #expect(try store.message(.test(3))?.recipientStatusByUserID[cleo] == .read)
        #expect(try store.message(.test(4))?.recipientStatusByUserID[cleo] == nil)
        #expect(try store.participants(of: chat) == [ana, cleo])
    }

    @Test("a removed user keeps messages and counts, and sees no participants", .proves("CONV-19", "CONV-40"))
    func removed() throws {
        try store.addMessages(2...3, in: chat)
        #expect(
            try applyTwice(WireJSON.updated(chat, at: 4, WireJSON.remove(ana))).words == [
                "conversation update participants"
            ])
        let conversation = try #require(try store.conversation(chat))
        #expect(
            conversation.participants.isEmpty && conversation.totalUnreadMessageCount == 2
                && conversation.hasUnreadMessages)
        #expect(try store.messages(in: chat) == [.test(2), .test(3)])
    }

    @Test("a change that adds another user and removes the client's own leaves no participants", .proves("CONV-19"))
    func removedByAnAddition() throws {
        try store.apply(WireJSON.updated(chat, at: 4, WireJSON.add(ben), WireJSON.remove(ana)))
        #expect(try #require(try store.conversation(chat)).participants.isEmpty)
    }

    @Test("a re-added user receives the gap, by comparing the stored messages again", .proves("CONV-40"))
    func addedAgain() throws {
        try store.addMessages(2...3, in: chat)
        try store.apply(WireJSON.updated(chat, at: 4, WireJSON.remove(ana)))
        let last = WireJSON.message(.test(9), in: chat, at: 9)
        let outcome = try store.apply(
            WireJSON.created(WireJSON.conversation(chat, at: 10, unread: 1, total: 6, last: last)))
        #expect(outcome.findings.historyWanted == [chat])
        let progress = try #require(try store.progress(of: chat))
        #expect(progress.oldest == 9 * Position.wireStep && progress.goal == .position(0, then: nil))
    }

    @Test(
        "a deletion removes the conversation and its messages", .proves("DEL-1", "DEL-4"),
        arguments: [DeletionMode.myDevices, .allParticipants])
    func deleted(_ mode: DeletionMode) throws {
        try store.addMessages(2...3, in: chat)
        #expect(
            try applyTwice(WireJSON.deleted(chat, mode, user: 2)).words == [
                "conversation delete", "message delete", "message delete",
            ])
        #expect(try store.progress(of: chat) == nil)
    }

    @Test("a deletion up to a position keeps newer messages", .proves("DEL-1"))
    func deletedUpTo() throws {
        try store.addMessages(2...4, in: chat)
        _ = try applyTwice(
            WireJSON.deleted(chat, .myDevices, upTo: 3, user: 2),
            WireJSON.counts(of: chat, user: 2, unread: 1, total: 1))
        #expect(try store.messages(in: chat) == [.test(4)])
        #expect(try store.conversation(chat)?.totalMessageCount == 1)
    }

    @Test("unsent messages stay in the queue after a deletion from the own devices", .proves("CONV-42", "SYNC-73"))
    func deletedWithUnsent() throws {
        try store.send(.test(10), in: chat)
        try store.apply(WireJSON.deleted(chat, .myDevices, user: 2))
        #expect(store.pendingNames == ["sendMessage"])
        try store.apply(WireJSON.created(WireJSON.conversation(chat, at: 8, metadata: ["a": "b"])))
        #expect(try store.conversation(chat)?.lastMessage?.id == .test(10))
    }

    @Test("reads up to a position apply, by the user and by others", .proves("RCPT-6"))
    func allRead() throws {
        try store.addMessages(2...4, in: chat)
        _ = try applyTwice(
            WireJSON.allRead(chat, by: ana, upTo: 3, at: 5), WireJSON.counts(of: chat, at: 5, unread: 1, total: 3))
        #expect(try [2, 3, 4].map { try store.message(.test($0))?.isUnread } == [false, false, true])
        _ = try applyTwice(
            WireJSON.allRead(chat, by: cleo, upTo: 4, at: 6), WireJSON.allRead(chat, by: ben, upTo: 4, at: 7))
        #expect(try store.message(.test(4))?.recipientStatusByUserID[cleo] == .read)
        #expect(try store.progress(of: chat)?.applied == 7)
    }

    @Test("a change of an unknown conversation triggers its fetch")
    func unknown() throws {
        let outcome = try store.apply(WireJSON.updated(.test(7), at: 4, WireJSON.set("metadata.a", "b")))
        #expect(outcome.findings.unknownConversations == [.test(7)])
        #expect(outcome.changes.isEmpty)
    }

    @Test("a new epoch is detected")
    func epoch() throws {
        let outcome = try store.apply(WireJSON.created(WireJSON.conversation(.test(2), epoch: "second")))
        #expect(outcome.findings.epochHasChanged)
        #expect(try !store.apply(WireJSON.created(WireJSON.conversation(.test(3)))).findings.epochHasChanged)
    }

    @Test(
        "an unparsable packet changes nothing",
        arguments: [
            "null", "[]", "{}", #"{"type":"change"}"#,
            #"{"type":"change","body":{"object":{"type":"Conversation","id":"x"},"operation":"create"}}"#,
            #"{"type":"change","body":{"object":{"type":"Unknown","id":"layer:///unknown/1"},"operation":"create","data":{}}}"#,
            #"{"type":"news","body":{"object":{"type":"Message"}}}"#,
            #"{"type":"change","body":{"object":{"type":"MessagePart","id":"///"},"operation":"update","data":[{}]}}"#,
            #"{"type":"operation","body":{"method":"Conversation.mark_all_read","data":7}}"#,
        ])
    func broken(_ text: String) throws {
        let before = try store.contents()
        try store.apply(JSONValue(parsing: text))
        #expect(try store.contents() == before)
    }

    @Test("invalid members of a known object change nothing")
    func brokenMembers() throws {
        let before = try store.conversation(chat)
        for object in ["Conversation", "Message", "Identity", "Announcement"] {
            let id =
                ["Conversation": chat.layerID, "Identity": ben.layerID][object]
                ?? "layer:///\(object.lowercased())s/\(chat)"
            for operation in ["create", "update", "replace"] {
                for data: JSONValue in [
                    nil, 3, ["x"], [["property": 1]], [["operation": "set", "property": "nothing", "value": [1]]],
                    ["id": 5],
                ] {
                    try store.apply(WireJSON.change(operation, object, id, data))
                }
            }
        }
        #expect(try store.conversation(chat) == before)
    }
}
