// SPDX-License-Identifier: Apache-2.0

import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("metrics of content storage")
    struct ContentRoomTests {
        @Test("a gateway's metrics contain the size and the free space of the content storage")
        func metrics() async throws {
            for gateway in try await Cluster.shared().instances(of: .gateway) {
                try await eventually("it has looked") {
                    try await gateway.metric("strata_gateway_content_size_bytes") > 0
                }
                let (free, size) = (
                    try await gateway.metric("strata_gateway_content_free_bytes"),
                    try await gateway.metric("strata_gateway_content_size_bytes")
                )
                #expect(free > 0 && free <= size)
            }
        }
    }
}
