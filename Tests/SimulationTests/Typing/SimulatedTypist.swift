// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A person at a keyboard, who starts, continues, pauses or finishes typing, or leaves without a signal.
final class SimulatedTypist {
    let number: Int
    let signal: (TypingAction) -> TypingSignal
    private let world: TypingWorld
    private var isTyping = false
    /// The time of the typist's last signal to Redis.
    private(set) var heardAt: Int64 = 0

    init(_ number: Int, _ conversation: ConversationID, _ world: TypingWorld) {
        self.number = number
        self.world = world
        let user = UserID(trusted: "u\(number)")
        signal = { TypingSignal(conversationID: conversation, user: user, action: $0) }
    }

    func plan() {
        let simulation = world.simulation
        // Stock clients repeat `started` every few seconds while keys are pressed.
        let pause = isTyping ? simulation.span(500_000...9_000_000) : simulation.span(1_000_000...40_000_000)
        simulation.after(pause, .init(what: "at the keyboard: typist", a: number)) { [self] in
            guard !world.isQuiet else { return }
            act()
            plan()
        }
    }

    private func act() {
        switch world.simulation.int(0...9) {
        case 0: isTyping = false
        case 1, 2:
            isTyping = false
            say(.finished)
        case 3: say(.paused)
        default:
            isTyping = true
            say(.started)
        }
    }

    /// Simulates a call through a gateway to one of the presence instances. If its answer is lost, the call is
    /// repeated, which is harmless.
    private func say(_ action: TypingAction) {
        let simulation = world.simulation
        simulation.after(simulation.span(500...20_000), .init(what: "event of typist", a: number)) { [self] in
            guard !world.redis.isAway, !simulation.chance(world.scenario.failingCalls) else { return }
            if action != .finished { heardAt = simulation.now }
            let times = simulation.chance(world.scenario.failingCalls) ? 2 : 1
            for _ in 0..<times { world.redis.event(of: number, action) }
        }
    }
}
