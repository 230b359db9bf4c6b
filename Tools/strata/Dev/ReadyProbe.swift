// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import NIOCore
import NIOHTTP1

struct ReadyProbe: Sendable {
    /// The admin port on 127.0.0.1.
    let adminPort: Int

    /// Returns true if `/health/ready` answers 200.
    func isReady() async -> Bool {
        let request = HTTPClientRequest(url: "http://127.0.0.1:\(adminPort)/health/ready")
        guard let response = try? await HTTPClient.shared.execute(request, timeout: .seconds(2)) else { return false }
        _ = try? await response.body.collect(upTo: 65_536)
        return response.status == .ok
    }

    /// Polls until the service is ready.
    /// - Returns: False if the service is not ready after `limit`, or if `isHopeless` returns true.
    func wait(limit: Duration, isHopeless: @Sendable () async -> Bool = { false }) async throws -> Bool {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: limit)
        var pause = Duration.milliseconds(20)
        while clock.now < end {
            if await isReady() { return true }
            if await isHopeless() { return false }
            try await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(200))
        }
        return false
    }
}
