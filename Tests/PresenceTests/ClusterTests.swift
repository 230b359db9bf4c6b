// SPDX-License-Identifier: Apache-2.0

import LocalServers
import NIOPosix
import Redis
import StrataModel
import Testing

@testable import Presence

@Suite("Presence in a Redis Cluster", .timeLimit(.minutes(2)))
struct ClusterTests {
    /// Assigns all slots with a separate client that does not use cluster mode.
    private func giveAllSlots(to fixture: PresenceFixture) async throws {
        var configuration = try RedisConfiguration(url: fixture.server.url)
        configuration.isCluster = false
        let client = RedisClient(
            configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
        try await running([client]) {
            _ = try await client.command(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"], key: nil, deadline: soon)
            var isComplete = false
            while !isComplete {
                let info = try await client.command(["CLUSTER", "INFO"], key: nil, deadline: soon)
                isComplete = info.string?.contains("cluster_state:ok") == true
            }
        }
    }

    @Test("each script accesses and publishes keys of one slot")
    func slots() async throws {
        let arguments = ["--cluster-enabled", "yes", "--cluster-port", "\(try LoopbackPort.free())"]
        try await PresenceFixture.run(arguments: arguments) { fixture in
            try await giveAllSlots(to: fixture)
            let redis = RedisClient(
                configuration: try RedisConfiguration(url: fixture.server.url),
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
            let typing = TypingStore(redis: redis, settings: .short, timeout: .seconds(5))
            let presence = PresenceStore(redis: redis, periods: .short, timeout: .seconds(5))
            try await running([redis]) {
                for _ in 0..<20 {
                    let outcome = try await typing.event(signal(.random(), "a}{b", .started), deadline: soon)
                    #expect(outcome == .transition)
                    let user = PresenceStore.User(app: .random(), id: UserID(trusted: "}{\(AppID.random())"))
                    try await presence.set(.busy, of: 1, for: user, deadline: soon)
                    let found = try await presence.find([user], deadline: soon)
                    #expect(found.map(\.presence.status) == [.busy])
                }
                var isDone = false
                while !isDone {
                    let findings = await typing.sweep(Array(0..<64)) + presence.sweep(Array(0..<64))
                    try #require(!findings.contains(.failed))
                    isDone = findings.allSatisfy { $0 == .nothing(next: nil) }
                }
            }
        }
    }
}
