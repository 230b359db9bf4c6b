// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import FanOut
@testable import Gateway

@Suite("outgoing buffer of a socket")
struct OutgoingBufferTests {
    private static let bound = 1000

    private func isTaken(_ bytes: Int, _ buffer: inout OutgoingBuffer, isWritable: Bool = false) -> Bool {
        if case .write = buffer.admit(bytes, isWritable: isWritable, bound: Self.bound) { true } else { false }
    }

    @Test("the buffer accepts bytes up to its limit, not counting a frame that was added while it was empty")
    func bound() {
        var buffer = OutgoingBuffer()
        #expect(isTaken(5000, &buffer))
        #expect(isTaken(900, &buffer))
        #expect(!isTaken(101, &buffer))
        #expect(isTaken(100, &buffer))
        #expect(buffer.backlog == 6000)
        // The unlimited write is sent first, and frees no room for others.
        buffer.left(1500)
        #expect(!isTaken(1, &buffer))
        buffer.left(600)
        #expect(isTaken(400, &buffer))
        #expect(!isTaken(1, &buffer))
        buffer.drained()
        #expect(isTaken(5000, &buffer))
    }

    @Test("bytes accepted while the channel was writable do not count against later ones")
    func writable() {
        var buffer = OutgoingBuffer()
        #expect(isTaken(5000, &buffer, isWritable: true))
        buffer.left(4000)
        #expect(isTaken(1000, &buffer))
        #expect(!isTaken(1, &buffer))
    }

    @Test("queued frames are sent in pieces, in order, byte for byte")
    func pieces() {
        let budget = AnswerBudget(limit: 1 << 20)
        var waiting = WaitingFrames()
        var whole = ByteBuffer()
        for (number, lengths) in [[10], [3, 0, 500, 7], [64], [200, 1], [64]].enumerated() {
            let buffers = lengths.map { length in
                ByteBuffer(bytes: (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) })
            }
            for buffer in buffers { whole.writeImmutableBuffer(buffer) }
            waiting.append(buffers, lease: AnswerBudget.Lease(budget, holding: lengths.reduce(0, +)))
        }
        #expect(waiting.bytes == whole.readableBytes && budget.inUse == whole.readableBytes)
        var text = ByteBuffer()
        while let piece = waiting.next(atMost: 64) {
            #expect((1...64).contains(piece.readableBytes))
            text.writeImmutableBuffer(piece)
        }
        #expect(text == whole)
        #expect(waiting.isEmpty && waiting.bytes == 0 && budget.inUse == 0)
    }

    @Test("a dropped backlog ends with a frame boundary and releases its bytes")
    func dropped() {
        let budget = AnswerBudget(limit: 1 << 20)
        var waiting = WaitingFrames()
        for length in [100, 50, 30] {
            waiting.append(
                [ByteBuffer(repeating: UInt8(length), count: length)],
                lease: AnswerBudget.Lease(budget, holding: length))
        }
        #expect(waiting.next(atMost: 64)?.readableBytes == 64)
        waiting.dropUnbegun()
        #expect(waiting.bytes == 36 && budget.inUse == 100)
        #expect(waiting.next(atMost: 64) == ByteBuffer(repeating: 100, count: 36))
        #expect(waiting.isEmpty && budget.inUse == 0)
    }
}
