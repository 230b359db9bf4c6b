// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel
import Testing

@testable import StrataWire

/// Frames must not exceed the limit that all clients accept. Larger objects are split into several packets.
struct FrameBoundTests {
    private static let most = 16 << 10
    private let small = Renderer(
        baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org", frameBytes: FrameBoundTests.most)
    /// A renderer without a limit.
    private let large = Renderer(
        baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org", frameBytes: .max)

    /// Returns the parsed packets. Checks each frame against the limit.
    private func packets(_ tails: [PacketTail], sourceLocation: SourceLocation = #_sourceLocation) -> [JSONValue] {
        tails.map { tail in
            let values = ReaderValues(
                reader: UserID(trusted: String(repeating: "\u{e9}", count: 64)), unread: .max, total: .max)
            let frame = tail.frame(counter: .max, timestamp: TimestampText(created), values: values)
            #expect(frame.reduce(0) { $0 + $1.readableBytes } <= Self.most, sourceLocation: sourceLocation)
            return packet(tail, sourceLocation: sourceLocation)
        }
    }

    private func operations(_ packets: some Sequence<JSONValue>) -> [JSONValue] {
        packets.flatMap { $0["body"]?["data"]?.arrayValue ?? [] }
    }

    /// Returns text that is longer on the wire than in memory, because it is escaped.
    private func text(_ count: Int) -> String { String(repeating: "\u{1}\"", count: count / 2) }

    private func leaves(_ count: Int, bytes: Int = 500) -> [MetadataLeaf] {
        (0..<count).map { MetadataLeaf(path: MetadataPath(trusted: "a.k\(1000 + $0)"), value: text(bytes)) }
    }

    private func parts(_ count: Int) -> [MessagePart] {
        (0..<count).map { MessagePart(id: UUID(), mimeType: "text/plain", body: text(300) + "\($0)", size: 300) }
    }

    @Test("a packet of exactly 4 MB stays whole, and a larger one is split in two")
    func bound() {
        #expect(Renderer.frameBytes == 4_194_304)
        func count(_ bytes: Int) -> (text: Int, packets: Int) {
            let view = sampleView(
                metadata: MetadataTree(leaves: [
                    MetadataLeaf(path: MetadataPath(trusted: "a"), value: String(repeating: "x", count: bytes))
                ]))
            return (
                large.conversationCreated(view, for: ben.userID, version: .v3)[0].text.readableBytes,
                small.conversationCreated(view, for: ben.userID, version: .v3).count
            )
        }
        let room = small.packetBytes - count(0).text
        #expect(count(room) == (small.packetBytes, 1))
        #expect(count(room + 1).packets == 2)
    }

    @Test(
        "an oversized conversation is created without metadata, and updates at its position set it",
        arguments: [WireVersion.v2, .v3])
    func metadata(_ version: WireVersion) throws {
        let view = sampleView(lastMessage: sampleMessage(), metadata: MetadataTree(leaves: leaves(60)))
        let told = packets(small.conversationCreated(view, for: cleo.userID, version: version, at: Position(2)))
        #expect(told.count > 10)
        #expect(told[0]["body"]?["operation"] == .string("create") && told[0]["body"]?["position"] == .integer(2))
        #expect(
            told[0]["body"]?["data"]?["metadata"] == .object([]) && told[0]["body"]?["data"]?["position"] == .integer(2)
        )
        #expect(told[0]["body"]?["data"]?["last_message"]?["id"]?.stringValue == "layer:///messages/\(messageUUID)")
        for update in told.dropFirst() {
            #expect(update["body"]?["operation"] == .string("update") && update["body"]?["position"] == .integer(2))
            #expect(update["body"]?["object"]?["id"] == told[0]["body"]?["object"]?["id"])
        }
        let set = operations(told.dropFirst()).map { ($0["property"]?.stringValue, $0["value"]?.stringValue) }
        #expect(
            set.map(\.0) == leaves(60).map { "metadata.\($0.path.dotted)" } && set.map(\.1) == leaves(60).map(\.value))
        // A conversation that is shown again is an entry in the user's own log.
        let change = UserChange(
            appID: AppID(rawValue: uuid(partUUID)), user: ben.userID, position: Position(9), createdAt: created,
            content: .conversationShown(view))
        #expect(
            packets(small.tails(for: change, version: version))
                .allSatisfy { $0["body"]?["user_position"] == .integer(9) })
        // A new conversation is split alike, for all readers.
        var conversation = view.conversation
        conversation.position = Position(1)
        let new = sampleChange(.conversationCreated(conversation))
        #expect(
            packets(small.tails(for: new, variant: Variant(of: new, for: ben.userID, version: version))).count
                == told.count)
    }

    @Test("oversized participants, with the reader among the first, and parts of the last message follow in updates")
    func participants() {
        let people =
            (0..<200).map { BasicIdentity(userID: UserID(trusted: "user\($0)"), displayName: text(60)) } + [cleo]
        var view = sampleView(lastMessage: sampleMessage(parts: parts(40)))
        view.conversation.participants = people
        let told = packets(small.conversationCreated(view, for: cleo.userID, version: .v3))
        let data = told[0]["body"]?["data"]
        let first = data?["participants"]?.arrayValue?.compactMap { $0["user_id"]?.stringValue } ?? []
        #expect(first.first == "cleo" && first.count < 200)
        let added = operations(told.dropFirst()).filter { $0["property"] == .string("participants") }
            .compactMap { $0["value"]?["user_id"]?.stringValue }
        #expect((first + added).sorted() == people.map(\.userID.rawValue).sorted())
        let shown = data?["last_message"]?["parts"]?.arrayValue ?? []
        let further = operations(told.dropFirst()).filter { $0["property"] == .string("parts") }
            .compactMap { $0["value"] }
        #expect(!shown.isEmpty && shown.count < 40)
        #expect((shown + further).compactMap { $0["body"]?.stringValue } == parts(40).compactMap(\.body))
        // A user who has left is sent no participants.
        var left = view
        left.isParticipant = false
        #expect(
            operations(packets(small.conversationCreated(left, for: cleo.userID, version: .v3)).dropFirst())
                .allSatisfy { $0["property"] != .string("participants") })
    }

    @Test("operations are split into several packets, in order")
    func updates() {
        let people = (0..<100).map { BasicIdentity(userID: UserID(trusted: "user\($0)"), displayName: text(120)) }
        let contents: [Change.Content] = [
            .metadataChanged(
                leaves(50).map { MetadataEffect(path: $0.path, value: $0.value) } + [
                    MetadataEffect(path: .root, value: nil)
                ]),
            .participantsChanged(
                added: people, removed: (0..<300).map { UserID(trusted: "gone\($0)") }, distinctCleared: true,
                conversation: nil),
            .receipts(
                (0..<300)
                    .map {
                        .init(
                            user: UserID(trusted: "reader\($0)"), messageID: messageID, ordinal: 1, status: .read,
                            sender: ana.userID)
                    }),
        ]
        for content in contents {
            let change = sampleChange(content)
            let variant = Variant(of: change, for: ben.userID, version: .v3)
            let told = packets(small.tails(for: change, variant: variant))
            #expect(told.count > 1 && told.allSatisfy { $0["body"]?["position"] == .integer(7) })
            let whole = large.tails(for: change, variant: variant)
            #expect(whole.count == 1)
            #expect(operations(told) == operations(whole.map { packet($0) }))
        }
    }

    @Test("an oversized message is sent with fitting parts and updates for the others; 2.0 gets it whole")
    func messages() {
        let message = sampleMessage(notification: #"{"text":"n"}"#, parts: parts(60))
        let change = sampleChange(.messageCreated(id: messageID, ordinal: 1, message))
        let told = packets(small.tails(for: change, variant: Variant(of: change, for: ben.userID, version: .v3)))
        #expect(told.prefix(2).map { $0["body"]?["object"]?["type"]?.stringValue } == ["Message", "Conversation"])
        #expect(told[0]["body"]?["data"]?["notification"] == json(#"{"text":"n"}"#))
        #expect(
            operations(told[1...1]).map { $0["property"]?.stringValue } == [
                "last_message", "unread_message_count", "total_message_count",
            ])
        let first = told[0]["body"]?["data"]?["parts"]?.arrayValue ?? []
        #expect(operations(told[1...1])[0]["value"]?["parts"]?.arrayValue == first)
        #expect(
            told.dropFirst(2)
                .allSatisfy {
                    $0["body"]?["operation"] == .string("update")
                        && $0["body"]?["object"]?["type"] == .string("Message")
                })
        let added = operations(told.dropFirst(2)).filter { $0["operation"] == .string("add") }
            .compactMap { $0["value"] }
        #expect((first + added).compactMap { $0["body"]?.stringValue } == message.parts.compactMap(\.body))
        #expect(small.tails(for: change, variant: Variant(of: change, for: ben.userID, version: .v2)).count == 2)

        let replaced = sampleChange(.partsChanged(id: messageID, ordinal: 1, [.allReplaced], message))
        let set = packets(small.tails(for: replaced, variant: Variant(of: replaced, for: ben.userID, version: .v3)))
        let values = operations(set).flatMap { $0["value"]?.arrayValue ?? $0["value"].map { [$0] } ?? [] }
        #expect(values.compactMap { $0["body"]?.stringValue } == message.parts.compactMap(\.body))
        let deleted = sampleChange(
            .messageDeleted(id: messageID, ordinal: 2, lastMessage: .init(changed: true, message: message)))
        #expect(
            packets(small.tails(for: deleted, variant: Variant(of: deleted, for: ben.userID, version: .v3))).count > 3)
    }

    @Test("a response has the data that fits, and following packets have the rest")
    func responses() {
        let view = sampleView(metadata: MetadataTree(leaves: leaves(60)))
        let found = packets(
            small.responses(to: "r", method: "Conversation.create", view: view, for: ben.userID, version: .v3))
        #expect(found[0]["type"] == .string("response") && found[0]["body"]?["data"]?["metadata"] == .object([]))
        #expect(operations(found.dropFirst()).count == 60)
        #expect(found.dropFirst().allSatisfy { $0["type"] == .string("change") && $0["body"]?["position"] == nil })
        let taken = packets(
            small.responses(
                to: "r", method: "Conversation.create",
                failure: Failure(.idInUse, "Taken.", detail: .conversation(view)), for: ben.userID,
                version: .v3))
        #expect(
            taken[0]["body"]?["success"] == .bool(false)
                && taken[0]["body"]?["data"]?["data"]?["metadata"] == .object([]))
        #expect(taken.count == found.count)
        let message = sampleMessage(parts: parts(60))
        #expect(
            packets(small.responses(to: "r", method: "Message.create", message: message, for: ben.userID, version: .v3))
                .count > 2)
        let refused = Failure(.idInUse, "Taken.", detail: .message(message))
        #expect(
            packets(small.responses(to: "r", method: "Message.create", failure: refused, for: ben.userID, version: .v3))
                .count > 2)
        let users = (0..<100).map { UserID(trusted: "user\($0)") }
        let presences = packets(
            small.responses(
                to: "r", method: "Presence.sync",
                presences: users.map { ($0, Presence(status: .away, lastSeenAt: created)) }))
        let inAnswer = presences[0]["body"]?["data"]?["changes"]?.arrayValue ?? []
        #expect(!inAnswer.isEmpty && inAnswer.count + presences.count - 1 == 100)
        // Ordinary answers are one packet.
        #expect(
            small.responses(to: "r", method: "Message.create", message: sampleMessage(), for: ben.userID, version: .v3)
                .count == 1)
    }
}
