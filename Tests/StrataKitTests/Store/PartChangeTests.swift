// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("changing the parts of messages")
struct PartChangeTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)
    private let id = MessageID.test(2)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
        try store.apply(WireJSON.created(WireJSON.message(id, in: chat, at: 2, from: WireJSON.ana)))
    }

    private var first: UUID { WireJSON.partID(of: id) }

    private func part(_ text: String) -> PartRecord {
        PartRecord(id: UUID(), mimeType: "text/plain", body: Data(text.utf8), size: text.utf8.count)
    }

    @discardableResult
    private func change(_ change: PartChange, of message: MessageID? = nil) throws -> StoreCore.Outcome<Void> {
        try store.write { try $0.changeParts(change, of: message ?? id) }
    }

    private func texts(_ message: MessageID? = nil) throws -> [String?]? {
        try store.message(message ?? id)?.parts.map(\.text)
    }

    @Test(
        "changed parts are shown at once, as a change of the message, and reverted if the server refuses",
        .proves("PART-10", "OFF-6"))
    func shown() throws {
        let added = part("two")
        #expect(try change(.add(added)).words.contains("message update parts"))
        try change(.replace(first, part("one")))
        #expect(try texts() == ["one", "two"])
        #expect(try store.message(id)?.parts[0].id == first)
        try change(.remove(added.id))
        #expect(try texts() == ["one"])
        try change(.setAll([part("x"), part("y")]))
        #expect(try texts() == ["x", "y"])
        for operation in store.queue { try store.refuse(operation) }
        #expect(try texts() == ["hello"])
    }

    @Test("a part change ends when its packet arrives")
    func ends() throws {
        try change(.replace(first, part("one")))
        try store.succeed(store.queue[0], at: 3)
        #expect(try texts() == ["one"] && store.queue.count == 1)
        let told: JSONValue = ["operation": "set", "property": "parts", "value": [WireJSON.part(first, of: id, "one")]]
        try store.apply(WireJSON.updated(id, in: chat, at: 3, told))
        try store.write { try $0.finishOperations(in: [chat], open: nil) }
        #expect(try texts() == ["one"] && store.queue.isEmpty)
    }

    @Test("a part change before its message is sent becomes part of it, and later follows it")
    func unsent() throws {
        try store.send(.test(20), in: chat)
        let part = part("more")
        try change(.add(part), of: .test(20))
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try texts(.test(20)) == ["hello", "more"])
        try store.attempt(store.queue[0])
        try change(.remove(part.id), of: .test(20))
        #expect(store.pendingNames == ["sendMessage", "changeParts"])
        #expect(try texts(.test(20)) == ["hello"])
        try store.refuse(store.queue[0])
        #expect(store.pendingNames == ["sendMessage"])
        #expect(store.code { try change(.add(part), of: .test(20)) } == .objectNotSent)
    }

    @Test("an impossible part change throws with the reason", .proves("ERR-2"))
    func refused() throws {
        try store.addMessages(3...3, in: chat)
        #expect(store.code { try change(.add(part("x")), of: .test(3)) } == .invalidMessage)
        #expect(store.code { try change(.add(part("x")), of: .test(9)) } == .messageDeleted)
        #expect(store.code { try change(.remove(first)) } == .invalidMessage)
        #expect(store.code { try change(.setAll([])) } == .invalidMessage)
        #expect(store.code { try change(.remove(UUID())) } == .invalidArgument)
        #expect(store.code { try change(.setAll(Array(repeating: part("x"), count: 1001))) } == .invalidMessage)
        #expect(store.queue.isEmpty)
    }

    @Test("content of a replacing part is uploaded under a separate name")
    func content() throws {
        var new = PartRecord(id: UUID(), mimeType: "image/png", size: 3000)
        (new.file, new.transferStatus) = ("a.png", .awaitingUpload)
        try change(.replace(first, new))
        let operation = store.queue[0]
        #expect(operation.change.awaitsUpload && operation.upload(of: first).name != first)
        try store.write { try $0.uploaded(first, as: .test(1), for: operation.id) }
        #expect(!store.queue[0].change.awaitsUpload)
        #expect(try store.message(id)?.parts[0].transferStatus == .complete)
        let content: JSONValue = ["id": .string(ContentID.test(1).layerID), "download_url": nil, "expiration": nil]
        let members: JSONValue = [
            ["operation": "set", "property": "mime_type", "value": "image/png"],
            ["operation": "set", "property": "content", "value": content],
            ["operation": "set", "property": "size", "value": 3000],
        ]
        try store.apply(
            WireJSON.change("update", "MessagePart", WireJSON.partLayerID(first, of: id), at: 3, in: chat, members))
        try store.succeed(store.queue[0], at: 3)
        #expect(store.queue.isEmpty)
        #expect(try store.core.read { try $0.contentFiles().map(\.file.name) } == ["a.png"])
        #expect(try store.message(id)?.parts[0].transferStatus == .complete)
    }

    @Test("a file is kept until its change ends, also if another change hides the part")
    func files() throws {
        var new = PartRecord(id: UUID(), mimeType: "image/png", size: 3000)
        (new.file, new.transferStatus) = ("a.png", .awaitingUpload)
        try change(.replace(first, new))
        try change(.setAll([part("x")]))
        #expect(try store.core.read { try $0.unusedFiles(among: ["a.png"]) } == ["a.png"])
        #expect(store.core.queue.files == ["a.png"])
        try store.refuse(store.queue[0])
        #expect(store.core.queue.files.isEmpty)
    }

    @Test("part requests name the part and are repeatable")
    func requests() throws {
        let new = part("new")
        let expected: [(PartChange, String, String)] = [
            (.add(new), "POST", "/messages/\(id)/parts"),
            (.replace(first, new), "PUT", "/messages/\(id)/parts/\(first.lowercaseText)"),
            (.remove(new.id), "DELETE", "/messages/\(id)/parts/\(new.id.lowercaseText)"),
            (.setAll([new]), "PUT", "/messages/\(id)/parts"),
        ]
        for (number, (change, method, path)) in expected.enumerated() {
            let operation = QueuedOperation(
                id: UUID(), sequence: Int64(number), madeAt: 0, conversation: chat, change: .changeParts(id, change))
            guard case .rest(method, path, let body, true)? = OutgoingRequest(operation) else {
                Issue.record("\(String(describing: OutgoingRequest(operation)))")
                continue
            }
            if case .remove = change { #expect(body == nil) } else { #expect(body?.text.contains("\"new\"") == true) }
        }
    }
}
