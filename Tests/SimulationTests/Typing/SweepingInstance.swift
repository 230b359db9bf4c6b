// SPDX-License-Identifier: Apache-2.0
import StrataModel

@testable import Presence

/// A presence instance that sweeps by the real ``SweepSchedule``, like ``SweepLoop``.
final class SweepingInstance {
    private let number: Int
    private let world: TypingWorld
    private let epoch = ContinuousClock.Instant.now
    private var schedule: SweepSchedule

    init(_ number: Int, _ world: TypingWorld) {
        self.number = number
        self.world = world
        let shortest = min(world.scenario.settings.pauseAfter, world.scenario.settings.finishAfter)
        schedule = SweepSchedule(
            shards: world.scenario.shards,
            shortestPeriod: world.scenario.sabotage == .longRest ? shortest * 6 : shortest)
    }

    /// The virtual time as an instant. Only differences of instants matter, so the run is reproducible.
    private var now: ContinuousClock.Instant { epoch + .microseconds(world.simulation.now - Simulation.start) }

    func plan() {
        let every = Int64(world.scenario.settings.sweepEvery / .microseconds(1))
        world.simulation.after(
            world.simulation.span(every * 3 / 4...every * 5 / 4), .init(what: "sweep by instance", a: number)
        ) { [self] in
            check()
        }
    }

    private func check() {
        let simulation = world.simulation
        let began = now
        let due = schedule.due(at: began)
        guard !due.isEmpty, world.scenario.sabotage != .noSweep else { return plan() }
        simulation.after(simulation.span(200...5000), .init(what: "sweep in Redis for instance", a: number)) { [self] in
            let isFailing = world.redis.isAway || simulation.chance(world.scenario.failingCalls)
            // A sweep may be executed although its answer is lost.
            let isDone = !world.redis.isAway && (!isFailing || simulation.chance(500))
            for shard in due {
                let finding =
                    isDone
                    ? world.redis.sweep(shard, isAnnouncedTwice: world.scenario.sabotage == .announcedTwice) : .failed
                switch isFailing ? .failed : finding {
                case .nothing(let next): schedule.foundNothing(at: shard, now: began, next: next)
                case .work, .failed: schedule.foundWork(at: shard)
                }
            }
            simulation.after(isFailing ? 300_000 : 1000, .init(what: "sweep answered to instance", a: number)) {
                [self] in plan()
            }
        }
    }
}
