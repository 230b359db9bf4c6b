// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// The memory that a socket's messages and requests use before they are answered.
@Suite("input of sockets", .timeLimit(.minutes(3)))
struct SocketInputTests {
    /// Returns the head of a frame with a zero mask.
    private static func head(_ opcode: UInt8, _ length: Int, fin: Bool = true) -> ByteBuffer {
        var frame = ByteBuffer(bytes: [opcode | (fin ? 0x80 : 0), 0xff])
        frame.writeInteger(UInt64(length))
        frame.writeBytes([0, 0, 0, 0])
        return frame
    }

    private static func frame(_ text: String, opcode: UInt8 = 1, fin: Bool = true) -> ByteBuffer {
        var frame = head(opcode, text.utf8.count, fin: fin)
        frame.writeString(text)
        return frame
    }

    private static func request(
        _ method: String = "Counter.read", id: String = "r", data: String = "{}", padding: Int = 0
    ) -> String {
        #"{"type":"request","body":{"request_id":"\#(id)","method":"\#(method)","data":\#(data)}}"#
            + String(repeating: " ", count: padding)
    }

    /// Returns a request that creates a conversation, with a member of many values. Each value takes thirty times the
    /// memory of its text.
    private static func crowded(_ id: String, bytes: Int) -> String {
        let crowd = Array(repeating: #"{"":0}"#, count: bytes / 7).joined(separator: ",")
        return request(
            "Conversation.create", id: id, data: #"{"participants":["\#(Fixture.ben.layerID)"],"crowd":[\#(crowd)]}"#)
    }

    private func answers(_ socket: TestSocket) async throws -> [String: String] {
        var answers: [String: String] = [:]
        for packet in try await socket.packets() {
            guard let body = packet["body"], let id = body["request_id"]?.stringValue else { continue }
            answers[id] = body["success"]?.boolValue == true ? "ok" : body["data"]?["id"]?.stringValue ?? "?"
        }
        return answers
    }

    @Test("a frame counts from its first byte until its request is answered")
    func partialFrame() async throws {
        let harness = try await GatewayHarness()
        let input = harness.services.input
        let socket = try await harness.newSocket(of: Fixture.ana)
        var bytes = Self.frame(Self.request(padding: 100_000))
        try await socket.receive(try #require(bytes.readSlice(length: 60_000)))
        #expect(input.inUse >= 60_000 && input.inUse <= 140_000)
        try await socket.receive(bytes)
        #expect(try await answers(socket) == ["r": "ok"])
        #expect(input.inUse == 0)
    }

    @Test("the rest of a long read does not retain the whole read's memory")
    func longRead() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.newSocket(of: Fixture.ana)
        var bytes = Self.frame(Self.request(padding: 60_000))
        bytes.writeImmutableBuffer(Self.head(1, 5000))
        bytes.writeBytes([0x7b])
        try await socket.receive(bytes)
        #expect((1...1024).contains(harness.services.input.inUse))
    }

    @Test("fragments count until their message is complete, and control frames between them do not matter")
    func fragments() async throws {
        let harness = try await GatewayHarness()
        let input = harness.services.input
        let socket = try await harness.newSocket(of: Fixture.ana)
        let text = Self.request()
        try await socket.receive(Self.frame(String(text.prefix(20)), fin: false))
        try await socket.receive(Self.frame("", opcode: 0, fin: false))
        try await socket.receive(ByteBuffer(bytes: [0x8a, 0x80, 0, 0, 0, 0]))
        #expect((20...64).contains(input.inUse))
        try await socket.receive(
            Self.frame(String(text.dropFirst(20)) + String(repeating: " ", count: 100_000), opcode: 0))
        #expect(try await answers(socket) == ["r": "ok"])
        #expect(input.inUse == 0)
        for number in 0..<64 { try await socket.receive(Self.frame(" ", opcode: number == 0 ? 1 : 0, fin: false)) }
        try await socket.receive(Self.frame(" ", opcode: 0))
        #expect(try await socket.closeCode() == 1009)
        #expect(input.inUse == 0)
    }

    @Test("a fragmented message above the frame limit closes the socket")
    func largeMessage() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.newSocket(of: Fixture.ana)
        let part = String(repeating: " ", count: 600_000)
        try await socket.receive(Self.frame(part, fin: false))
        try await socket.receive(Self.frame(part, opcode: 0))
        #expect(try await socket.closeCode() == 1009)
    }

    @Test(
        "above the limit sockets with fragments are closed with 1013, and another socket is served",
        arguments: [true, false])
    func manyFragments(areFrames: Bool) async throws {
        let harness = try await GatewayHarness(settings: { $0.load.requestBytes = 8 << 20 })
        let input = harness.services.input
        let honest = try await harness.newSocket(of: Fixture.ana)
        let sockets = try await (0..<12).asyncMap { _ in try await harness.newSocket(of: Fixture.ben) }
        let part = String(repeating: " ", count: 1_000_000)
        var codes: [Int?] = []
        for socket in sockets {
            if areFrames {
                var bytes = Self.head(1, 1 << 20)
                bytes.writeString(part)
                try await socket.receive(bytes)
            } else {
                try await socket.receive(Self.frame(part, fin: false))
            }
            codes.append(try await socket.closeCode())
            #expect(input.inUse <= 6 << 20)
        }
        #expect(codes == Array(repeating: nil, count: 6) + Array(repeating: 1013, count: 6))
        try await honest.receive(Self.frame(Self.request()))
        #expect(try await answers(honest) == ["r": "ok"])
        for socket in sockets { try? await socket.channel.close() }
        await harness.loop.run()
        #expect(input.inUse == 0)
    }

    @Test(
        "a message that arrives too slowly closes the socket with 4408, sooner under pressure",
        arguments: [false, true])
    func slowMessage(isTight: Bool) async throws {
        let harness = try await GatewayHarness()
        let other = InputBudget.Share(harness.services.input)
        if isTight { #expect(other.reserve(150 << 20)) }
        let socket = try await harness.newSocket(of: Fixture.ana)
        try await socket.receive(Self.frame(String(repeating: " ", count: 2000), fin: false))
        await harness.loop.advanceTime(by: .seconds(isTight ? 4 : 14))
        #expect(try await socket.closeCode() == nil)
        await harness.loop.advanceTime(by: .seconds(2))
        #expect(try await socket.closeCode() == 4408)
        await harness.loop.advanceTime(by: .seconds(2))
        #expect(harness.services.input.inUse == other.held)
    }

    @Test("a request is parsed when its turn comes; until then its frame is held, and parsing reserves its own memory")
    func turns() async throws {
        let limit = 16 << 20
        try await FakeConversations.run(settings: { $0.load.requestBytes = limit }) { harness, fake in
            let input = harness.services.input
            let (mayAnswer, asked) = (Flag(), Flag())
            fake.answers.withLock { answers in
                answers.created = {
                    asked.set()
                    while !mayAnswer.isSet { await Task.yield() }
                }
            }
            let ana = try await harness.newSocket(of: Fixture.ana)
            let frame = Self.crowded("first", bytes: 1 << 18)
            try await ana.receive(Self.frame(frame))
            try await harness.until { _ in asked.isSet }
            let running = input.inUse
            #expect(running > 25 * frame.utf8.count)
            for id in ["second", "third"] { try await ana.receive(Self.frame(Self.crowded(id, bytes: 1 << 18))) }
            let waiting = input.inUse - running
            #expect(waiting >= 2 * frame.utf8.count && waiting <= 4 * frame.utf8.count + 1024)
            // The request is next in the queue, but there is no room to parse it.
            let eve = try await harness.newSocket(of: Fixture.ben)
            try await eve.receive(Self.frame(Self.crowded("eve", bytes: 1 << 18)))
            try await harness.until { _ in input.inUse <= running + waiting }
            var refused: [String: String] = [:]
            while refused.isEmpty { refused = try await answers(eve) }
            #expect(refused == ["eve": "service_unavailable"])
            #expect(input.inUse <= limit / 4 * 3)
            let honest = try await harness.newSocket(of: Fixture.ben)
            let data = #"{"participants":["\#(Fixture.ana.layerID)"]}"#
            try await honest.receive(Self.frame(Self.request("Conversation.create", id: "honest", data: data)))
            mayAnswer.set()
            var served: [String: String] = [:]
            while served.isEmpty { served = try await answers(honest) }
            #expect(served == ["honest": "ok"])
            try await harness.until { _ in input.inUse == 0 }
            #expect(try await answers(ana).keys.sorted() == ["first", "second", "third"])
        }
    }

    @Test("a waiting replay keeps its request's id and method, and releases the other data of the request")
    func waitingReplay() async throws {
        try await FakeConversations.run { harness, fake in
            let (mayAnswer, asked) = (Flag(), Flag())
            fake.setPendingChanges([(Fixture.conversation, 4, 2)])
            let page = fake.answers.withLock { $0.page }
            fake.answers.withLock { answers in
                answers.page = { request in
                    asked.set()
                    while !mayAnswer.isSet { await Task.yield() }
                    return try await page(request)
                }
            }
            let ana = try await harness.newSocket(of: Fixture.ana)
            let long = String(repeating: "x", count: 200_000)
            let data = #"{"from_timestamp":"2027-01-15T08:00:00.000Z","id":"\#(long)"}"#
            let body = #"{"request_id":"r","method":"Event.replay","object_id":"\#(long)","data":\#(data)}"#
            try await ana.receive(Self.frame(#"{"type":"request","body":\#(body)}"#))
            try await harness.until { _ in asked.isSet }
            let waiting = try await harness.onLoop { _ in ana.socket.requests.replay }
            #expect(waiting?.packet == ClientPacket.Request(id: "r", method: "Event.replay"))
            #expect(waiting?.heldBytes == 0)
            #expect(harness.services.input.inUse == 0)
            mayAnswer.set()
            try await harness.until { _ in ana.socket.requests.replay == nil }
            #expect(try await answers(ana) == ["r": "ok"])
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
        var result: [T] = []
        for element in self { result.append(try await transform(element)) }
        return result
    }
}
