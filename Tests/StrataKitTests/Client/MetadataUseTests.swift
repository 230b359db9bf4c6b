// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("metadata in apps", .timeLimit(.minutes(5)))
struct MetadataUseTests {
    private let user: SignedInClient

    init() throws { user = try SignedInClient() }

    private static let use: Metadata = [
        "title": "Lunch 🍜", "created": "2018-05-04T09:30:00Z", "tags": ["food": "1", "team-a": "1"],
        "background_image": "https://example.com/pictures/1.png?size=large",
        "theme": ["background_color": "FFFFFF", "text_color": "000000"],
        "my_app": ["user_info": ["12345": ["screen_name": "Bob", "first_seen": "2018-01-01"]]],
    ]

    @Test(
        "title, dates, tags, an image's address, a theme and facts about users are read back unchanged",
        .proves("META-2"))
    func uses() async throws {
        let chat = try await user.addConversation(.test(1))
        try await chat.setMetadata(Self.use, merge: true)
        #expect(try await chat.refreshed()?.metadata == Self.use)
        let made = try await user.client.newConversation(with: [WireJSON.ben], options: .init(metadata: Self.use))
        #expect(made.metadata == Self.use)
    }

    @Test("metadata reaches the server completely and returns unchanged", .proves("META-2"))
    func overTheWire() async throws {
        let chat = try await user.addConversation(.test(1))
        for (path, value) in Self.use.flattened { try await chat.setMetadata(value, at: path) }
        let pending = try await user.engine.queue
        var packet = WireJSON.updated(.test(1), at: 2)
        packet["body"]["data"] = .array(
            pending.flatMap { operation -> [JSONValue] in
                guard case .rest(_, _, let body?, _)? = OutgoingRequest(operation) else { return [] }
                return body.array ?? []
            })
        let other = try SignedInClient(WireJSON.ben)
        _ = try await other.addConversation(.test(1))
        try await other.apply(packet)
        #expect(try await other.client.conversation(.test(1))?.metadata == Self.use)
    }

    @Test("groups separate the keys of features", .proves("META-19"))
    func groups() async throws {
        let chat = try await user.addConversation(.test(1))
        try await chat.setMetadata("Where?", at: "poll.title")
        try await chat.setMetadata("Porto", at: "map.title")
        try await chat.setMetadata(["open": "yes"], at: "poll.state")
        #expect(
            try await chat.refreshed()?.metadata == [
                "poll": ["title": "Where?", "state": ["open": "yes"]], "map": ["title": "Porto"],
            ])
        try await chat.setMetadata("Lisbon", at: "map.title")
        #expect(try await chat.refreshed()?.metadata[path: "poll.title"] == "Where?")
        try await chat.deleteMetadata(at: "poll")
        #expect(try await chat.refreshed()?.metadata == ["map": ["title": "Lisbon"]])
    }

    @Test("a modified snapshot of metadata changes nothing", .proves("META-3"))
    func snapshot() async throws {
        var chat = try await user.addConversation(.test(1), metadata: ["title": "Lunch"])
        chat.metadata = ["title": "mine"]
        #expect(try await chat.refreshed()?.metadata == ["title": "Lunch"])
        try await chat.setMetadata("theirs", at: "title")
        #expect(try await chat.refreshed()?.metadata["title"] == "theirs")
        #expect(chat.metadata["title"] == "mine")
    }
}

extension SyncEngine {
    fileprivate var queue: [QueuedOperation] { core.queue.all }
}
