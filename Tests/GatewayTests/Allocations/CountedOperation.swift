// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel
import StrataWire

@testable import FanOut
@testable import Gateway

/// An operation whose allocations a test bounds.
enum CountedOperation: String, CaseIterable, Sendable {
    case encodeMessage = "encode a message"
    case renderChange = "render a change for four variants"
    case deliver = "deliver to 100 embedded channels"
    case applyPatch = "apply a patch"
    case parseFrame = "parse a frame"
    case answerCall = "decode and answer a call"

    /// The number of allocations of one operation in a debug build.
    var threshold: Double {
        switch self {
        case .encodeMessage: 5
        case .renderChange: 87
        // Rounded down from 2219, so that one more for each socket exceeds the tolerance.
        case .deliver: 2200
        case .applyPatch: 173
        case .parseFrame: 108
        case .answerCall: 78
        }
    }

    /// An operation that had no effect, so that its allocations mean nothing.
    struct NoEffect: Error {
        let operation: CountedOperation
    }

    /// Counts the allocations of one operation. Call it on a thread without a task.
    func allocations() throws -> Double {
        switch self {
        case .encodeMessage: try Self.encodingMessage()
        case .renderChange: try Self.renderingChange()
        case .deliver: try CountedSockets.delivering()
        case .applyPatch: try Self.applyingPatch()
        case .parseFrame: try CountedFrames.parsing()
        case .answerCall: try CountedCalls.answering()
        }
    }

    // MARK: Operations of one value

    private static let renderer = Renderer(
        baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org")

    private static func encodingMessage() throws -> Double {
        let message = Fixture.textMessage(1, to: [Fixture.ana, Fixture.ben])
        var bytes = 0
        let mean = AllocationCount.mean { _ in
            var writer = JSONWriter(capacity: 1024)
            renderer.writeMessage(message, for: Fixture.ben, version: .v3, into: &writer)
            bytes += writer.count
        }
        guard bytes > 2 * AllocationCount.runs * 300 else { throw NoEffect(operation: .encodeMessage) }
        return mean
    }

    /// Renders a message for its sender and for another reader, in both protocol versions.
    private static func renderingChange() throws -> Double {
        let change = Fixture.textChange(1, to: [Fixture.ana, Fixture.ben])
        let answers = AnswerBudget(limit: 64 << 20)
        let readers = [Fixture.ana, Fixture.ben]
        var packets = 0
        let mean = AllocationCount.mean { _ in
            let delivery = Delivery(change)
            for version in WireVersion.allCases {
                for reader in readers {
                    packets += delivery.rendering(for: reader, version: version, by: renderer, in: answers).tails.count
                }
            }
        }
        guard packets >= 2 * AllocationCount.runs * 4 else { throw NoEffect(operation: .renderChange) }
        return mean
    }

    /// Reads a patch of three operations from a request, checks it as the service does, and applies it to a tree of 100
    /// values.
    private static func applyingPatch() throws -> Double {
        let request = ByteBuffer(
            string: """
                [{"operation":"set","property":"metadata.trip.city","value":"Porto, by the river"},\
                {"operation":"set","property":"metadata.plan","value":{"first":"Livraria Lello","second":"Clérigos"}},\
                {"operation":"delete","property":"metadata.group3.key3"}]
                """)
        let tree = MetadataTree(
            leaves: (0..<100)
                .map { MetadataLeaf(path: MetadataPath(trusted: "group\($0 % 10).key\($0)"), value: "value \($0)") })
        let validation = MetadataPatchValidation()
        var result = tree
        let mean = try AllocationCount.mean { _ in
            let patch = try ConversationPatch(JSONReader.body(request))
            try validation.checkOperations(patch.metadata)
            result = tree
            for operation in patch.metadata { result.applyEffects(operation.effects) }
        }
        guard result.leaves.count == 102 else { throw NoEffect(operation: .applyPatch) }
        return mean
    }
}

extension MetadataOperation {
    /// The effects of the operation on a tree without other values at its path.
    fileprivate var effects: [MetadataEffect] {
        switch self {
        case .set(_, let leaves): leaves.map { MetadataEffect(path: $0.path, value: $0.value) }
        case .delete(let path): [MetadataEffect(path: path, value: nil)]
        }
    }
}

extension Fixture {
    /// Returns a message of `ana` with one part of text.
    static func textMessage(_ ordinal: Int64, to users: [UserID]) -> Message {
        let text = "Train leaves at 8, from the platform behind the station"
        return Message(
            id: .random(), conversationID: conversation, position: Position(ordinal), ordinal: ordinal,
            sender: .user(BasicIdentity(userID: ana, displayName: "Ana Silva e Castro")), sentAt: time(ordinal),
            parts: [MessagePart(id: UUID(), mimeType: "text/plain", body: text, size: text.utf8.count)],
            recipients: users.map { Message.Recipient(userID: $0, status: $0 == ana ? .read : .sent) })
    }

    /// Returns the change that creates ``textMessage(_:to:)``.
    static func textChange(_ ordinal: Int64, to users: [UserID]) -> Change {
        let message = textMessage(ordinal, to: users)
        return Change(
            appID: app, conversationID: conversation, position: message.position, createdAt: message.sentAt, actor: ana,
            origin: nil, messageCount: ordinal,
            counts: [ana: UserCounts(excluded: ordinal, hidden: 0, position: message.position)],
            content: .messageCreated(id: message.id, ordinal: ordinal, message))
    }
}
