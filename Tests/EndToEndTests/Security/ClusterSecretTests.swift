// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NIOPosix
import ProtocolClient
import RPC
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("the cluster secret")
    struct ClusterSecretTests {
        private func call(_ process: ServiceProcess, secret: String) async throws -> RPCError? {
            let port = try #require(process.environment["STRATA_RPC_PORT"].flatMap { Int($0) })
            let configuration = RPCClientConfiguration(
                target: .fixed([RPCEndpoint(host: "127.0.0.1", port: port)]), clusterSecret: secret, name: "stranger")
            let client = RPCClient(
                configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await client.run() }
                defer { group.cancelAll() }
                do {
                    _ = try await client.call(
                        RPCMethod(rawValue: 65_535), with: ByteBuffer(), deadline: .now + Waiting.limit,
                        trace: .random())
                    return nil
                } catch let error as RPCError {
                    return error
                }
            }
        }

        @Test(
            "services answer a call only with the cluster secret",
            arguments: [ServiceProcess.Kind.conversations, .metadata, .presence])
        func services(_ kind: ServiceProcess.Kind) async throws {
            let process = try await Cluster.shared().instances(of: kind)[0]
            for secret in [
                "", "x", Cluster.secret + " ", Cluster.secret.uppercased(), String(Cluster.secret.dropLast()),
            ] {
                #expect(try await call(process, secret: secret) == .unauthenticated, "\(secret)")
            }
            // The method does not exist. Only an authenticated caller is told so.
            #expect(try await call(process, secret: Cluster.secret) == .unknownMethod)
            let metrics = try await SecretTests.admin(process, "/metrics")
            let refused = metrics.split(separator: "\n")
                .first { $0.hasPrefix("strata_rpc_server_refused_connections_total") }
            #expect(refused.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) } ?? 0 >= 5)
        }

        @Test("services do not answer HTTP")
        func http() async throws {
            for kind in [ServiceProcess.Kind.conversations, .metadata, .presence] {
                let process = try await Cluster.shared().instances(of: kind)[0]
                let port = try #require(process.environment["STRATA_RPC_PORT"].flatMap { Int($0) })
                let connection = try await RawConnection.open(port: port)
                await connection.send(Array("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
                try await eventually("the connection is kept") { connection.isClosed }
            }
        }

        @Test("a health check reports the state of a process and nothing about users")
        func health() async throws {
            let cluster = try await Cluster.shared()
            let user = try await cluster.app().signIn("whoever-\(UInt32.random(in: .min ... .max))")
            let conversation = try await user.converse(with: [])
            for process in cluster.processes {
                for path in ["/health/live", "/health/ready", "/metrics"] {
                    let text = try await SecretTests.admin(process, path)
                    for secret in [user.user, user.token, conversation.id, user.app.id] {
                        #expect(!text.contains(secret), "\(process.name) \(path)")
                    }
                }
            }
        }
    }
}
