// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataKit
import TestCluster

enum KitTransfers {
    static func bytes(_ count: Int, seed: Int = 0) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ seed) })
    }

    static func image(_ count: Int, seed: Int = 0) throws -> NewMessagePart {
        try NewMessagePart(mimeType: "image/png", data: bytes(count, seed: seed))
    }

    static func ended(
        _ count: Int, in events: AsyncStream<ClientEvent>
    ) async throws -> [(transfer: PartTransfer, error: StrataError?)] {
        let log = Log()
        try await within("\(count) transfers end") {
            for await event in events {
                guard case .contentTransferEnded(let transfer, let error) = event else { continue }
                if await log.add(transfer, error) == count { return }
            }
        }
        return await log.entries
    }

    private actor Log {
        var entries: [(transfer: PartTransfer, error: StrataError?)] = []

        func add(_ transfer: PartTransfer, _ error: StrataError?) -> Int {
            entries.append((transfer, error))
            return entries.count
        }
    }

    /// Returns the parts whose transfers have begun, in that order.
    static func begun(_ count: Int, in events: AsyncStream<ClientEvent>) async throws -> [UUID] {
        var ids: [UUID] = []
        for await event in events {
            if case .contentTransferBegan(let transfer) = event { ids.append(transfer.part.id) }
            if ids.count == count { break }
        }
        return ids
    }
}

extension KitUser {
    func receives(_ id: MessageID) async throws -> StrataKit.Message {
        try await until("has \(id)") { try await $0.message(id) != nil }
        guard let message = try await client.message(id) else { throw KitProblem("the message is gone") }
        return message
    }

    func part(_ index: Int, of id: MessageID) async throws -> MessagePart {
        guard let part = try await client.message(id)?.parts[index] else { throw KitProblem("there is no such part") }
        return part
    }

    func send(_ parts: [NewMessagePart], in chat: StrataKit.Conversation) async throws -> MessageID {
        let message = try await chat.send(client.newMessage(parts: parts))
        try await until("the message is sent") { try await $0.message(message.id)?.isSent == true }
        return message.id
    }
}
