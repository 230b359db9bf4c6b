// SPDX-License-Identifier: Apache-2.0

import NIOCore
import SeededRandom
import Testing

@testable import RPC

struct FrameTests {
    static let nonce = RPCNonce(bytes: (0..<32).map { UInt8($0) })
    static let proof = RPCProof(bytes: (32..<64).map { UInt8($0) })
    static let payload = ByteBuffer(string: "payload")
    static let frames: [RPCFrame] = [
        .challenge(version: 1, nonce: nonce), .challenge(version: 1, nonce: nonce, service: "conversations"),
        .hello(version: 1, nonce: nonce, proof: proof), .welcome(proof: proof),
        .request(
            id: .max,
            RPCRequestHead(
                method: .init(rawValue: .max), remainingMicroseconds: .max, trace: .init(high: 1, low: .max)),
            payload: payload),
        .request(
            id: 1, RPCRequestHead(method: .init(rawValue: 0), remainingMicroseconds: 0, trace: .init(high: 0, low: 0)),
            payload: ByteBuffer()),
        .answer(id: 2, payload: payload), .answerPart(id: 3, payload: payload),
        .error(id: 4, code: .application, payload: payload),
        .error(id: 0, code: .unauthenticated, payload: ByteBuffer()), .cancel(id: 5), .goaway, .ping, .pong,
    ]

    static func bytes(_ frame: RPCFrame) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.writeFrame(frame)
        return Array(buffer.readableBytesView)
    }

    @Test("a written frame is read back", arguments: frames)
    func roundTrip(_ frame: RPCFrame) throws {
        var reader = RPCFrameReader()
        reader.append(ByteBuffer(bytes: FrameTests.bytes(frame)))
        #expect(try reader.next(limit: 1024) == frame)
        #expect(try reader.next(limit: 1024) == nil)
    }

    @Test("frames may be split anywhere")
    func anyCut() throws {
        let stream = FrameTests.frames.flatMap(FrameTests.bytes)
        for size in [1, 2, 3, 7, 50, stream.count] {
            var reader = RPCFrameReader()
            var read: [RPCFrame] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                reader.append(ByteBuffer(bytes: stream[start..<min(start + size, stream.count)]))
                while let frame = try reader.next(limit: 1024) { read.append(frame) }
            }
            #expect(read == FrameTests.frames)
        }
    }

    @Test("a length over the limit is refused before its bytes arrive")
    func tooLong() {
        var reader = RPCFrameReader()
        reader.append(ByteBuffer(bytes: [0xFF, 0xFF, 0xFF, 0xFF]))
        #expect(throws: RPCFrameError.tooLong(0xFFFF_FFFF)) { try reader.next(limit: 4 << 20) }
    }

    @Test("a frame of exactly the maximum length is read")
    func exactLimit() throws {
        let frame = RPCFrame.answer(id: 1, payload: ByteBuffer(repeating: 7, count: 91))
        var reader = RPCFrameReader()
        reader.append(ByteBuffer(bytes: FrameTests.bytes(frame)))
        #expect(throws: RPCFrameError.tooLong(100)) { try reader.next(limit: 99) }
        #expect(try reader.next(limit: 100) == frame)
    }

    @Test(
        "malformed frames are errors",
        arguments: [
            ([0, 0, 0, 8] + Array(repeating: 0, count: 8), RPCFrameError.tooShort),
            ([0, 0, 0, 0], .tooShort),
            ([0, 0, 0, 9, 99] + Array(repeating: 0, count: 8), .unknownKind(99)),
            ([0, 0, 0, 9, 0] + Array(repeating: 0, count: 8), .unknownKind(0)),
            ([0, 0, 0, 9, 4] + Array(repeating: 0, count: 8), .truncatedBody),
            ([0, 0, 0, 9, 2] + Array(repeating: 0, count: 8), .truncatedBody),
            ([0, 0, 0, 10, 10] + Array(repeating: 0, count: 9), .trailingBytes),
            ([0, 0, 0, 10, 7] + Array(repeating: 0, count: 9), .truncatedBody),
        ] as [([UInt8], RPCFrameError)])
    func malformed(_ bytes: [UInt8], _ error: RPCFrameError) {
        var reader = RPCFrameReader()
        reader.append(ByteBuffer(bytes: bytes))
        #expect(throws: error) { try reader.next(limit: 1024) }
    }

    @Test("an error code of a later version is still a failure")
    func unknownCode() throws {
        var reader = RPCFrameReader()
        reader.append(ByteBuffer(bytes: [0, 0, 0, 11, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0x7F, 0xFF]))
        #expect(try reader.next(limit: 1024) == .error(id: 9, code: .internal, payload: ByteBuffer()))
    }

    @Test("reading random bytes ends with frames or an error", arguments: 0..<40 as Range<UInt64>)
    func garbage(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var reader = RPCFrameReader()
            var bytes = (0..<Int.random(in: 0...80, using: &random))
                .map { _ in UInt8.random(in: .min ... .max, using: &random) }
            // Make the length plausible in half of the cases, so that the bytes after it are parsed, too.
            if Bool.random(using: &random), bytes.count > 5 {
                bytes.replaceSubrange(
                    0..<5, with: [0, 0, 0, UInt8(bytes.count - 4), UInt8.random(in: 0...12, using: &random)])
            }
            reader.append(ByteBuffer(bytes: bytes))
            while let frame = try? reader.next(limit: 1024) { #expect(FrameTests.bytes(frame).count <= bytes.count) }
        }
    }

    @Test("a remaining time is clamped, and never negative")
    func remaining() {
        let now = ContinuousClock.now
        #expect(RPCRequestHead.remaining(until: now - .seconds(1), from: now) == 0)
        #expect(RPCRequestHead.remaining(until: now + .milliseconds(5), from: now) == 5000)
        #expect(
            RPCRequestHead.remaining(until: now + .seconds(1 << 40), from: now) == RPCRequestHead.maximumMicroseconds)
        let head = RPCRequestHead(method: echoMethod, remainingMicroseconds: .max, trace: .random())
        #expect(head.deadline(from: now) == now + .seconds(3600))
    }
}
