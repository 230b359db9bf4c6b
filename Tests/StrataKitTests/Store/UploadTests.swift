// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

extension StoreFixture {
    static let partOfUpload = UUID(uuid: (9, 9, 9, 9, 9, 9, 0x49, 9, 0x89, 9, 9, 9, 9, 9, 9, 9))

    /// Sends message 20 with a part whose content is uploaded from a file.
    func send(with file: String, in chat: ConversationID) throws {
        var part = PartRecord(id: Self.partOfUpload, mimeType: "image/png", size: 3000)
        (part.file, part.transferStatus) = (file, .awaitingUpload)
        try write { try $0.sendMessage(LocalChange.NewMessage(id: .test(20), parts: [part]), in: chat) }
    }
}

@Suite("uploads of unsent content")
struct UploadTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)
    private let part = StoreFixture.partOfUpload

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
        try store.send(with: "upload.png", in: chat)
    }

    private var operation: QueuedOperation { store.queue[0] }
    private func shown() throws -> MessagePart? { try store.message(.test(20))?.parts.first }
    private func upload(at time: Int64 = StoreFixture.now) throws {
        try store.write(at: time) { try $0.uploaded(part, as: .test(1), for: operation.id) }
    }

    @Test("a message waits for its content and shows the upload's state", .proves("PART-2"))
    func waits() throws {
        #expect(operation.change.awaitsUpload)
        #expect(try shown()?.transferStatus == .awaitingUpload)
        try store.write { try $0.setUploading(true, part: part, for: operation.id) }
        #expect(try shown()?.transferStatus == .uploading)
        try upload()
        #expect(!operation.change.awaitsUpload)
        #expect(try shown()?.transferStatus == .complete)
    }

    @Test("the end of the app interrupts an upload")
    func interrupted() throws {
        try store.write { try $0.setUploading(true, part: part, for: operation.id) }
        try store.reopen()
        try store.write { try $0.resetTransfers() }
        #expect(try shown()?.transferStatus == .awaitingUpload)
    }

    @Test("content that the server may have removed is uploaded again under another name")
    func renewed() throws {
        try upload(at: 100)
        let name = operation.upload(of: part).name
        #expect(!operation.hasUpload(before: 100) && operation.hasUpload(before: 101))
        try store.write { try $0.forgetUploads(of: operation.id) { $0 < 100 } }
        #expect(!operation.change.awaitsUpload)
        try store.write { try $0.forgetUploads(of: operation.id) { $0 < 101 } }
        #expect(operation.change.awaitsUpload && !operation.hasUpload(before: .max))
        #expect(operation.upload(of: part).name != name)
        try store.reopen()
        #expect(operation.upload(of: part).times == 1)
    }

    @Test(
        "content of an attempted message is uploaded again, because its id identifies the message; an arrived message's is not"
    )
    func attempted() throws {
        try upload(at: 100)
        try store.attempt(operation)
        #expect(operation.hasUpload(before: 101))
        try store.succeed(operation, at: 9)
        #expect(store.queue.allSatisfy { !$0.hasUpload(before: 101) })
    }

    @Test("uploaded content is not downloaded, in either order of answer and packet", arguments: [true, false])
    func kept(_ isAnswerFirst: Bool) throws {
        try upload()
        let object = sent
        if isAnswerFirst { try store.succeed(operation, object: object) }
        try store.apply(WireJSON.created(object))
        if !isAnswerFirst { try store.succeed(operation, object: object) }
        #expect(try store.message(.test(20))?.isSent == true)
        #expect(try shown()?.transferStatus == .complete)
        #expect(try store.core.read { try $0.contentFiles().map(\.file.name) } == ["upload.png"])
    }

    private var sent: JSONValue {
        let json: JSONValue = [
            "id": .string(WireJSON.partLayerID(part, of: .test(20))), "mime_type": "image/png", "body": nil,
            "encoding": nil, "size": 3000,
            "updated_at": nil,
            "content": ["id": .string(ContentID.test(1).layerID), "download_url": nil, "expiration": nil],
        ]
        return WireJSON.message(.test(20), in: chat, at: 2, from: WireJSON.ana, parts: [json])
    }

    @Test("a failed upload leaves the message unsent and failed", .proves("PROG-1"))
    func cancelled() throws {
        let outcome = try store.write {
            try $0.operationRefused(operation.id, error: StrataError(.transferCancelled, "cancelled"))
        }
        let message = try #require(try store.message(.test(20)))
        #expect(!message.isSent && message.failure?.code == .transferCancelled)
        #expect(outcome.findings.failures.map(\.messages) == [[.test(20)]])
        #expect(!operation.isUnanswered)
    }
}
