// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzValues
import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// Sends nearly valid and invalid frames. Now and then it reads the counter: an open socket must answer.
struct SocketFuzzer {
    var values: FuzzValues
    let targets: FuzzTargets
    let port: Int
    let tally: FuzzTally
    private var connection: RawConnection?
    private var recent: [[UInt8]] = []
    private var asked = 0
    /// True if an unfinished frame was sent. The server may wait for the rest of it.
    private var isBroken = false

    init(seed: UInt64, targets: FuzzTargets, port: Int, tally: FuzzTally) {
        values = FuzzValues(seed: seed)
        (self.targets, self.port, self.tally) = (targets, port, tally)
    }

    mutating func one() async throws {
        let connection = if let open = self.connection, !open.isClosed { open } else { try await open() }
        self.connection = connection
        tally.sent()
        let bytes = frame()
        recent.append(bytes)
        if values.generator.chance(10), bytes.count < 3000 {
            for byte in stride(from: 0, to: bytes.count, by: 97) {
                await connection.send(Array(bytes[byte..<min(bytes.count, byte + 97)]))
            }
        } else {
            await connection.send(bytes)
        }
        if recent.count >= 6 { await check(connection) }
    }

    mutating func drop() async {
        await connection?.close(reset: values.generator.chance(50))
        connection = nil
        recent = []
        isBroken = false
    }

    private mutating func open() async throws -> RawConnection {
        await drop()
        let connection = try await RawConnection.open(port: port)
        let (token, version) = (targets.user.token, targets.user.version.subprotocol)
        await connection.send(
            Array(
                ("GET /?session_token=\(token) HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: \(version)\r\n\r\n")
                    .utf8))
        if case .value(let answer) = await connection.answer(within: .seconds(30)) {
            tally.saw("socket \(answer.status)")
            if answer.status != 101 {
                tally.fail(
                    "a socket was answered with \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
            }
        } else {
            tally.fail("a socket was not opened")
        }
        return connection
    }

    // MARK: Reading

    /// Checks all received frames, up to the answer to a valid request.
    private mutating func check(_ connection: RawConnection) async {
        asked += 1
        let id = "check\(asked)"
        await connection.send(
            Self.encode(1, Array(#"{"type":"request","body":{"request_id":"\#(id)","method":"Counter.read"}}"#.utf8)))
        while true {
            switch await connection.frame(within: isBroken ? .milliseconds(150) : .seconds(30)) {
            case .value(let frame):
                if frame.opcode == 8 {
                    let code = frame.payload.prefix(2).reduce(0) { $0 << 8 | Int($1) }
                    tally.saw("closed \(code)")
                    return await drop()
                }
                if frame.opcode == 1, answers(frame.payload, id) {
                    recent = []
                    return
                }
            case .closed:
                tally.saw("closed without a code")
                return await drop()
            case .silence where isBroken:
                tally.saw("socket waits for more")
                return await drop()
            case .silence:
                fail("a socket was neither answered nor closed")
                return await drop()
            case .garbage(let words):
                fail(words)
                return await drop()
            }
        }
    }

    private func answers(_ payload: [UInt8], _ id: String) -> Bool {
        guard let packet = try? JSONValue(parsing: payload) else {
            fail("a packet that is no JSON: \(String(decoding: payload.prefix(300), as: UTF8.self))")
            return false
        }
        let body = packet["body"]
        if packet["type"].string == "response" {
            if body["request_id"].string == id { return true }
            let refusal = body["success"].bool == true ? "success" : body["data"]["id"].string ?? "no error id"
            tally.saw("answer \(refusal)")
            if refusal == "internal_server_error" || refusal == "no error id" { fail("\(body)") }
        }
        return false
    }

    private func fail(_ words: String) {
        let shown = recent.map {
            $0.count <= 2000
                ? Data($0).base64EncodedString() : "\($0.count) bytes \(Data($0.prefix(200)).base64EncodedString())…"
        }
        tally.fail("\(words), after the frames \(shown.joined(separator: " "))")
    }

    // MARK: Frames

    private mutating func frame() -> [UInt8] {
        let valid = values.generator.pick(targets.packets(&values))
        let kind = values.generator.int(0...39)
        if [32, 34, 37].contains(kind) || kind > 38 { isBroken = true }
        switch kind {
        case 0...19: return Self.encode(1, Array(values.mutated(valid).text.utf8))
        case 20...24: return Self.encode(1, Array(valid.text.utf8))
        case 25...29: return Self.encode(1, values.body(from: valid))
        case 30...31: return Self.encode(1, values.mutated(Array(valid.text.utf8)))
        case 32: return fragmented(Array(values.mutated(valid).text.utf8))
        case 33: return Self.encode(UInt8(values.generator.int(0...15)), values.bytes(values.generator.int(0...200)))
        case 34: return values.bytes(values.generator.int(1...300))
        case 35: return Self.encode(1, Array(valid.text.utf8), isMasked: false)
        case 36: return Self.encode(9, values.bytes(values.generator.pick([0, 125, 126, 400])))
        case 37: return lying()
        case 38: return Self.encode(8, values.bytes(values.generator.pick([0, 1, 2, 40])))
        default: return values.mutated(Self.encode(1, Array(valid.text.utf8)))
        }
    }

    /// Returns one message in several frames, perhaps with a ping in between, perhaps without an end.
    private mutating func fragmented(_ bytes: [UInt8]) -> [UInt8] {
        var (rest, frames, opcode) = (bytes[...], [UInt8](), UInt8(1))
        while !rest.isEmpty {
            let piece = Array(rest.prefix(values.generator.int(1...60)))
            rest = rest.dropFirst(piece.count)
            frames += Self.encode(opcode, piece, isFinal: rest.isEmpty && !values.generator.chance(10))
            opcode = values.generator.chance(5) ? 1 : 0
            if values.generator.chance(10) { frames += Self.encode(9, []) }
        }
        return frames
    }

    /// Returns a frame header with a length that exceeds the data or the maximum.
    private mutating func lying() -> [UInt8] {
        let length = values.generator.pick(
            [
                [126, 0, 1], [126, 0xFF, 0xFF], [127, 0, 0, 0, 0, 0, 0x20, 0, 0],
                [127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
                [127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [127, 0, 0, 0, 0, 0, 0, 0, 5],
            ] as [[UInt8]])
        return [0x81 | (values.generator.chance(20) ? 0x40 : 0), 0x80 | length[0]] + length.dropFirst()
            + values.bytes(values.generator.int(4...100))
    }

    static func encode(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool = true) -> [UInt8] {
        var bytes: [UInt8] = [opcode | (isFinal ? 0x80 : 0)]
        let flag: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case 0..<126: bytes.append(flag | UInt8(payload.count))
        case 126..<65_536: bytes += [flag | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: bytes += [flag | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        guard isMasked else { return bytes + payload }
        let mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
    }
}
