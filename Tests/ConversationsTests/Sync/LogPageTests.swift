// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import SeededRandom
import StrataModel
import TestSupport
import Testing

@testable import Conversations

extension StoreTests {
    /// Pages of logs are bounded in bytes and in entries.
    @Suite struct LogPageTests {
        /// Writes changes of all kinds, short and long, in two conversations and in ben's own log.
        private func write(_ calls: CallsFixture, using random: inout SeededGenerator) async throws -> [ConversationID]
        {
            let ids = [try await calls.conversation(["ben"]), try await calls.conversation(["ben", "cleo"])]
            var sent: [MessageID] = []
            for _ in 0..<40 {
                let id = ids[Int.random(in: 0..<2, using: &random)]
                let length = [10, 10, 500, 5000, 20_000].randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<8, using: &random) {
                // A value that PostgreSQL compresses to about a hundredth.
                case 0:
                    try await calls.patch(
                        id, metadata: [set("key", String(repeating: "x", count: min(length, 1900)) + "\(sent.count)")])
                case 1:
                    let values = (0..<10).map { set("many.\($0)", String(repeating: "\(sent.count)", count: 900)) }
                    try await calls.patch(id, metadata: values)
                case 2:
                    if let message = sent.randomElement(using: &random) {
                        try await calls.receipt(.read, message, by: "ben")
                    }
                case 3: if let message = sent.popLast() { try await calls.delete(message, by: "ana", .allParticipants) }
                case 4: if let message = sent.popLast() { try await calls.delete(message, by: "ben", .myDevices) }
                default:
                    let parts = (0..<max(1, length / 2000))
                        .map { _ in MessagePart.text(String(repeating: "y", count: min(length, 2000))) }
                    sent.append(try await calls.send(id, parts: parts).id)
                }
            }
            try await calls.delete(ids[1], by: "ben", .myDevices)
            try await calls.send(ids[1], "and it is back")
            return ids
        }

        @Test(
            "log pages of any byte limit together equal the log, and each page is full",
            arguments: [1, 2, 3] as [UInt64])
        func owed(seed: UInt64) async throws {
            try await CallsFixture.run { calls in
                var random = SeededGenerator(seed: seed)
                let ids = try await write(calls, using: &random)
                let whole = try await calls.readLogs(as: "ben", [ids[0]: .zero, ids[1]: .zero], userAfter: .zero)
                #expect(whole.reachesHeads && whole.bytes > 10_000)
                for bytes in [1, 3000, 10_000, .random(in: 1...100_000, using: &random), 1 << 20] {
                    var (cursors, own) = ([ids[0]: Position.zero, ids[1]: .zero], Position.zero)
                    var entries: [CallsFixture.CatchUpEntry] = []
                    var sizes: [Int] = []
                    while true {
                        let page = try await calls.readLogs(as: "ben", cursors, userAfter: own, bytes: bytes)
                        try #require(page.reachesHeads || !page.entries.isEmpty)
                        #expect(
                            page.entries.count == 1 || page.bytes < bytes + 2000, "\(page.bytes) bytes for \(bytes)")
                        for entry in page.entries {
                            switch entry {
                            case .change(let change): cursors[change.conversationID] = change.position
                            case .skipped(let id, let position): cursors[id] = position
                            case .user(let change): own = change.position
                            }
                        }
                        entries += page.entries
                        sizes.append(page.bytes)
                        #expect(page.counts == whole.counts)
                        if page.reachesHeads { break }
                    }
                    #expect(entries == whole.entries)
                    // An entry's accounted size exceeds its real size, by a small factor.
                    #expect(sizes.count <= max(entries.count, 1) && sizes.count <= 3 + 12 * whole.bytes / bytes)
                    if bytes == 1 { #expect(sizes.count == entries.count) }
                    if bytes == 1 << 20 { #expect(sizes.count == 1) }
                }
            }
        }

        @Test(
            "repair pages of any byte limit together equal the log, and each page is full",
            arguments: [4, 5] as [UInt64])
        func repair(seed: UInt64) async throws {
            try await CallsFixture.run { calls in
                var random = SeededGenerator(seed: seed)
                for id in try await write(calls, using: &random) {
                    let whole = try await calls.readChanges(id, users: ["ben"])
                    for bytes in [1, 3000, 10_000, .random(in: 1...100_000, using: &random), 1 << 20] {
                        var changes: [Change] = []
                        while true {
                            let page = try await calls.readChanges(
                                id, after: changes.last?.position ?? .zero, bytes: bytes, users: ["ben"])
                            #expect(page.head == whole.head && page.counts == whole.counts)
                            #expect(
                                page.changes.count <= 1 || page.bytes < bytes + 2000, "\(page.bytes) bytes for \(bytes)"
                            )
                            if page.changes.isEmpty { break }
                            changes += page.changes
                        }
                        #expect(changes == whole.changes)
                    }
                }
            }
        }

        @Test("page sizes include the objects of the user's own log: the last message of a changed conversation")
        func own() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                var sent: [MessageID] = []
                for _ in 0..<8 { sent.append(try await calls.send(id).id) }
                _ = try await calls.send(id, parts: (0..<10).map { _ in .text(String(repeating: "z", count: 2000)) })
                for message in sent { try await calls.delete(message, by: "ben", .myDevices) }
                let whole = try await calls.readLogs(as: "ben", [:], userAfter: .zero)
                #expect(whole.userChanges.count == 8 && whole.bytes > 160_000)
                var read: [UserChange] = []
                while read.count < 8 {
                    let page = try await calls.readLogs(
                        as: "ben", [:], userAfter: read.last?.position ?? .zero, bytes: 50_000)
                    try #require(!page.userChanges.isEmpty)
                    #expect(page.bytes < 52_000)
                    read += page.userChanges
                    #expect(page.reachesHeads == (read.count == 8))
                }
                #expect(read == whole.userChanges)
            }
        }
    }
}
