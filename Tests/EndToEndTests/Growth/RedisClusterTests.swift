// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    /// docs/architecture.md §11: pub/sub and presence scale with a Redis Cluster.
    @Suite("a Redis Cluster of three masters")
    struct RedisClusterTests {
        @Test("the demo passes, every user receives all changes, and each master holds a share of the keys")
        func all() async throws {
            let redis = try await RedisCluster.start()
            let settings = ["STRATA_REDIS_URL": redis.url, "STRATA_TYPING_PAUSE": "1s", "STRATA_TYPING_FINISH": "1s"]
            try await Cluster.with(Cluster.Size(gateways: 2, presence: 2, settings: settings)) { cluster in
                let app = try await cluster.app()
                let exit = try await ChildProcess.run(
                    Launch(try Executables.find("strata"), arguments: DemoTests.arguments(app, cluster.urls)),
                    timeout: .seconds(240))
                #expect(exit.status == 0, "\(exit.output)")
                try await Self.chat(cluster)
                for server in redis.masters {
                    let calls = try await Self.calls(of: ["spublish", "evalsha", "ssubscribe"], on: server)
                    #expect(calls.allSatisfy { $0.value > 0 } && calls.count == 3, "\(server.port): \(calls)")
                }
            }
            await redis.stop()
        }

        private static func calls(of commands: [String], on server: PrivateRedis) async throws -> [String: Int] {
            let lines = try await server.run("INFO", "commandstats").split(whereSeparator: \.isNewline)
            var calls: [String: Int] = [:]
            for line in lines {
                guard let match = line.firstMatch(of: /^cmdstat_([a-z]+)[^:]*:calls=([0-9]+)/),
                    commands.contains(String(match.1))
                else { continue }
                calls[String(match.1)] = Int(match.2)
            }
            return calls
        }

        /// Uses enough conversations and users that each master owns some of them.
        private static func chat(_ cluster: Cluster) async throws {
            let users = try await cluster.app().signIn((0..<12).map { "user\($0)" })
            var sockets: [ProtocolSocket] = []
            for user in users { sockets.append(try await user.open()) }
            for (index, user) in users.enumerated() {
                let other = (index + 1) % users.count
                let conversation = try await user.converse(with: [users[other]], distinct: false)
                for socket in [sockets[index], sockets[other]] {
                    try await socket.change("create", "Conversation", conversation.id)
                }
                try await sockets[index].typing("started", in: conversation.id)
                _ = try await sockets[other]
                    .nextPacket("typing", deadline: Waiting.deadline) {
                        $0.isTyping("started", conversation: conversation.id)
                    }
                let message = try await user.send("text \(index)", to: conversation)
                try await sockets[other].change("create", "Message", message)
                _ = try await sockets[index]
                    .ask("Presence.update", nil, [["operation": "set", "property": "status", "value": "busy"]])
            }
            for socket in sockets { await socket.close() }
        }
    }
}
