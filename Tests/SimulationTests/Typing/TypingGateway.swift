// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

@testable import FanOut
@testable import Gateway
@testable import Presence

/// The typing part of a gateway: its real ``TypistTable``, and the indicators that its clients show.
final class TypingGateway {
    private struct Indicator {
        var action: TypingAction
        /// The time of the last signal to the clients.
        var toldAt: Int64
        /// The time until which the last announcement is valid.
        var goodUntil: Int64
    }

    /// The tolerance beyond the periods: two failing sweeps, and the latency of calls and publications.
    private static let slack: Int64 = 1_500_000
    private static let timing = FanOutTiming()

    let number: Int
    private let world: TypingWorld
    private var typists = TypistTable()
    private var isCheckPlanned = false
    private var indicators: [Indicator?]
    /// The time of the last publication about each typist that was lost on its way to this gateway.
    private var lostAt: [Int64]
    private(set) var digest = Digest()

    init(_ number: Int, _ world: TypingWorld) {
        self.number = number
        self.world = world
        indicators = Array(repeating: nil, count: world.scenario.typists)
        lostAt = Array(repeating: 0, count: world.scenario.typists)
    }

    private var simulation: Simulation { world.simulation }
    private var deadline: NIODeadline { .uptimeNanoseconds(UInt64(simulation.now) * 1000) }

    func lost(_ typist: Int) { lostAt[typist] = simulation.now }

    func received(_ typist: Int, _ action: TypingAction) {
        let goodFor = world.scenario.settings.goodFor(action)
        let believed = world.scenario.sabotage == .fixedSilence ? Self.timing.typingSilence : TimeAmount(goodFor)
        typists.heard(world.typists[typist].signal(action), until: deadline + believed)
        show(action, of: typist, for: Int64(goodFor / .microseconds(1)))
        planCheck()
    }

    private func planCheck() {
        guard !isCheckPlanned, !typists.isEmpty, world.scenario.sabotage != .noSilence else { return }
        isCheckPlanned = true
        simulation.after(1_000_000, .init(what: "typists are checked by gateway", a: number)) { [self] in
            isCheckPlanned = false
            let ended = typists.takeEnded(at: deadline)
            // The table has no order, so iterate over the typists.
            for typist in world.typists.indices where ended.contains(world.typists[typist].signal(.finished)) {
                world.counts["ended by gateways", default: 0] += 1
                judgeEnd(of: typist)
                show(.finished, of: typist, for: 0)
            }
            planCheck()
        }
    }

    // MARK: Indicators of clients

    private func show(_ action: TypingAction, of typist: Int, for time: Int64) {
        digest.add(Int64(typist))
        digest.add(simulation.now)
        judge(typist)
        indicators[typist] =
            action == .finished
            ? nil : Indicator(action: action, toldAt: simulation.now, goodUntil: simulation.now + time)
    }

    /// Checks that the current indicator is not outdated.
    private func judge(_ typist: Int) {
        guard let indicator = indicators[typist] else { return }
        if simulation.now > indicator.goodUntil + 1_000_000 + Self.slack {
            complain("was shown \(indicator.action) for too long", typist)
        }
        // The maximum age of the typist's last signal, if no fault has occurred since.
        let heardAt = world.typists[typist].heardAt
        let (pause, finish) = (world.scenario.settings.pauseAfter, world.scenario.settings.finishAfter)
        let calm = Int64((pause + finish) * 2 / .microseconds(1)) + 20_000_000
        guard !world.redis.isAway, max(lostAt[typist], world.redis.disturbedAt) < heardAt - calm else { return }
        let limit = Int64((indicator.action == .started ? pause : pause + finish) / .microseconds(1))
        if simulation.now - heardAt > limit + Self.slack {
            complain("was shown \(indicator.action) long after their last signal", typist)
        }
    }

    /// Checks the end of an indicator that the gateway no longer receives announcements for. A gateway must not end it
    /// while Redis would still announce it, unless a publication was lost.
    private func judgeEnd(of typist: Int) {
        guard let indicator = indicators[typist], !world.redis.isAway, world.redis.isTyping(typist) else { return }
        if max(lostAt[typist], world.redis.disturbedAt) < indicator.toldAt { complain("was ended too early", typist) }
    }

    private func complain(_ text: String, _ typist: Int) {
        simulation.violated("typist \(typist) \(text) by gateway \(number)")
    }

    func judgeAll() {
        for typist in indicators.indices {
            judge(typist)
            if indicators[typist] != nil { complain("is still shown", typist) }
        }
    }
}
