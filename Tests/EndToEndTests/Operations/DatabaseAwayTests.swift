// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    @Suite("one of several databases is away", .timeLimit(.minutes(3)))
    struct DatabaseAwayTests {
        /// Two users of an app in one of the databases. Ben has a socket.
        private struct Scene {
            let app: TestApp
            let ana: TestUser
            let conversation: Conversation
            let socket: ProtocolSocket

            init(_ cluster: Cluster, _ database: String) async throws {
                app = try await cluster.app(in: database)
                ana = try await app.signIn("ana")
                let ben = try await app.signIn("ben", via: 1)
                conversation = try await ana.converse(with: [ben])
                socket = try await ben.open()
            }

            func send(_ text: String) async throws -> RESTResponse {
                try await ana.call("POST", conversation.path + "/messages", TestUser.message(text))
            }

            /// Sends a message and waits until Ben's socket has it.
            func exchange(_ text: String) async throws {
                try await ana.send(text, to: conversation)
                _ = try await socket.message(text)
            }
        }

        @Test("only the apps of a database that is away are refused, and their sockets stay open")
        func away() async throws {
            var size = Cluster.Size(gateways: 2, conversations: 2)
            size.databases = 2
            try await Cluster.with(size) { cluster in
                let urls = cluster.databases.urls
                let (works, waits) = (try await Scene(cluster, urls[0]), try await Scene(cluster, urls[1]))
                for scene in [works, waits] { try await scene.exchange("before") }
                let name = try #require(URL(string: urls[1])?.lastPathComponent)
                try await cluster.postgres.runSQL("ALTER DATABASE \"\(name)\" ALLOW_CONNECTIONS false")
                try await cluster.postgres.runSQL(
                    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.datname = '\(name)'")
                try await eventually("the app of the database that is away is refused") {
                    try await waits.send("refused").status == 503
                }
                for text in ["one", "two", "three"] { try await works.exchange(text) }
                let cleo = try await works.app.signIn("cleo")
                try await cleo.open().close()
                let refusal = try await waits.send("refused")
                #expect(refusal.status == 503 && refusal.json["id"].string == "service_unavailable")
                for process in cluster.processes { #expect(try await process.health("/health/ready") == 200) }

                try await cluster.postgres.runSQL("ALTER DATABASE \"\(name)\" ALLOW_CONNECTIONS true")
                try await eventually("the app is served again") { try await waits.send("again").isSuccess }
                for process in cluster.instances(of: .conversations) {
                    try await eventually("\(process.name) is connected again") {
                        try await process.series("strata_process_dependency_up", "dependency=\"postgres\"")
                            .allSatisfy { $0 == 1 }
                    }
                }
                try await waits.exchange("after")
                try await works.exchange("after")
            }
        }
    }
}
