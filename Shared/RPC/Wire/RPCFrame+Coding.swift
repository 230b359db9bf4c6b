// SPDX-License-Identifier: Apache-2.0

import NIOCore

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
