// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Clocks that are wrong by ten minutes. Each test has its own system.
    @Suite("clocks", .enabled(if: Facility.clocks.obstacle == nil), .timeLimit(.minutes(3)))
    struct ClockTests {
        private static var size: Cluster.Size {
            // Gateways compare the database's clock whenever they read heads.
            var size = Cluster.Size(settings: ["STRATA_HEADS_INTERVAL": "1s"])
            size.facilities = [.clocks]
            return size
        }

        /// Returns the number of seconds by which a protocol time is ahead of this machine's clock.
        private func ahead(_ text: String?) throws -> Double {
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            return try style.parse(try #require(text)).timeIntervalSinceNow
        }

        @Test(
            "a gateway with a wrong clock sends complete catch-ups, with times of the database's clock",
            arguments: [-600, 600])
        func gateway(seconds: Int) async throws {
            try await Cluster.with(Self.size) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let gateway = cluster.instances(of: .gateway)[0]
                await gateway.kill()
                try #require(gateway.clock).jump(to: seconds)
                try await gateway.start()
                try await gateway.awaitReady()
                // The client loaded its lists just before this message.
                try await users[0].send("before", to: conversation)
                let bens = try await users[1].open()
                try await bens.message("before")
                try await users[0].send("live", to: conversation)
                try await bens.message("live")
                let last = try await bens.request("Counter.read", deadline: Waiting.deadline).packet.timestamp
                for packet in bens.history { #expect(abs(try ahead(packet.timestamp)) < 60) }
                await bens.abort()
                try await users[0].send("meanwhile", to: conversation)
                let again = try await users[1].openSilent()
                let answer = try await again.request(
                    "Event.replay", data: ["from_timestamp": .string(try #require(last))], deadline: Waiting.deadline)
                #expect(answer.isSuccess && answer.data["complete"] == true)
                #expect(again.history.contains { $0.data["parts"][0]["body"] == "meanwhile" })
            }
        }

        @Test("correcting a database clock that was ahead closes all sockets, and replays require a full load")
        func putRight() async throws {
            try await Cluster.with(Self.size) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let clock = try #require(cluster.surroundings.databaseClock)
                let first = try await users[1].open()
                let before = try await users[1].view(of: conversation)["epoch"]
                try clock.jump(to: 600)
                // A gateway cannot know what it missed before a leap of the clock, so it closes its sockets.
                #expect(try await first.waitForClose(deadline: .now + .seconds(60)).code == 1001)
                let bens = try await users[1].open()
                try await eventually("packets carry times of the clock that is ahead, and the database remembers it") {
                    try await users[0].send("ahead", to: conversation)
                    try await bens.message("ahead")
                    guard try ahead(bens.history.last?.timestamp) > 500 else { return false }
                    let isMarked =
                        "(SELECT clock_mark > clock_timestamp() - interval '10 seconds' FROM conversations.epoch)"
                    return (try? await cluster.sql("DO $$ BEGIN ASSERT \(isMarked); END $$")) != nil
                }
                let last = try #require(bens.history.last?.timestamp)
                try clock.jump(to: 0)
                #expect(try await bens.waitForClose(deadline: .now + .seconds(60)).code == 1001)
                try await users[0].send("missed", to: conversation)
                let again = try await users[1].openSilent()
                let answer = try await again.request(
                    "Event.replay", data: ["from_timestamp": .string(last)], deadline: Waiting.deadline)
                #expect(answer.isSuccess && answer.data["complete"] == false)
                #expect(answer.data["epoch"].string != nil && answer.data["epoch"] != before)
                #expect(try await users[1].view(of: conversation)["epoch"] == answer.data["epoch"])
            }
        }
    }
}
