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

extension RPCFrame {
    /// Parses a frame after its length. Payloads are slices of `body` and not copied.
    init(body: inout ByteBuffer) throws(RPCFrameError) {
        guard let rawKind: UInt8 = body.readInteger(), let id: UInt64 = body.readInteger() else { throw .tooShort }
        guard let kind = Kind(rawValue: rawKind) else { throw .unknownKind(rawKind) }
        switch kind {
        case .challenge, .hello, .welcome:
            self = try RPCFrame.handshake(kind, from: &body)
        case .request:
            self = try RPCFrame.request(withID: id, from: &body)
        case .answer:
            self = .answer(id: id, payload: body)
        case .answerPart:
            self = .answerPart(id: id, payload: body)
        case .error:
            guard let raw: UInt16 = body.readInteger() else { throw .truncatedBody }
            // An unknown code of a later version is an internal error.
            self = .error(id: id, code: .init(base: .init(rawValue: raw) ?? .internal), payload: body)
        case .cancel:
            self = try RPCFrame.ended(body, after: .cancel(id: id))
        case .goaway:
            self = try RPCFrame.ended(body, after: .goaway)
        case .ping:
            self = try RPCFrame.ended(body, after: .ping)
        case .pong:
            self = try RPCFrame.ended(body, after: .pong)
        }
    }

    private static func ended(_ body: ByteBuffer, after frame: RPCFrame) throws(RPCFrameError) -> RPCFrame {
        guard body.readableBytes == 0 else { throw .trailingBytes }
        return frame
    }

    private static func handshake(_ kind: Kind, from body: inout ByteBuffer) throws(RPCFrameError) -> RPCFrame {
        if kind == .welcome {
            guard let proof = RPCProof(from: &body) else { throw .truncatedBody }
            guard body.readableBytes == 0 else { throw .trailingBytes }
            return .welcome(proof: proof)
        }
        guard let version: UInt16 = body.readInteger(), let nonce = RPCNonce(from: &body) else { throw .truncatedBody }
        if kind == .challenge {
            // Earlier servers do not send their service. Later ones may send more data, which is ignored.
            let service = body.readLengthPrefixedSlice(as: UInt8.self)
                .flatMap { String(validating: $0.readableBytesView, as: UTF8.self) }
            return .challenge(version: version, nonce: nonce, service: service)
        }
        guard let proof = RPCProof(from: &body) else { throw .truncatedBody }
        return .hello(version: version, nonce: nonce, proof: proof)
    }

    private static func request(withID id: UInt64, from body: inout ByteBuffer) throws(RPCFrameError) -> RPCFrame {
        guard let (method, remaining, high, low) = body.readMultipleIntegers(as: (UInt16, UInt64, UInt64, UInt64).self)
        else { throw .truncatedBody }
        let head = RPCRequestHead(
            method: RPCMethod(rawValue: method), remainingMicroseconds: remaining, trace: TraceID(high: high, low: low))
        return .request(id: id, head, payload: body)
    }
}

extension ByteBuffer {
    /// Appends a whole frame and copies its payload. For a payload too long to copy, append the head with a method
    /// below, and write the payload after it.
    mutating func writeFrame(_ frame: RPCFrame) {
        switch frame {
        case .challenge(let version, let nonce, let service):
            let name = service.map { Array($0.utf8) }.flatMap { $0.count <= RPCFrame.maxServiceBytes ? $0 : nil }
            writeFrameHead(.challenge, id: 0, bodyBytes: 2 + RPCNonce.byteCount + (name.map { 1 + $0.count } ?? 0))
            writeInteger(version)
            writeBytes(nonce.bytes)
            if let name {
                writeInteger(UInt8(name.count))
                writeBytes(name)
            }
        case .hello(let version, let nonce, let proof):
            writeFrameHead(.hello, id: 0, bodyBytes: 2 + RPCNonce.byteCount + RPCProof.byteCount)
            writeInteger(version)
            writeBytes(nonce.bytes)
            writeBytes(proof.bytes)
        case .welcome(let proof):
            writeFrameHead(.welcome, id: 0, bodyBytes: RPCProof.byteCount)
            writeBytes(proof.bytes)
        case .request(let id, let head, let payload):
            writeRequestHead(id: id, head, payloadBytes: payload.readableBytes)
            writeImmutableBuffer(payload)
        case .answer(let id, let payload):
            writeFrameHead(.answer, id: id, bodyBytes: payload.readableBytes)
            writeImmutableBuffer(payload)
        case .answerPart(let id, let payload):
            writeFrameHead(.answerPart, id: id, bodyBytes: payload.readableBytes)
            writeImmutableBuffer(payload)
        case .error(let id, let code, let payload):
            writeFrameHead(.error, id: id, bodyBytes: 2 + payload.readableBytes)
            writeInteger(code.base.rawValue)
            writeImmutableBuffer(payload)
        case .cancel(let id):
            writeFrameHead(.cancel, id: id, bodyBytes: 0)
        case .goaway:
            writeFrameHead(.goaway, id: 0, bodyBytes: 0)
        case .ping:
            writeFrameHead(.ping, id: 0, bodyBytes: 0)
        case .pong:
            writeFrameHead(.pong, id: 0, bodyBytes: 0)
        }
    }

