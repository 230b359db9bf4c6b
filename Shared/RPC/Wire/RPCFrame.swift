// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A frame of the protocol: `[u32 length of the rest][u8 kind][u64 call id][body]`, integers big endian.
///
/// | kind | id | body |
/// |---|---|---|
/// | challenge | 0 | u16 version, 32 bytes nonce, optional service: u8 length and UTF-8 |
/// | hello | 0 | u16 version, 32 bytes nonce, 32 bytes proof |
/// | welcome | 0 | 32 bytes proof |
/// | request | call | u16 method, u64 remaining µs, 16 bytes trace, payload |
/// | answer | call | payload, or its rest after `answerPart`s |
/// | answerPart | call | a piece of the payload |
/// | error | call, or 0 for the connection | u16 code, payload |
/// | cancel | call | |
/// | goaway | 0 | from a server: send no more requests; from a client: no more requests follow |
/// | ping, pong | 0 | |
enum RPCFrame: Hashable, Sendable {
    case challenge(version: UInt16, nonce: RPCNonce, service: String? = nil)
    case hello(version: UInt16, nonce: RPCNonce, proof: RPCProof)
    case welcome(proof: RPCProof)
    case request(id: UInt64, RPCRequestHead, payload: ByteBuffer)
    case answer(id: UInt64, payload: ByteBuffer)
    case answerPart(id: UInt64, payload: ByteBuffer)
    case error(id: UInt64, code: RPCError.Code, payload: ByteBuffer)
    case cancel(id: UInt64)
    case goaway
    case ping
    case pong

    enum Kind: UInt8 {
        case challenge = 1
        case hello = 2
        case welcome = 3
        case request = 4
        case answer = 5
        case answerPart = 6
        case error = 7
        case cancel = 8
        case goaway = 9
        case ping = 10
        case pong = 11
    }

    /// The size of kind and call id, in bytes.
    static let headerBytes = 9
    /// The size of a request frame without its payload, in bytes.
    static let requestOverhead = headerBytes + 26
    /// The maximum size of a frame during the handshake, in bytes.
    static let handshakeLimit = 128
    /// The maximum length of a service's name, in bytes of UTF-8. A longer name is not sent.
    static let maxServiceBytes = 64
    /// The version of the protocol in this file.
    static let protocolVersion: UInt16 = 1
}

struct RPCRequestHead: Hashable, Sendable {
    var method: RPCMethod
    /// The caller's remaining time. It is relative, so that clocks need not agree.
    var remainingMicroseconds: UInt64
    var trace: TraceID

    /// The maximum duration of a call: one hour. It also prevents a peer's number from overflowing an instant.
    static let maximumMicroseconds: UInt64 = 3_600_000_000

    /// Returns the caller's remaining time to send.
    static func remaining(until deadline: ContinuousClock.Instant, from now: ContinuousClock.Instant) -> UInt64 {
        let left = (deadline - now).components
        guard left.seconds >= 0, left.attoseconds >= 0 else { return 0 }
        guard left.seconds < 3600 else { return maximumMicroseconds }
        return UInt64(left.seconds) * 1_000_000 + UInt64(left.attoseconds / 1_000_000_000_000)
    }

    /// Returns the deadline on the callee's clock.
    func deadline(from now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        now + .microseconds(Int64(min(remainingMicroseconds, RPCRequestHead.maximumMicroseconds)))
    }
}

/// An invalid frame, which closes its connection.
enum RPCFrameError: Error, Equatable {
    case tooLong(Int)
    case tooShort
    case unknownKind(UInt8)
    case truncatedBody
    case trailingBytes
    case unexpected
}
