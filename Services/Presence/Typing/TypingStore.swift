// SPDX-License-Identifier: Apache-2.0

import Contracts
import Metrics
import Redis
import StrataModel

/// Typing states in Redis: the events of typists, and the sweep that ends states without renewal.
struct TypingStore: Sweepable {
    enum Outcome: Int64, Sendable {
        /// The state was announced recently, or there was none to end.
        case nothingAnnounced = 0
        case announcedAgain = 1
        case transition = 2
    }

    let name = "typing"
    let metricPrefix = "strata_presence_typing"
    private let redis: RedisClient
    private let settings: TypingSettings
    private let timeout: Duration
    private let scripts: TypingScripts
    private let metrics = TypingMetrics()

    init(redis: RedisClient, settings: TypingSettings, timeout: Duration, scripts: TypingScripts = TypingScripts()) {
        self.redis = redis
        self.settings = settings
        self.timeout = timeout
        self.scripts = scripts
    }

    /// Processes an event. One script makes the transition and announces it. A repetition is harmless.
    @discardableResult
    func event(_ signal: TypingSignal, deadline: ContinuousClock.Instant) async throws -> Outcome {
        func publication(_ action: TypingAction) throws -> RedisArgument {
            let signal = TypingSignal(conversationID: signal.conversationID, user: signal.user, action: action)
            return .bytes(try ConversationPublication.typing(signal, goodFor: settings.goodFor(action)).encoded())
        }
        let shard = signal.conversationID.shard
        let answer = try await redis.evaluate(
            scripts.event, keys: ["t:{\(shard)}", "td:{\(shard)}", Channels.conversation(signal.conversationID)],
            arguments: [
                "\(signal.conversationID):\(signal.user)", .string(signal.action.rawValue),
                try publication(signal.action),
                try publication(.paused), try publication(.finished), .milliseconds(settings.pauseAfter),
                .milliseconds(settings.finishAfter),
                .milliseconds(settings.repeatAfter), .milliseconds(settings.timeToLive),
            ], deadline: min(deadline, .now + timeout))
        guard let outcome = answer.int.flatMap(Outcome.init(rawValue:)) else { throw MalformedReply() }
        metrics.count(outcome, of: signal.action)
        return outcome
    }

    func sweep(_ shards: [Int]) async -> [SweepFinding] {
        let calls: [(script: RedisScript, keys: [String], arguments: [RedisArgument])] = shards.map { shard in
            (
                scripts.sweep, ["t:{\(shard)}", "td:{\(shard)}"],
                [.integer(Int64(settings.sweepBatch)), .milliseconds(settings.finishAfter), "c:{\(shard)}:"]
            )
        }
        return await redis.evaluateAll(calls, deadline: .now + timeout)
            .map { result in
                guard case .success(let reply) = result else { return .failed }
                return finding(reply)
            }
    }

    private func finding(_ reply: RedisValue) -> SweepFinding {
        if let wait = reply.int { return .nothing(next: wait < 0 ? nil : .milliseconds(wait)) }
        guard let counts = reply.array?.compactMap(\.int), counts.count == 3 else { return .failed }
        metrics.countSwept(paused: counts[0], finished: counts[1])
        return .work(
            lateness: .milliseconds(counts[2]), isBatchFull: counts[0] + counts[1] >= Int64(settings.sweepBatch))
    }
}

/// A reply that the scripts never give. It indicates a bug in Strata.
struct MalformedReply: Error {}

struct TypingMetrics: Sendable {
    private let byEvent = TypingAction.allCases.map { TypingMetrics.counter($0, by: "event") }
    private let bySweep = TypingAction.allCases.map { TypingMetrics.counter($0, by: "sweep") }
    private let again = Counter(label: "strata_presence_typing_announcements_repeated_total")
    private let silent = Counter(label: "strata_presence_typing_events_merged_total")

    private static func counter(_ action: TypingAction, by cause: String) -> Counter {
        Counter(
            label: "strata_presence_typing_transitions_total", dimensions: [("action", action.rawValue), ("by", cause)])
    }

    func count(_ outcome: TypingStore.Outcome, of action: TypingAction) {
        switch outcome {
        case .nothingAnnounced: silent.increment()
        case .announcedAgain: again.increment()
        case .transition: byEvent[TypingAction.allCases.firstIndex(of: action) ?? 0].increment()
        }
    }

    func countSwept(paused: Int64, finished: Int64) {
        bySweep[1].increment(by: paused)
        bySweep[2].increment(by: finished)
    }
}
