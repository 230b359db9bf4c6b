// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("HEAD")
    struct HeadTests {
        /// A regression test for a fault found by fuzzing: the body of the refusal was parsed as the beginning of the
        /// next answer.
        @Test(
            "a refused HEAD has no body, so that the connection can serve the next request",
            arguments: ["/conversations", "/nowhere"])
        func refused(_ path: String) async throws {
            let cluster = try await Cluster.shared()
            let port = try #require(URL(string: cluster.urls[0])?.port)
            let connection = try await RawConnection.open(port: port)
            for _ in 0..<2 {
                await connection.send(Array("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
                guard case .value(let head) = await connection.answer(isBodiless: true, within: Waiting.limit) else {
                    Issue.record("HEAD was not answered")
                    return
                }
                #expect((400..<500).contains(head.status))
                await connection.send(Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
                guard case .value(let next) = await connection.answer(within: Waiting.limit) else {
                    Issue.record("the request after it was not answered by HTTP")
                    return
                }
                #expect(next.status == 200)
            }
            await connection.close()
        }
    }
}
