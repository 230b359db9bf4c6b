// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import NIOWebSocket
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway

/// Sockets whose clients do not read. Each has its own network, which transmits only when told to.
@Suite("sockets whose clients do not read", .timeLimit(.minutes(2)))
struct SlowSocketTests {
    private struct Reader {
        let test: TestSocket
        let network: NIOLoopBoundBox<StalledNetwork>
    }

    private static func open(_ count: Int, _ harness: GatewayHarness) async throws -> [Reader] {
        var readers: [Reader] = []
        for _ in 0..<count {
            let network = try await harness.onLoop { _ in NIOLoopBoundBox(StalledNetwork(), eventLoop: harness.loop) }
            readers.append(
                Reader(test: try await harness.socket(of: Fixture.ben, at: 4, network: network), network: network))
        }
        return readers
    }

    /// Returns a change whose packet has about `kilobytes` KB.
    private static func change(_ position: Int64, kilobytes: Int) -> Change {
        let value = String(repeating: "x", count: 1000)
        let effects = (0..<kilobytes).map { MetadataEffect(path: MetadataPath(trusted: "key\($0)"), value: value) }
        return Fixture.change(position, .metadataChanged(effects))
    }

    private static func backlog(_ readers: [Reader], _ harness: GatewayHarness) async throws -> [Int] {
        let sockets = readers.map(\.test.socket)
        return try await harness.onLoop { _ in sockets.map(\.outbox.waitingBytes) }
    }

    private static func read(_ reader: Reader, _ harness: GatewayHarness) async throws -> [JSONValue] {
        try await harness.until { _ in
            reader.network.value.takeAll()
            return reader.test.socket.outbox.waitingBytes == 0 && reader.network.value.bytes == 0
        }
        return try await reader.test.packets()
    }

    @Test("a large change for a hundred sockets is stored once, written gradually, and reaches all")
    func shared() async throws {
        let harness = try await GatewayHarness()
        let readers = try await Self.open(100, harness)
        try await harness.publish(Self.change(5, kilobytes: 800))
        try await harness.until { _ in
            readers.allSatisfy { $0.test.socket.outbox.waitingBytes > 0 && !$0.test.socket.outbox.isTouched }
        }
        let answers = harness.services.answers
        let channels = try await harness.onLoop { _ in readers.map(\.network.value.bytes) }
        #expect(channels.allSatisfy { $0 <= 192 << 10 })
        // A hundred copies would take 80 MB.
        #expect(answers.inUse < channels.reduce(0, +) + (2 << 20))
        for reader in readers {
            let packets = try await Self.read(reader, harness)
            #expect(packets.map { $0["body"]?["position"]?.integerValue } == [5])
            #expect(packets.first?["counter"]?.integerValue == 0)
        }
        #expect(answers.inUse == 0)
    }

    @Test("a change above the limit is queued if the queue is empty, and later changes have the whole limit")
    func larger() async throws {
        let harness = try await GatewayHarness { $0.sockets.backlogBytes = 100 << 10 }
        let reader = try await Self.open(1, harness)[0]
        try await harness.publish(Self.change(5, kilobytes: 900))
        try await harness.publish(Self.change(6, kilobytes: 60))
        try await harness.publish(Self.change(7, kilobytes: 1))
        #expect(try await Self.read(reader, harness).map { $0["body"]?["position"]?.integerValue } == [5, 6, 7])
        try await harness.publish(Self.change(8, kilobytes: 900))
        try await harness.publish(Self.change(9, kilobytes: 60))
        try await harness.publish(Self.change(10, kilobytes: 60))
        #expect(try await harness.onLoop { _ in reader.test.socket.isClosing })
    }

    @Test("a slow socket is closed after a whole frame with a reconnect code, and its backlog is released")
    func abandoned() async throws {
        let harness = try await GatewayHarness { $0.sockets.backlogBytes = 100 << 10 }
        let reader = try await Self.open(1, harness)[0]
        try await harness.publish(Self.change(5, kilobytes: 900))
        for position in 6..<10 { try await harness.publish(Self.change(Int64(position), kilobytes: 60)) }
        #expect(try await harness.onLoop { _ in reader.test.socket.isClosing })
        try await harness.until { _ in
            reader.network.value.takeAll()
            return reader.test.socket.outbox.waitingBytes == 0 && reader.network.value.bytes == 0
        }
        #expect(try await reader.test.closeCode() == 1013)
        #expect(harness.services.answers.inUse == 0)
    }

    @Test("a control frame is not written inside another frame, and queued control frames count like others")
    func control() async throws {
        let harness = try await GatewayHarness { $0.sockets.backlogBytes = 64 << 10 }
        let reader = try await Self.open(1, harness)[0]
        try await harness.publish(Self.change(5, kilobytes: 900))
        try await harness.onLoop { _ in reader.test.socket.ping() }
        let waiting = try await Self.backlog([reader], harness)[0]
        try await harness.onLoop { _ in
            reader.test.socket.sendControl(.pong, data: ByteBuffer(repeating: 0x61, count: 125))
        }
        #expect(try await Self.backlog([reader], harness)[0] == waiting + 127)
        try await harness.until { _ in
            reader.network.value.takeAll()
            return reader.test.socket.outbox.waitingBytes == 0 && reader.network.value.bytes == 0
        }
        await harness.loop.run()
        var sent = ByteBuffer()
        while var bytes = try await reader.test.channel.readOutbound(as: ByteBuffer.self) { sent.writeBuffer(&bytes) }
        let frames = Array(sent.readableBytesView.suffix(129))
        #expect(frames.prefix(4) == [0x89, 0, 0x8a, 125])
        #expect(sent.getInteger(at: 0, as: UInt8.self) == 0x81)
        try await harness.publish(Self.change(6, kilobytes: 900))
        try await harness.onLoop { _ in
            for _ in 0..<600 { reader.test.socket.sendControl(.pong, data: ByteBuffer(repeating: 0x61, count: 125)) }
            #expect(reader.test.socket.isClosing)
        }
    }

    @Test("a client that sends pings and reads no pongs is closed at the limit of its backlog")
    func pings() async throws {
        let harness = try await GatewayHarness { $0.sockets.backlogBytes = 64 << 10 }
        let reader = try await Self.open(1, harness)[0]
        try await harness.onLoop { _ in
            for _ in 0..<4000 { reader.test.socket.sendControl(.pong, data: ByteBuffer(repeating: 0x61, count: 125)) }
            #expect(reader.test.socket.isClosing)
            #expect(reader.network.value.bytes <= 192 << 10)
        }
    }

    @Test("when memory is exhausted, the next change closes slow sockets, and reading sockets continue")
    func exceeded() async throws {
        let harness = try await GatewayHarness { $0.load.answerBytes = 4 << 20 }
        let slow = try await Self.open(3, harness)
        let fast = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.publish(Self.change(5, kilobytes: 200))
        #expect(try await Self.backlog(slow, harness).allSatisfy { $0 > 0 })
        let others = AnswerBudget.Lease(harness.services.answers, holding: 4 << 20)
        try await harness.publish(Self.change(6, kilobytes: 1))
        #expect(try await harness.onLoop { _ in slow.allSatisfy(\.test.socket.isClosing) })
        #expect(try await fast.positions() == [5, 6])
        others.settle(to: 0)
        try await harness.publish(Self.change(7, kilobytes: 1))
        #expect(try await fast.positions() == [7])
    }
}
