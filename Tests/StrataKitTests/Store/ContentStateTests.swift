// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("states of part content")
struct ContentStateTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)
    private let content = ContentID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
    }

    private func part(_ number: Int, _ content: ContentID, type: String = "image/png", size: Int = 3000) -> JSONValue {
        let id = WireJSON.partLayerID(WireJSON.partID(of: .test(number)), of: .test(number))
        return [
            "id": .string(id), "mime_type": .string(type), "body": nil, "encoding": nil, "size": .integer(Int64(size)),
            "updated_at": nil,
            "content": [
                "id": .string(content.layerID), "download_url": "https://chat.example.org/x", "expiration": nil,
            ],
        ]
    }

    /// Adds a message of ben with content at this position.
    private func add(
        _ number: Int, _ content: ContentID, sentAt: String = "2018-05-04T09:31:00.000Z", type: String = "image/png",
        size: Int = 3000
    ) throws {
        var message = WireJSON.message(
            .test(number), in: chat, at: Int64(number), parts: [part(number, content, type: type, size: size)])
        message["sent_at"] = .string(sentAt)
        try store.apply(WireJSON.created(message))
    }

    private func parts(_ number: Int) throws -> MessagePart {
        try #require(try store.message(.test(number))?.parts.first)
    }

    @Test("all parts with the same content get it at once and lose it together", .proves("PART-6"))
    func shared() throws {
        try add(2, content)
        try add(3, content)
        try store.write { try $0.downloadBegan(content) }
        #expect(try [parts(2), parts(3)].map(\.transferStatus) == [.downloading, .downloading])
        try store.write { try $0.downloaded(content, file: "a.png") }
        #expect(try [parts(2), parts(3)].map(\.transferStatus) == [.complete, .complete])
        #expect(try store.core.read { try $0.unusedFiles(among: ["a.png", "b.png"]) } == ["b.png"])
        try store.write { try $0.purged(content) }
        #expect(try [parts(2), parts(3)].map(\.transferStatus) == [.readyForDownload, .readyForDownload])
        #expect(try store.core.read { try $0.unusedFiles(among: ["a.png"]) } == ["a.png"])
    }

    @Test("a failed or interrupted download leaves the part ready for download")
    func interrupted() throws {
        try add(2, content)
        for end in [{ try $0.downloadFailed(content) }, { try $0.resetTransfers() }]
            as [(StoreTransaction) throws -> Void]
        {
            try store.write { try $0.downloadBegan(content) }
            try store.write(end)
            #expect(try parts(2).transferStatus == .readyForDownload)
        }
    }

    @Test("a repeated packet keeps the content, unless it names another")
    func toldAgain() throws {
        try add(2, content)
        try store.write { try $0.downloaded(content, file: "a.png") }
        try add(2, content)
        #expect(try parts(2).transferStatus == .complete)
        try store.apply(
            WireJSON.updated(
                .test(2), in: chat, at: 3, ["operation": "set", "property": "parts", "value": [part(2, .test(2))]]))
        #expect(try parts(2).transferStatus == .readyForDownload)
    }

    @Test(
        "only content that was never on the device downloads automatically, newest messages first",
        .proves("PART-5", "PART-7"))
    func neverDownloaded() throws {
        try add(2, .test(2), sentAt: "2018-05-04T09:31:02.000Z")
        try add(3, .test(3), sentAt: "2018-05-04T09:31:03.000Z")
        try add(4, .test(4), sentAt: "2018-05-04T09:31:01.000Z")
        try add(5, .test(5), size: 3001)
        try add(6, .test(6), type: "video/mp4")
        try add(7, .test(7))
        try store.write { try $0.downloaded(.test(7), file: "a.png") }
        try store.write { try $0.purged(.test(7)) }
        try add(7, .test(7))
        func wanted(limit: Int) throws -> [ContentID?] {
            try store.core.read {
                try $0.neverDownloaded(upTo: 3000, limit: limit) { $0.mimeType == "image/png" }.map(\.part.content)
            }
        }
        #expect(try wanted(limit: 9) == [.test(3), .test(2), .test(4)])
        #expect(try wanted(limit: 1) == [.test(3)])
    }

    @Test("a file counts once, and unsent content counts as not on the server", .proves("PART-7"))
    func files() throws {
        try add(2, content)
        try add(3, content)
        try store.write(at: 5) { try $0.downloaded(content, file: "a.png") }
        try store.write(at: 9) { try $0.used(content) }
        try store.send(with: "upload", in: chat)
        try store.write { try $0.uploaded(StoreFixture.partOfUpload, as: .test(8), for: store.queue[0].id) }
        let files = try store.core.read { try $0.contentFiles().map(\.file) }
        #expect(files.map(\.name) == ["a.png", "upload"])
        #expect(files.map(\.isOnServer) == [true, false])
        #expect(files.first?.usedAt == 9)
    }
}
