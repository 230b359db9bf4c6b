// SPDX-License-Identifier: Apache-2.0
import NIOCore

@testable import FanOut
@testable import Gateway
@testable import Presence

/// A user with one connection, its gateway, the lease in Redis and the sweeping presence instances. Measures the time
/// until followers learn that the user is offline. The periods and the rules of gateway and sweeps are the real ones.
final class OfflineWorld {
    enum Departure: Int, CaseIterable, Sendable {
        /// The connection closes, and its gateway notices it.
        case connectionCloses
        /// The connection closes, and the call that releases the lease is lost.
        case releaseIsLost
        /// The gateway is killed or hangs.
        case gatewayDies
        /// The peer falls silent, and its connection stays open.
        case peerFallsSilent

        /// The time limit for the notification of followers, in microseconds.
        var promise: Int64 { self == .peerFallsSilent ? 150_000_000 : 30_000_000 }
    }

    private let simulation: Simulation
    private let periods: PresencePeriods
    private let departure: Departure
    private let renewal = RenewalPeriod()
    private let slot: Int
    private var turn = 0
    private var isGatewayAlive = true
    private var isConnected = true
    private var lastHeard: Int64
    private var departedAt: Int64?
    private var leaseEnds: Int64
    private var toldAt: Int64?
    private let epoch = ContinuousClock.Instant.now

    static func run(_ seed: UInt64, _ periods: PresencePeriods, _ departure: Departure) -> RunReport {
        OfflineWorld(Simulation(seed: seed), periods, departure).run()
    }

    private init(_ simulation: Simulation, _ periods: PresencePeriods, _ departure: Departure) {
        self.simulation = simulation
        self.periods = periods
        self.departure = departure
        slot = simulation.int(0...0xffff)
        lastHeard = simulation.now
        leaseEnds = simulation.now
    }

    private func run() -> RunReport {
        // Set the status. The answer contains the renewal period of the lease.
        renewed()
        renewal.updated(milliseconds: UInt32(periods.renewAfter / .milliseconds(1)))
        simulation.after(simulation.span(0...999_999), "upkeep begins") { self.upkeep() }
        for number in 0..<simulation.int(1...3) { SweepingPresence(number, self).plan() }
        simulation.after(simulation.span(30_000_000...120_000_000), "the user goes") { self.depart() }
        simulation.run(until: simulation.now + 400_000_000)
        if let toldAt, let departedAt {
            if toldAt < departedAt { simulation.violated("the user is offline before they have gone") }
            if toldAt - departedAt > departure.promise {
                simulation.violated("followers are told after \((toldAt - departedAt) / 1000) ms")
            }
        } else {
            simulation.violated("followers are never told")
        }
        return RunReport(
            seed: simulation.seed, steps: simulation.steps, violations: simulation.violations,
            lastEvents: simulation.lastEvents, digest: 0,
            counts: ["milliseconds": Int(((toldAt ?? 0) - (departedAt ?? 0)) / 1000)])
    }

    private func microseconds(_ duration: Duration) -> Int64 { Int64(duration / .microseconds(1)) }
    private var way: Int64 { simulation.span(500...20_000) }

    // MARK: The gateway

    private func upkeep() {
        guard isGatewayAlive, isConnected else { return }
        turn += 1
        if departure != .peerFallsSilent || departedAt == nil { lastHeard = simulation.now }
        if lastHeard + SocketLoop.silence.nanoseconds / 1000 < simulation.now { return release() }
        if (slot + turn) % renewal.seconds == 0 {
            simulation.after(way, "the lease is renewed") { self.renewed() }
        }
        simulation.after(SocketLoop.upkeepPeriod.nanoseconds / 1000 + simulation.span(0...2000), "upkeep") {
            self.upkeep()
        }
    }

    private func release() {
        isConnected = false
        guard departure != .releaseIsLost else { return }
        simulation.after(way, "the lease is released") { [self] in
            leaseEnds = min(leaseEnds, simulation.now + microseconds(periods.grace))
        }
    }

    private func depart() {
        departedAt = simulation.now
        switch departure {
        case .connectionCloses, .releaseIsLost: release()
        case .gatewayDies: isGatewayAlive = false
        case .peerFallsSilent: lastHeard = simulation.now
        }
    }

    // MARK: Redis

    private func renewed() { leaseEnds = simulation.now + microseconds(periods.lease) }

    /// Simulates `presence.due` and the settling of its result.
    private func sweep() -> SweepFinding {
        guard toldAt == nil else { return .nothing(next: nil) }
        guard leaseEnds <= simulation.now else { return .nothing(next: .microseconds(leaseEnds - simulation.now)) }
        toldAt = simulation.now
        return .work(lateness: .microseconds(simulation.now - leaseEnds))
    }

    // MARK: The instances

    private final class SweepingPresence {
        private let number: Int
        private let world: OfflineWorld
        private var schedule: SweepSchedule

        init(_ number: Int, _ world: OfflineWorld) {
            self.number = number
            self.world = world
            schedule = SweepSchedule(shards: 1, shortestPeriod: min(world.periods.lease, world.periods.grace))
        }

        func plan() {
            let every = world.microseconds(world.periods.sweepEvery)
            world.simulation.after(
                world.simulation.span(every * 3 / 4...every * 5 / 4), .init(what: "sweep by instance", a: number)
            ) { [self] in
                let now = world.epoch + .microseconds(world.simulation.now - Simulation.start)
                guard !schedule.due(at: now).isEmpty else { return plan() }
                world.simulation.after(world.way, .init(what: "sweep in Redis for instance", a: number)) { [self] in
                    switch world.sweep() {
                    case .nothing(let next): schedule.foundNothing(at: 0, now: now, next: next)
                    case .work, .failed: schedule.foundWork(at: 0)
                    }
                    plan()
                }
            }
        }
    }
}
