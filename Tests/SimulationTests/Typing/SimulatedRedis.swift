// SPDX-License-Identifier: Apache-2.0
import StrataModel
import TestSupport

@testable import Presence

/// Redis with the typing scripts in it: a ``TypingModel`` for each typist, which Tests/PresenceTests holds to the scripts themselves. One script after the
/// other, by Redis's own clock, which may jump; what a script publishes it publishes at once.
final class SimulatedRedis {
    private let simulation: Simulation
    private let shards: Int
    private var models: [TypingModel]
    private var clockOffset: Int64 = 0
    var isAway = false
    /// The last time Redis did not do what it should, by the clock of the simulation.
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

    /// What `typing.sweep` answers.
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

    /// Whether the typist's state, if there is one, is still to be announced as finished.
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
