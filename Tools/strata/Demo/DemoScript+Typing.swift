// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// The chapter about typing, which the server ends after a timeout.
///
/// Typing is ephemeral: a user who was offline missed it, and a restart may shift its times. An attempt that a lost
/// connection disturbed is therefore repeated.
extension DemoScript {
    /// The connections and processes that affect the timing of a signal.
    private struct Surroundings: Equatable {
        let connections: [Int]
        let processes: [String: Int32]?
    }

    private enum Outcome {
        case seen
        case missed(String)
        /// Every signal arrived, but not in time.
        case late(String)
    }

    func typing(in id: String) async {
        transcript.chapter("Ana types and then stops; the server ends the typing")
        for attempt in 1...4 {
            let before = surroundings()
            let outcome = await typeOnce(in: id)
            let isUndisturbed = surroundings() == before
            switch outcome {
            case .seen: return
            case .late(let what) where isUndisturbed && before.processes != nil:
                return transcript.failedExpectation(what)
            case .late(let what): return transcript.transientFailure("\(what), which a restart may do")
            case .missed(let what) where isUndisturbed || attempt == 4: return transcript.failedExpectation(what)
            case .missed(let what):
                transcript.transientFailure("\(what), for a connection or a process was lost meanwhile; once more")
            }
        }
    }

    private func surroundings() -> Surroundings {
        Surroundings(
            connections: [ana, ben].map { $0.state.change { $0.connection } }, processes: system.ephemeralProcesses())
    }

    private func typeOnce(in id: String) async -> Outcome {
        ben.forget { $0.isTyping() }
        guard let started = await startTyping(in: id) else { return .missed("Ben did not see that Ana types") }
        // If an idle Redis was replaced by an empty one, the typist is lost. Gateways then end the typing, without a
        // pause, after 25 s of silence.
        let limit = typingPeriod * 2 + .seconds(30)
        guard
            let next = await ben.takePacket(
                within: limit,
                where: { $0.isTyping("paused", conversation: id) || $0.isTyping("finished", conversation: id) })
        else { return .missed("Ben did not see that Ana paused") }
        guard next.isTyping("paused") else { return .late("Ben saw no pause before the end") }
        let pausedAfter = started.duration(to: next.receivedAt)
        transcript.say("Ben sees that Ana paused, \(pausedAfter.brief) after the last signal")
        guard let finished = await ben.takePacket(within: limit, where: { $0.isTyping("finished", conversation: id) })
        else {
            return .missed("Ben did not see that Ana finished")
        }
        let finishedAfter = next.receivedAt.duration(to: finished.receivedAt)
        transcript.say("Ben sees that Ana finished, \(finishedAfter.brief) later")
        if await ben.takePacket(within: .seconds(3), where: { $0.isTyping(conversation: id) }) != nil {
            return .late("Ben saw typing after its end")
        }
        transcript.say("Ben sees nothing more of it")
        let isPunctual = [pausedAfter, finishedAfter]
            .allSatisfy { $0 > typingPeriod * 0.9 && $0 < typingPeriod + .seconds(3) }
        return isPunctual ? .seen : .late("typing ended after \(pausedAfter.brief) and \(finishedAfter.brief)")
    }

    /// Sends typing signals at the interval of stock clients until Ben sees one.
    /// - Returns: The time of the last signal.
    private func startTyping(in id: String) async -> ContinuousClock.Instant? {
        transcript.say("Ana types")
        for _ in 1...10 {
            guard let socket = await ana.readySocket() else { return nil }
            let now = ContinuousClock.now
            try? await socket.typing("started", in: id)
            if await ben.takePacket(within: .milliseconds(2500), where: { $0.isTyping("started", conversation: id) })
                != nil
            {
                transcript.say("Ben sees that Ana types")
                return now
            }
        }
        return nil
    }
}