    /// Appends the part of a frame before its body.
    mutating func writeFrameHead(_ kind: RPCFrame.Kind, id: UInt64, bodyBytes: Int) {
        writeMultipleIntegers(UInt32(RPCFrame.headerBytes + bodyBytes), kind.rawValue, id)
    }

    /// Appends the part of a request before its payload.
    mutating func writeRequestHead(id: UInt64, _ head: RPCRequestHead, payloadBytes: Int) {
        writeFrameHead(.request, id: id, bodyBytes: RPCFrame.requestOverhead - RPCFrame.headerBytes + payloadBytes)
        writeMultipleIntegers(head.method.rawValue, head.remainingMicroseconds, head.trace.high, head.trace.low)
    }
}

/// A parser that splits a byte stream into frames.
///
/// A length is checked against the limit before bytes are stored. A claimed length alone reserves no memory: the buffer
/// grows with the received data.
struct RPCFrameReader {
    private var buffer = ByteBuffer()

    /// Appends received bytes. Call ``next(limit:)`` until it returns nil before the next append.
    mutating func append(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        // Slices share the old storage, so appending to it would copy all of it, including bytes already read. Copy
        // only the unread bytes. A frame longer than one read then grows in place.
        if buffer.readerIndex > 0 {
            var fresh = ByteBufferAllocator().buffer(capacity: buffer.readableBytes + bytes.readableBytes)
            fresh.writeImmutableBuffer(buffer)
            buffer = fresh
        }
        buffer.writeImmutableBuffer(bytes)
    }

    /// Returns the next complete frame, or nil if it has not arrived yet.
    /// - Parameter limit: the maximum size of a frame in bytes, without its length field.
    mutating func next(limit: Int) throws(RPCFrameError) -> RPCFrame? {
        guard let length: UInt32 = buffer.getInteger(at: buffer.readerIndex) else { return nil }
        guard length <= limit else { throw .tooLong(Int(length)) }
        guard length >= RPCFrame.headerBytes else { throw .tooShort }
        guard buffer.readableBytes >= 4 + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: 4)
        guard var body = buffer.readSlice(length: Int(length)) else { throw .truncatedBody }
        return try RPCFrame(body: &body)
    }
}

/// A writer that collects the frames of one tick and sends them with one flush. Small frames share a buffer, because
/// copying 350 bytes costs less than another entry in the socket's vector.
///
/// The writer is a class because a flush can be reentrant: a socket that becomes writable reports it immediately, and
/// more is written.
final class RPCFrameWriter {
    /// The maximum size of a payload that is copied, in bytes.
    private static let copyLimit = 8192

    private var buffer = ByteBuffer()
    private var nextCapacity = 512
    private var hasWritten = false

    func writeFrame(_ frame: RPCFrame) {
        makeRoom()
        buffer.writeFrame(frame)
    }

    /// Adds a frame whose head is written by `head`. A long payload is not copied.
    func writeFrame(payload: ByteBuffer, to context: ChannelHandlerContext?, head: (inout ByteBuffer) -> Void) {
        makeRoom()
        head(&buffer)
        guard payload.readableBytes > RPCFrameWriter.copyLimit, let context else {
            buffer.writeImmutableBuffer(payload)
            return
        }
        context.write(NIOAny(takeBuffer()), promise: nil)
        context.write(NIOAny(payload), promise: nil)
        hasWritten = true
    }

    /// Sends the collected frames.
    /// - Parameter promise: completed when the socket has accepted all of them.
    func flush(to context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        guard buffer.readableBytes > 0 || promise != nil else {
            if hasWritten { context.flush() }
            hasWritten = false
            return
        }
        hasWritten = false
        context.writeAndFlush(NIOAny(takeBuffer()), promise: promise)
    }

    private func takeBuffer() -> ByteBuffer {
        let full = buffer
        nextCapacity = min(max(512, full.readableBytes), 65_536)
        buffer = ByteBuffer()
        return full
    }

    private func makeRoom() {
        if buffer.capacity == 0 { buffer = ByteBufferAllocator().buffer(capacity: nextCapacity) }
    }
}
