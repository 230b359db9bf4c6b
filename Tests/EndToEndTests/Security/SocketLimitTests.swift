// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    /// Frames that violate RFC 6455 or the server's limits. Each affects its own socket only.
    @Suite("forbidden frames")
    struct SocketLimitTests {
        private func handshake(_ user: TestUser, _ headers: String = "") -> [UInt8] {
            Array(
                """
                GET /?session_token=\(user.token) HTTP/1.1\r
                Host: x\r
                Connection: Upgrade\r
                Upgrade: websocket\r
                Sec-WebSocket-Version: 13\r
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
                Sec-WebSocket-Protocol: layer-3.0\r
                \(headers)\r

                """
                .utf8)
        }

        /// Returns the bytes of a frame, masked with zeros.
        private static func frame(
            _ first: UInt8, _ payload: [UInt8], isMasked: Bool = true, length: UInt64? = nil
        ) -> [UInt8] {
            let mask: UInt8 = isMasked ? 0x80 : 0
            let length = length ?? UInt64(payload.count)
            var bytes = [first]
            switch length {
            case 0..<126: bytes.append(mask | UInt8(length))
            case 126..<65_536: bytes += [mask | 126, UInt8(length >> 8), UInt8(length & 0xff)]
            default:
                bytes += [mask | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * UInt64($0))) }
            }
            return bytes + (isMasked ? [0, 0, 0, 0] : []) + payload
        }

        private static let long = Array(repeating: UInt8(ascii: "x"), count: 126)
        private static let half = Array(repeating: UInt8(ascii: "x"), count: 600_000)

        /// The frames sent after the handshake, and the close codes that the server may use. nil: closed without a
        /// code.
        private static let cases: [(what: String, frames: [[UInt8]], codes: Set<Int?>)] = [
            ("a reserved bit", [frame(0xC1, [0x7b, 0x7d])], [1002, nil]),
            ("another reserved bit", [frame(0x91, [0x7b, 0x7d])], [1002, nil]),
            ("a reserved opcode", [frame(0x83, [])], [1002, nil]),
            ("a reserved control opcode", [frame(0x8B, [])], [1002, nil]),
            ("a frame without a mask", [frame(0x81, Array("{}".utf8), isMasked: false)], [1002, nil]),
            ("a continuation of nothing", [frame(0x80, [0x7b])], [1002, nil]),
            ("a text in the middle of a text", [frame(0x01, [0x7b]), frame(0x81, [0x7d])], [1002, nil]),
            ("a ping of 126 bytes", [frame(0x89, long)], [1002, nil]),
            ("a pong of 126 bytes", [frame(0x8A, long)], [1002, nil]),
            ("a close of 126 bytes", [frame(0x88, long)], [1002, nil]),
            ("a ping in two pieces", [frame(0x09, [0x61])], [1002, nil]),
            ("a close with half a code", [frame(0x88, [3])], [1002, nil]),
            ("a frame of exabytes", [frame(0x81, [0x7b], length: 1 << 62)], [1002, 1009]),
            ("a frame of 2 MB", [frame(0x81, [0x7b], length: 2 << 20)], [1009]),
            ("a message of 1.2 MB in pieces", [frame(0x01, half), frame(0x00, half)], [1009]),
            ("a message of very many pieces", (0..<200).map { frame($0 == 0 ? 0x01 : 0x00, [0x20]) }, [1009]),
            ("a message of endless empty pieces", (0..<5000).map { frame($0 == 0 ? 0x01 : 0x00, []) }, [1009]),
        ]

        @Test("a forbidden frame closes its socket and no other")
        func frames() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let (user, other) = (try await app.signIn("ana", via: 0), try await app.signIn("ben", via: 0))
            let bystander = try await other.open()
            let port = try #require(URL(string: cluster.urls[0])?.port)
            for (what, frames, codes) in Self.cases {
                let connection = try await RawConnection.open(port: port)
                await connection.send(handshake(user))
                guard case .value(let answer) = await connection.answer(within: Waiting.limit), answer.status == 101
                else {
                    Issue.record("\(what): no socket")
                    continue
                }
                await connection.send(frames.flatMap { $0 })
                var outcome = await connection.frame(within: Waiting.limit)
                while case .value(let frame) = outcome, frame.opcode != 8 {
                    outcome = await connection.frame(within: Waiting.limit)
                }
                switch outcome {
                case .value(let frame):
                    let code = frame.payload.count >= 2 ? Int(frame.payload[0]) << 8 | Int(frame.payload[1]) : nil
                    #expect(codes.contains(code), "\(what): \(code ?? 0)")
                    #expect(frame.payload.count > 2, "\(what): the close frame does not say why")
                case .closed: #expect(codes.contains(nil), "\(what)")
                case .silence, .garbage: Issue.record("\(what): the socket lives on")
                }
                await connection.close()
            }
            #expect(try await bystander.ask("Counter.read").isSuccess)
            #expect(bystander.faults == [])
            await bystander.close()
        }

        @Test("a gateway does not negotiate compression")
        func compression() async throws {
            let cluster = try await Cluster.shared()
            let user = try await cluster.app().signIn("ana", via: 0)
            let connection = try await RawConnection.open(port: try #require(URL(string: cluster.urls[0])?.port))
            await connection.send(
                handshake(user, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"))
            guard case .value(let answer) = await connection.answer(within: Waiting.limit) else {
                Issue.record("no answer")
                return
            }
            #expect(answer.status == 101)
            #expect(!answer.headers.contains { $0.lowercased().hasPrefix("sec-websocket-extensions") })
            // No extension was negotiated, so this bit is reserved.
            await connection.send(Self.frame(0xC1, [0x7b, 0x7d]))
            guard case .value(let frame) = await connection.frame(within: Waiting.limit) else { return }
            #expect(frame.opcode == 8)
            await connection.close()
        }
    }
}
