// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway
@testable import Sync

/// A long catch-up must not starve other sockets of the loop.
@Suite("long replays", .timeLimit(.minutes(3)))
struct LongReplayTests {
    private static func view(kilobytes: Int) -> ConversationView {
        var view = Fixture.view(at: 5)
        let value = String(repeating: "x", count: 1000)
        view.conversation.metadata = MetadataTree(
            leaves: (0..<kilobytes)
                .map { MetadataLeaf(path: MetadataPath(trusted: "a\($0 % 3).key\($0)"), value: value) })
        return view
    }

    @Test(
        "a conversation with large metadata is rendered off the loop and sent afterwards; a small one is sent at once")
    func ahead() async throws {
        let harness = try await GatewayHarness()
        let test = try await harness.socket(of: Fixture.ben, at: 4)
        let (small, large) = (Self.view(kilobytes: 20), Self.view(kilobytes: 500))
        let items: [ReplayItem] = [.conversationNow(small, at: Position(5)), .conversationNow(large, at: Position(6))]
        let sent = try await harness.onLoop { _ in test.socket.sendReplay(items, from: 0) }
        #expect(sent == 1)
        #expect(try await test.positions() == [5])
        // An equal index is not sufficient, because another catch-up may have begun meanwhile.
        let drained = Task { try await test.socket.drained() }
        try await harness.until { _ in test.socket.catchUps.ahead?.rendering != nil }
        while !(try await harness.onLoop { _ in test.socket.isWritable }) {}
        await harness.loop.run()
        let stale = try await harness.onLoop { _ in
            test.socket.replaceCatchUp()
            let other = test.socket.sendReplay(items, from: 1)
            test.socket.catchUps.ahead = nil
            return other
        }
        #expect(stale == 1)
        #expect(try await test.positions() == [])
        // Repeat without the other catch-up.
        #expect(try await harness.onLoop { _ in test.socket.sendReplay(items, from: 1) } == 1)
        let again = Task { try await test.socket.drained() }
        try await harness.until { _ in test.socket.catchUps.ahead?.rendering != nil }
        #expect(try await harness.onLoop { _ in test.socket.sendReplay(items, from: 1) } == 2)
        #expect(try await test.positions() == [6])
        // The rendering task may hold its text a moment longer.
        try await harness.until { _ in harness.services.answers.inUse == 0 }
        for task in [drained, again] { try await finish(task, harness) }
    }

    private func finish(_ task: Task<Void, any Error>, _ harness: GatewayHarness) async throws {
        let running = Task {
            while !Task.isCancelled {
                await harness.loop.run()
                await Task.yield()
            }
        }
        defer { running.cancel() }
        try await task.value
    }

    @Test("only some of many changes are sent per turn, also to a client that reads everything at once")
    func turns() async throws {
        let harness = try await GatewayHarness()
        let test = try await harness.socket(of: Fixture.ben, at: 4)
        let value = String(repeating: "x", count: 2000)
        let items = (5..<25)
            .map { position in
                let effects = (0..<50).map { MetadataEffect(path: MetadataPath(trusted: "key\($0)"), value: value) }
                return ReplayItem.change(Fixture.change(Int64(position), .metadataChanged(effects)))
            }
        var (next, turns) = (0, 0)
        while next < items.count {
            let from = next
            next = try await harness.onLoop { _ in test.socket.sendReplay(items, from: from) }
            #expect((1...4).contains(next - from))
            turns += 1
        }
        #expect(turns >= 5)
        #expect(try await test.positions() == Array(5..<25))
    }
}
