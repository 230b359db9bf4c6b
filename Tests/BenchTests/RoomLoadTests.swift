// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import Testing

@testable import Bench

@Suite("loads on conversations", .timeLimit(.minutes(1)))
struct RoomLoadTests {
    private func withLoad(_ includesSender: Bool, _ body: (RoomLoad) async throws -> Void) async throws {
        let server = try await BaselineServer.start(.broadcaster)
        let loops = LoadLoops(2)
        do {
            let load = try await RoomLoad.open(
                server, RoomPlan(rooms: 3, members: 4, senders: 2), .broadcast(includesSender: includesSender),
                on: loops)
            try await body(load)
            try await load.close()
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        try await loops.group.shutdownGracefully()
    }

    @Test("every operation is delivered once to every receiver, with and without the sender", arguments: [true, false])
    func delivers(includesSender: Bool) async throws {
        try await withLoad(includesSender) { load in
            let paced = try await load.measure(.rate(100), seconds: 0.5)
            #expect(paced.operations == 50)
            #expect(paced.deliveries.expected == 50 * (includesSender ? 4 : 3))
            #expect(paced.problem == nil)
            #expect(paced.latency?.count == paced.deliveries.expected)
            #expect(paced.cost?.services.keys.sorted() == ["broadcaster"])
            let closed = try await load.measure(.closed(window: 2), seconds: 0.1)
            #expect(closed.operations >= 12)
            #expect(closed.problem == nil)
        }
    }

    @Test("a measurement ignores the deliveries of an earlier one")
    func separatesRuns() async throws {
        try await withLoad(true) { load in
            for _ in 0..<3 {
                let run = try await load.measure(.rate(200), seconds: 0.1)
                #expect(run.problem == nil)
            }
        }
    }
}
