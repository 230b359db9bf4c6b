// SPDX-License-Identifier: Apache-2.0
@testable import Presence

/// The size and the faults of a world of typists, drawn from the seed.
struct TypingScenario {
    /// A rule that the simulated shells leave out, to show that the simulation detects it.
    enum Sabotage: String, CaseIterable, Sendable {
        /// No instance sweeps, so deadlines are missed.
        case noSweep
        /// Gateways never end indicators without announcements.
        case noSilence
        /// Taking a due entry and announcing it are separate steps, which two instances may both execute.
        case announcedTwice
        /// A shard with nothing due is not swept for too long.
        case longRest
        /// Gateways only know the default periods, regardless of the presence service's settings.
        case fixedSilence
    }

    var sabotage: Sabotage?
    var typists = 6
    var shards = 4
    /// The settings of all presence instances. Gateways are not informed of them.
    var settings = TypingSettings()
    var gateways = 2
    var instances = 2
    /// The duration of the active phase, in virtual microseconds. A quiet phase follows.
    var duration: Int64 = 300_000_000
    var quiet: Int64 = 120_000_000
    /// The number of lost publications to one gateway, per thousand.
    var lost = 0
    /// The number of failing calls, per thousand.
    var failingCalls = 0
    /// The mean time between two faults of Redis.
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
