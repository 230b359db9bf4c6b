// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension ProtocolSocket {
    /// Waits for a change, with the patience of these tests.
    @discardableResult
    func change(
        _ operation: String, _ type: String, _ id: String? = nil, where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> ReceivedPacket {
        try await nextPacket("\(type) \(operation) \(id ?? "")", deadline: Waiting.deadline) {
            $0.isChange(operation, of: type, id: id) && matches($0.data)
        }
    }

    /// Waits until a message has come whose text is this; what was published before it in its conversation has come then, too.
    @discardableResult
    func message(_ text: String) async throws -> ReceivedPacket {
        try await change("create", "Message") { $0["parts"][0]["body"].string == text }
    }

    /// A request with the patience of these tests.
    func ask(_ method: String, _ objectID: String? = nil, _ data: JSONValue? = nil) async throws -> SocketAnswer {
        try await request(method, objectID: objectID, data: data, deadline: Waiting.deadline)
    }

    /// All that has come of a conversation.
    func packets(of conversation: Conversation) -> [ReceivedPacket] {
        history.filter { $0.conversationID == conversation.id }
    }

    /// Whatever was wrong with what came: counters, order, packets that came twice.
    var faults: [String] {
        ledger.faults + violations
    }

    /// The account of all that came.
    var ledger: PacketLedger {
        var ledger = PacketLedger()
        ledger.connectionOpened(handshakeBegan: nil)
        for packet in history { _ = ledger.note(packet) }
        return ledger
    }

    /// What the packets of a conversation amount to; nil before its creation has come. A socket's first packet of it need not be its creation, so
    /// this starts from what is known already.
    func replica(of conversation: Conversation, from start: JSONValue? = nil) -> ConversationReplica? {
        var replica = start.map { ConversationReplica($0) }
        for packet in packets(of: conversation) where packet.objectType == "Conversation" {
            switch packet.operation {
            case "create": replica = ConversationReplica(packet.data)
            case "update": replica?.applyOperations(packet.data)
            default: replica = nil
            }
        }
        return replica
    }

    /// Waits until every position up to this one has come.
    func positions(upTo head: Int, of conversation: Conversation) async throws {
        // A user need not be told of every position, but they are told of the last one of these.
        _ = try await nextPacket("position \(head)", deadline: Waiting.deadline) {
            $0.conversationID == conversation.id && ($0.body["position"].int ?? 0) >= head
        }
    }
}

/// Waits for something outside this process, which cannot tell us: looks now and then.
func eventually(
    _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    let deadline = Waiting.deadline
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record(what, sourceLocation: sourceLocation)
}
