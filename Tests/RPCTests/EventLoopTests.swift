// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NetKit
import TestTiers
import Testing

@testable import RPC

@Suite("calls on event loops", .timeLimit(.minutes(1)))
struct EventLoopTests {
    /// Returns the peers of several calls that a task makes on a loop, as the server sees them.
    private static func peers(ofCallsBy client: RPCClient, on loop: any EventLoop) async throws -> Set<String> {
        try await Task(executorPreference: EventLoopExecutor(loop)) {
            var peers: Set<String> = []
            for _ in 0..<10 { peers.insert(String(buffer: try await client.echo(ByteBuffer()))) }
            return peers
        }
        .value
    }

    @Test("a caller on a loop uses that loop's connection")
    func own() async throws {
        let group = loops
        let loops = Array(group.makeIterator())
        try await withPair(clientLoops: group, handler: { context, _ in ByteBuffer(string: context.peer) }) { client in
            try await eventually { client.connected == loops.count }
            var all: Set<String> = []
            for loop in loops {
                let peers = try await Self.peers(ofCallsBy: client, on: loop)
                #expect(peers.count == 1)
                all.formUnion(peers)
            }
            #expect(all.count == loops.count)
        }
    }

    @Test("a short call is handled on the connection's loop, and a read or a large request in the concurrency pool")
    func short() async throws {
        let long = RPCMethod(rawValue: 2)
        let handler: TestHandler = { _, _ in
            ByteBuffer(string: MultiThreadedEventLoopGroup.currentEventLoop == nil ? "pool" : "loop")
        }
        try await withPair(isShort: { $0 != long }, handler: handler) { client in
            #expect(String(buffer: try await client.echo(ByteBuffer())) == "loop")
            let answer = try await client.call(
                long, with: ByteBuffer(), deadline: .now + .seconds(60), trace: .random())
            #expect(String(buffer: answer) == "pool")
            let large = ByteBuffer(repeating: 0x61, count: (16 << 10) + 1)
            #expect(String(buffer: try await client.echo(large)) == "pool")
        }
    }
}
