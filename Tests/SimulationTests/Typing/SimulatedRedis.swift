// SPDX-License-Identifier: Apache-2.0
import StrataModel
import TestSupport

@testable import Presence

/// Redis with the typing scripts: one ``TypingModel`` per typist. Tests/PresenceTests verifies that model against the
/// scripts. Scripts run sequentially, by Redis's own clock, which may jump. Publications are immediate.
final class SimulatedRedis {
    private let simulation: Simulation
    private let shards: Int
    private var models: [TypingModel]
    private var clockOffset: Int64 = 0
    var isAway = false
    /// The time of the last fault of Redis, by the simulation's clock.
    private(set) var disturbedAt: Int64 = 0
    var publish: (_ typist: Int, TypingAction) -> Void = { _, _ in }

    let settings: TypingSettings

    init(_ simulation: Simulation, _ settings: TypingSettings, typists: Int, shards: Int) {
        self.simulation = simulation
        self.settings = settings
        self.shards = shards
        func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
        models = Array(
            repeating: TypingModel(
                pause: milliseconds(settings.pauseAfter), finish: milliseconds(settings.finishAfter),
                repeatAfter: milliseconds(settings.repeatAfter)), count: typists)
    }

    private var clock: Int { Int((simulation.now + clockOffset) / 1000) }

    func event(of typist: Int, _ action: TypingAction) {
        if models[typist].event(action, at: clock) != nil { publish(typist, action) }
    }

    /// Simulates `typing.sweep`.
    func sweep(_ shard: Int, isAnnouncedTwice: Bool = false) -> SweepFinding {
        var lateness: Int?
        var next: Int?
        for typist in models.indices where typist % shards == shard {
            guard let deadline = models[typist].deadline else { continue }
            if deadline > clock {
                next = min(next ?? .max, deadline - clock)
            } else if let action = models[typist].sweep(at: clock) {
                lateness = max(lateness ?? 0, clock - deadline)
                publish(typist, action)
                if isAnnouncedTwice { publish(typist, action) }
            }
        }
        if let lateness { return .work(lateness: .milliseconds(lateness)) }
        return .nothing(next: next.map { .milliseconds($0) })
    }

    /// Returns true if the typist has a state whose end has not been announced.
    func isTyping(_ typist: Int) -> Bool { models[typist].deadline != nil }

    // MARK: Faults

    func disturbed() { disturbedAt = simulation.now }

    func jump(by amount: Int64) {
        clockOffset += amount
        disturbed()
    }

    func restartEmpty() {
        for index in models.indices { models[index].forget() }
        disturbed()
    }
}
