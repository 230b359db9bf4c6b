// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// The one webhook of an honest app, which accepts each event at once.
final class HonestWebhook: Sendable {
    /// The events of one measurement of the rate, and the conversations that they are of.
    private static let backlog = (events: 5000, conversations: 500)
    /// The longest wait for a backlog. The rate is that of the events that have come by then.
    private static let patience = Duration.seconds(60)

    private let id: String
    private let system: BenchSystem
    private let receiver: HookReceiver
    private let messages = Mutex<[String: ContinuousClock.Instant]>([:])

    private init(_ id: String, _ system: BenchSystem, _ receiver: HookReceiver) { (self.id, self.system, self.receiver) = (id, system, receiver) }

    /// Registers it; it is active when ``BenchSystem/awaitActiveWebhooks()`` has returned.
    static func register(_ system: BenchSystem, _ group: any EventLoopGroup) async throws -> HonestWebhook {
        let receiver = try await HookReceiver.start(keepsArrivals: true, on: group)
        do {
            return HonestWebhook(try await system.register(receiver.url, events: ["Message.created"]), system, receiver)
        } catch {
            await receiver.stop()
            throw error
        }
    }

    func stop() async { await receiver.stop() }

    /// Notes a message that was taken.
    /// - Parameter time: the begin of its request.
    func sent(_ message: String, at time: ContinuousClock.Instant) { messages.withLock { $0[message] = time } }

    /// Waits until all messages that were taken since the last call have been delivered.
    /// - Returns: the seconds of each from its request, and the number of those that did not come within `limit`.
    func delays(within limit: Duration) async -> ([Double], Int) {
        let end = ContinuousClock.now + limit
        var waiting = messages.withLock { messages in
            defer { messages = [:] }
            return messages
        }
        var delays: [Double] = []
        while true {
            for (message, arrival) in receiver.takeArrivals() {
                if let begun = waiting.removeValue(forKey: message) { delays.append((arrival - begun) / .seconds(1)) }
            }
            guard !waiting.isEmpty, .now < end, !Task.isCancelled else { return (delays, waiting.count) }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Records a backlog, and waits until it is delivered.
    /// - Returns: events delivered per second; false if some have not come in time.
    func rate() async throws -> (perSecond: Double, isComplete: Bool) {
        let before = receiver.count
        try await system.record(Self.backlog.events, for: id, conversations: Self.backlog.conversations)
        let begun = ContinuousClock.now
        let isComplete = try await receiver.reaches(before + Self.backlog.events, within: Self.patience)
        let took = ContinuousClock.now - begun
        let count = receiver.count - before
        // The events are not messages of the victim.
        _ = receiver.takeArrivals()
        return (Double(count) / (took / .seconds(1)), isComplete)
    }
}
