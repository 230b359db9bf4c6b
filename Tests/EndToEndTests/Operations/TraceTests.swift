// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import ServiceKit
import StrataCommand
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("traces of a user's packets")
    struct TraceTests {
        private static func id(_ app: TestApp) -> String { app.app.id.uuidString.lowercased() }

        private static func path(_ app: TestApp) -> String {
            "/trace?app=\(id(app))&user=ana&seconds=60"
        }

        /// Begins a trace at a gateway and returns its connection.
        private func begin(
            _ app: TestApp, at gateway: ServiceProcess, secret: String = Cluster.secret
        ) async throws -> RawConnection {
            let code = TraceCode(app: Self.id(app), user: "ana", seconds: "60", clusterSecret: secret)
            let head = """
                GET \(Self.path(app)) HTTP/1.1\r
                host: gateway\r
                authorization: \(code.header())\r
                \r

                """
            let connection = try await RawConnection.open(port: gateway.adminPort)
            await connection.send(Array(head.utf8))
            return connection
        }

        private func wait(_ connection: RawConnection, for text: String) async throws -> String {
            try #require(await connection.received(containing: text, within: Waiting.limit), "no \(text)")
        }

        @Test("a trace shows what a user's sockets receive and send as it happens, and only at the admin port")
        func live() async throws {
            let cluster = try await Cluster.shared()
            let gateway = try #require(cluster.instances(of: .gateway).first)
            let app = try await cluster.app()
            let users = try await app.signIn(["ana", "ben"])
            let conversation = try await users[0].converse(with: [users[1]])
            let trace = try await begin(app, at: gateway)
            _ = try await wait(trace, for: "200 OK")
            let anas = try await users[0].open(via: 0)
            _ = try await wait(trace, for: #""event":"opened"}"#)
            try await users[1].send("hello", to: conversation)
            _ = try await wait(trace, for: #""body":"hello""#)
            try await anas.typing("started", in: conversation.id)
            _ = try await wait(trace, for: #""direction":"in","packet":{"#)
            await anas.close()
            let all = try await wait(trace, for: #""event":"closed"}"#)
            #expect(all.contains(#""direction":"out","packet":{"#))
            await trace.close()
            let client = cluster.client(0, .v3)
            #expect(try await client.call("GET", Self.path(app), deadline: Waiting.deadline).status == 404)
        }

        @Test("without the cluster secret there is no trace; a closed connection makes room for another one")
        func limits() async throws {
            let cluster = try await Cluster.shared()
            let gateway = try #require(cluster.instances(of: .gateway).first)
            let app = try await cluster.app()
            let stranger = try await begin(app, at: gateway, secret: Cluster.webhooksSecret)
            _ = try await wait(stranger, for: "401 Unauthorized")
            var traces: [RawConnection] = []
            for _ in 0..<4 {
                traces.append(try await begin(app, at: gateway))
                _ = try await wait(traces[traces.count - 1], for: "200 OK")
            }
            let fifth = try await begin(app, at: gateway)
            _ = try await wait(fifth, for: "503 Service Unavailable")
            await traces[0].close()
            try await eventually("there is no room after a trace has ended") {
                let next = try await begin(app, at: gateway)
                let head = await next.received(containing: "HTTP/1.1", within: Waiting.limit)
                await next.close()
                return head?.contains("200 OK") == true
            }
            for connection in traces + [stranger, fifth] { await connection.close() }
        }
    }
}
