// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension ProtocolSocket {
    /// Waits for a change, with the deadline of these tests.
    @discardableResult
    func change(
        _ operation: String, _ type: String, _ id: String? = nil,
        where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> ReceivedPacket {
        try await nextPacket("\(type) \(operation) \(id ?? "")", deadline: Waiting.deadline) {
            $0.isChange(operation, of: type, id: id) && matches($0.data)
        }
    }

    /// Waits for a message with this text. Everything published before it in its conversation has then arrived, too.
    @discardableResult
    func message(_ text: String) async throws -> ReceivedPacket {
        try await change("create", "Message") { $0["parts"][0]["body"].string == text }
    }

    /// Sends a request, with the deadline of these tests.
    func ask(_ method: String, _ objectID: String? = nil, _ data: JSONValue? = nil) async throws -> SocketResponse {
        try await request(method, objectID: objectID, data: data, deadline: Waiting.deadline)
    }

    func packets(of conversation: Conversation) -> [ReceivedPacket] {
        history.filter { $0.conversationID == conversation.id }
    }

    /// Protocol violations: wrong counters, wrong order, duplicates.
    var faults: [String] {
        ledger.faults + violations
    }

    var ledger: PacketLedger {
        var ledger = PacketLedger()
        ledger.connectionOpened(handshakeBegan: nil)
        for packet in history { _ = ledger.note(packet) }
        return ledger
    }

    /// Returns a conversation's state as its packets describe it; nil before its creation was received.
    /// - Parameter start: The known state. Required if the socket's first packet of the conversation is not its
    ///   creation.
    func replica(of conversation: Conversation, from start: JSONValue? = nil) -> ConversationReplica? {
        var replica = start.map { ConversationReplica($0) }
        for packet in packets(of: conversation) { ConversationReplica.apply(packet, to: &replica) }
        return replica
    }

    /// Waits until all positions up to `head` have arrived.
    func positions(upTo head: Int, of conversation: Conversation) async throws {
        // A user need not receive every position, but receives the last one.
        _ = try await nextPacket("position \(head)", deadline: Waiting.deadline) {
            $0.conversationID == conversation.id && ($0.body["position"].int ?? 0) >= head
        }
    }
}

/// Expects a status. A failure shows the answer's body.
func succeeds(_ answer: RESTResponse, _ status: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    #expect(answer.status == status, "\(answer.json)", sourceLocation: sourceLocation)
}
