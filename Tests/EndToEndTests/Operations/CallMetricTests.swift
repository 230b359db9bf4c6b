// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("metrics of calls between services")
    struct CallMetricTests {
        @Test("each metric of a call has its method's name")
        func names() async throws {
            let cluster = try await Cluster.shared()
            let users = try await cluster.app().signIn(["ana", "ben"])
            let (anas, bens) = (try await users[0].open(), try await users[1].open())
            let conversation = try await users[0].converse(with: [users[1]])
            try await users[0].send("hello", to: conversation)
            _ = try await bens.message("hello")
            try await users[0]
                .does(
                    "PATCH", layerPath(conversation.id),
                    [["operation": "set", "property": "metadata.topic", "value": "names"]])
            try await anas.typing("started", in: conversation.id)
            #expect(try await sum(.gateway, "strata_rpc_client_calls_total", #"method="sendMessage""#) >= 1)
            #expect(try await sum(.conversations, "strata_rpc_server_calls_total", #"method="sendMessage""#) >= 1)
            #expect(try await sum(.metadata, "strata_rpc_server_calls_total", #"method="patchMetadata""#) >= 1)
            try await eventually("typing is counted") {
                try await sum(.presence, "strata_rpc_server_calls_total", #"method="typing""#) >= 1
            }
            for process in cluster.processes {
                let metrics = try await SecretTests.admin(process, "/metrics")
                #expect(metrics.matches(of: /method="\d+"/).isEmpty, "\(process.name)")
            }
        }

        private func sum(_ kind: ServiceProcess.Kind, _ name: String, _ label: String) async throws -> Double {
            var sum = 0.0
            for process in try await Cluster.shared().instances(of: kind) {
                sum += try await process.metric(name, label)
            }
            return sum
        }
    }
}
