// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("early frames")
    struct EarlyFrameTests {
        /// A regression test for a fault found by fuzzing: the gateway crashed because it parsed the bytes after the
        /// handshake as HTTP.
        @Test("frames in the same segment as the handshake are answered after it, or dropped if it is refused")
        func early() async throws {
            let cluster = try await Cluster.shared()
            let user = try await cluster.app().signIn("ana")
            let port = try #require(URL(string: cluster.urls[0])?.port)
            let frame = SocketFuzzer.encode(
                1, Array(#"{"type":"request","body":{"request_id":"early","method":"Counter.read"}}"#.utf8))
            for token in [user.token, "none"] {
                let connection = try await RawConnection.open(port: port)
                let head =
                    "GET /?session_token=\(token) HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: layer-3.0\r\n\r\n"
                await connection.send(Array(head.utf8) + frame + frame.dropLast(3))
                guard case .value(let answer) = await connection.answer(within: Waiting.limit) else {
                    Issue.record("the handshake was not answered")
                    return
                }
                #expect(answer.status == (token == user.token ? 101 : 401))
                if answer.status == 101 {
                    guard case .value(let first) = await connection.frame(within: Waiting.limit) else {
                        Issue.record("the early frame was not answered")
                        return
                    }
                    #expect(String(decoding: first.payload, as: UTF8.self).contains("early"))
                }
                await connection.close()
            }
            #expect(await cluster.instances(of: .gateway)[0].pid != nil)
        }
    }
}
