// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("changing metadata")
struct MetadataChangeTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat, metadata: ["title": "Lunch", "theme": ["back": "FFF", "text": "000"]])
    }

    private var steps: [[String]] {
        store.pending.compactMap { change in
            if case .patchMetadata(let steps) = change {
                steps.map { "\($0.path)=\($0.values?[$0.path] ?? "-")" }
            } else {
                nil
            }
        }
    }

    private func delete(_ path: String) throws {
        try store.write { try $0.patchMetadata([StoreFixture.step(path, nil)], in: chat) }
    }

    @Test("setting one text keeps its siblings", .proves("META-6", "META-14", "META-7"))
    func set() throws {
        try store.set("theme.back", "CCC", in: chat)
        try store.set("app.12345.name", "x", in: chat)
        #expect(
            try store.metadata(of: chat) == [
                "title": "Lunch", "theme.back": "CCC", "theme.text": "000", "app.12345.name": "x",
            ])
        #expect(steps == [["theme.back=CCC", "app.12345.name=x"]])
    }

    @Test("a metadata change is published with the values before and after", .proves("META-34", "CHG-1", "CHG-3"))
    func published() throws {
        let outcome = try store.write { try $0.patchMetadata([StoreFixture.step("title", "Dinner")], in: chat) }
        #expect(outcome.words == ["conversation update metadata"])
        let property = try #require(outcome.update("metadata"))
        let theme: Metadata.Value = ["back": "FFF", "text": "000"]
        #expect(property.before == .metadata(["title": "Lunch", "theme": theme]))
        #expect(property.after == .metadata(["title": "Dinner", "theme": theme]))
    }

    @Test("only the last of several unsent changes of one key is sent", .proves("META-35", "OFF-4"))
    func superseded() throws {
        try store.set("title", "A", in: chat)
        try store.set("topic", "B", in: chat)
        try store.send(.test(1), in: chat)
        try store.set("title", "C", in: chat)
        #expect(steps == [["topic=B"], ["title=C"]])
        try store.set("topic", "D", in: chat)
        #expect(store.pendingNames == ["sendMessage", "setMetadata"])
        #expect(steps == [["title=C", "topic=D"]])
    }

    @Test("a change of a group replaces unsent changes below it, and no others", .proves("META-30", "META-35"))
    func group() throws {
        try store.set("theme.back", "1", in: chat)
        try store.set("themes", "2", in: chat)
        try store.write { try $0.patchMetadata([.init(path: "theme", values: ["theme.font": "3"])], in: chat) }
        #expect(steps == [["themes=2", "theme=-"]])
        #expect(try store.metadata(of: chat) == ["title": "Lunch", "themes": "2", "theme.font": "3"])
    }

    @Test("sent changes are not folded", .proves("META-35"))
    func attempted() throws {
        try store.set("title", "A", in: chat)
        try store.attempt(store.queue[0])
        try store.set("title", "B", in: chat)
        #expect(steps == [["title=A"], ["title=B"]])
    }

    @Test("unsent changes stay when a message between them is deleted")
    func adjacent() throws {
        try store.set("a", "1", in: chat)
        try store.send(.test(1), in: chat)
        try store.set("b", "2", in: chat)
        try store.write { try $0.deleteMessage(.test(1), mode: .myDevices) }
        try store.set("c", "3", in: chat)
        #expect(steps == [["a=1", "b=2", "c=3"]])
        #expect(try store.metadata(of: chat)?["b"] == "2")
    }

    @Test("a text replaced by a deleted key does not return", .proves("META-30", "META-35"))
    func inTheWay() throws {
        try store.set("title.sub", "1", in: chat)
        #expect(try store.metadata(of: chat)?["title"] == nil)
        try delete("title.sub")
        #expect(try store.metadata(of: chat) == ["theme.back": "FFF", "theme.text": "000"])
    }

    @Test("replacing deletes known keys that are missing and sets the rest, in one patch", .proves("META-9", "META-32"))
    func replaced() throws {
        try store.write { store in
            try store.patchMetadata(
                try store.replacingSteps(["title": "Dinner", "theme.text": "000"], in: chat), in: chat)
        }
        #expect(steps == [["theme.back=-", "theme.text=000", "title=Dinner"]])
        #expect(try store.metadata(of: chat) == ["title": "Dinner", "theme.text": "000"])
    }

    @Test("deleting a group deletes everything in it; deleting nothing has no effect", .proves("META-10", "META-37"))
    func deleted() throws {
        try delete("theme")
        #expect(try store.metadata(of: chat) == ["title": "Lunch"])
        try delete("absent")
        #expect(steps == [["theme=-"]])
        try store.set("theme.back", "new", in: chat)
        #expect(try store.metadata(of: chat) == ["title": "Lunch", "theme.back": "new"])
    }

    @Test("several keys are deleted together", .proves("META-11"))
    func deletedTogether() throws {
        try store.write {
            try $0.patchMetadata([StoreFixture.step("title", nil), StoreFixture.step("theme.text", nil)], in: chat)
        }
        #expect(try store.metadata(of: chat) == ["theme.back": "FFF"])
        #expect(steps.count == 1)
    }

    @Test("a change after leaving throws, and nothing is sent", .proves("META-38", "CONV-39", "CONV-40"))
    func left() throws {
        try store.apply(WireJSON.updated(chat, at: 2, WireJSON.remove(WireJSON.ana)))
        #expect(store.code { try store.set("title", "A", in: chat) } == .userNotAParticipant)
        #expect(store.queue.isEmpty)
    }

    @Test("metadata changes keep messages, counts and times", .proves("META-40"))
    func unrelated() throws {
        try store.addMessages(2...3, in: chat)
        let before = try #require(try store.conversation(chat))
        try store.set("title", "A", in: chat)
        var after = try #require(try store.conversation(chat))
        after.metadata = before.metadata
        #expect(after == before)
    }
}
