// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import StrataModel
import StrataWire
import Testing

@testable import Gateway

/// Request bodies, from their first byte.
@Suite("request bodies in progress", .timeLimit(.minutes(2)))
struct RequestGuardTests {
    private struct Connection {
        let channel = NIOAsyncTestingChannel()
        let share: InputBudget.Share

        init(_ budget: InputBudget) async throws {
            share = InputBudget.Share(budget)
            let (share, channel) = (share, channel)
            try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
            try await channel.testingEventLoop.executeInContext {
                let handler = RequestGuard(
                    time: ArrivalTime(timeout: .seconds(15)), input: share,
                    refusals: RefusedRequest(
                        Renderer(baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org")))
                try channel.pipeline.syncOperations.addHandler(handler)
            }
        }

        func begin() async throws {
            let head = HTTPRequest(method: .post, scheme: "https", authority: "chat.example.org", path: "/")
            try await channel.writeInbound(HTTPRequestPart.head(head))
        }

        func body(_ bytes: Int) async throws {
            try await channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0, count: bytes)))
        }

        func end() async throws { try await channel.writeInbound(HTTPRequestPart.end(nil)) }

        func beginAnswer() async throws {
            try await channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        }

        func endAnswer() async throws { try await channel.writeOutbound(HTTPResponsePart.end(nil)) }

        func answer() async throws {
            try await beginAnswer()
            try await endAnswer()
        }

        func statuses() async throws -> [Int] {
            await channel.testingEventLoop.run()
            var statuses: [Int] = []
            while let part = try await channel.readOutbound(as: HTTPResponsePart.self) {
                if case .head(let head) = part { statuses.append(head.status.code) }
            }
            return statuses
        }
    }

    private let budget = InputBudget(limit: 8 << 20)

    @Test("each body is held until its request is answered, also in a pipeline")
    func held() async throws {
        let connection = try await Connection(budget)
        for bytes in [1000, 200] {
            try await connection.begin()
            try await connection.body(bytes)
            #expect(budget.inUse >= bytes)
            try await connection.end()
        }
        #expect(budget.inUse == 1200)
        try await connection.answer()
        #expect(budget.inUse == 200)
        try await connection.answer()
        #expect(budget.inUse == 0)
        #expect(try await connection.statuses() == [200, 200])
    }

    @Test("body chunks that a route has written elsewhere are released, so that large uploads need little memory")
    func streamed() async throws {
        let connection = try await Connection(budget)
        try await connection.begin()
        for _ in 0..<20 {
            try await connection.body(1 << 20)
            #expect(budget.inUse == 1 << 20)
            connection.channel.triggerUserOutboundEvent(RequestGuard.BodyTaken(bytes: 1 << 20), promise: nil)
            await connection.channel.testingEventLoop.run()
        }
        try await connection.end()
        try await connection.answer()
        #expect(budget.inUse == 0)
        #expect(try await connection.statuses() == [200])
    }

    @Test("a body beyond the limit is answered with 503 and ends its connection; short concurrent bodies are accepted")
    func refused() async throws {
        let first = try await Connection(budget)
        try await first.begin()
        try await first.body(6 << 20)
        let second = try await Connection(budget)
        try await second.begin()
        try await second.body(20_000)
        #expect(try await second.statuses() == [503])
        let honest = try await Connection(budget)
        try await honest.begin()
        try await honest.body(10_000)
        try await honest.end()
        try await honest.answer()
        #expect(try await honest.statuses() == [200])
        try await first.channel.close()
        await first.channel.testingEventLoop.run()
        #expect(budget.inUse == 0)
    }

    @Test("a refused request behind an unanswered one gets no answer, which would be mistaken for the first request's")
    func refusedBehind() async throws {
        let connection = try await Connection(budget)
        try await connection.begin()
        try await connection.end()
        try await connection.begin()
        try await connection.body(7 << 20)
        #expect(try await connection.statuses() == [])
    }

    @Test("a request that begins before the end of the previous answer is written keeps its connection")
    func beginsEarly() async throws {
        let connection = try await Connection(budget)
        try await connection.begin()
        try await connection.end()
        try await connection.beginAnswer()
        // The client has the whole answer by its length, and sends its next request.
        try await connection.begin()
        try await connection.endAnswer()
        try await connection.body(200)
        #expect(budget.inUse == 200)
        try await connection.end()
        try await connection.answer()
        #expect(budget.inUse == 0)
        #expect(try await connection.statuses() == [200, 200])
        #expect(connection.channel.isActive)
    }

    @Test("an answer to an incomplete request ends its connection")
    func answeredEarly() async throws {
        let connection = try await Connection(budget)
        try await connection.begin()
        try await connection.answer()
        try await connection.body(200)
        #expect(budget.inUse == 0)
        #expect(try await connection.statuses() == [200])
    }

    @Test("under pressure, a slow body has a third of the time", arguments: [false, true])
    func slow(isTight: Bool) async throws {
        let other = InputBudget.Share(budget)
        if isTight { #expect(other.reserve(5 << 20)) }
        let connection = try await Connection(budget)
        try await connection.begin()
        try await connection.body(2000)
        await connection.channel.testingEventLoop.advanceTime(by: .seconds(isTight ? 4 : 14))
        #expect(try await connection.statuses() == [])
        await connection.channel.testingEventLoop.advanceTime(by: .seconds(2))
        #expect(try await connection.statuses() == [408])
    }
}
