// SPDX-License-Identifier: Apache-2.0
@testable import Presence

/// How large a world of typists is and what goes wrong in it, drawn from the seed.
struct TypingScenario {
    /// What the simulated shells leave undone, to show that the simulation would notice.
    enum Sabotage: String, CaseIterable, Sendable {
        /// No instance sweeps: deadlines pass unnoticed.
        case noSweep
        /// Gateways never end what no service speaks of any more.
        case noSilence
        /// Taking what is due and announcing it are two steps, which two instances may both do.
        case announcedTwice
        /// A shard with nothing due is left alone for too long.
        case longRest
        /// Gateways know the default periods only, whatever the presence service was told.
        case fixedSilence
    }

    var sabotage: Sabotage?
    var typists = 6
    var shards = 4
    /// Those of all presence instances. No gateway is told.
    var settings = TypingSettings()
    var gateways = 2
    var instances = 2
    /// Virtual microseconds in which things happen; then it is quiet.
    var duration: Int64 = 300_000_000
    var quiet: Int64 = 120_000_000
    /// Of a thousand publications to one gateway.
    var lost = 0
    /// Of a thousand calls.
    var failingCalls = 0
    /// Mean time between two faults of Redis.
    var faultPace: Int64 = .max / 4

    init(_ simulation: Simulation, sabotage: Sabotage? = nil) {
        self.sabotage = sabotage
        typists = simulation.int(1...12)
        gateways = simulation.int(1...3)
        instances = simulation.int(1...3)
        lost = [0, 0, 10, 200][simulation.int(0...3)]
        failingCalls = [0, 10, 100][simulation.int(0...2)]
        faultPace = [.max / 4, .max / 4, 40_000_000, 120_000_000][simulation.int(0...3)]
        settings.pauseAfter = .seconds([10, 10, 2, 45][simulation.int(0...3)])
        settings.finishAfter = .seconds([10, 10, 3, 30][simulation.int(0...3)])
    }
}
