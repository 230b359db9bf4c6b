// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// The only webhook of an honest app. It accepts each event at once.
final class HonestWebhook: Sendable {
    /// The number of events of one rate measurement, and of their conversations.
    private static let backlog = (events: 5000, conversations: 500)
    /// The maximum wait for a backlog. The rate covers the events delivered by then.
    private static let patience = Duration.seconds(60)

    private let id: String
    private let system: BenchSystem
    private let receiver: HookReceiver
    private let messages = Mutex<[String: ContinuousClock.Instant]>([:])

    private init(_ id: String, _ system: BenchSystem, _ receiver: HookReceiver) {
        (self.id, self.system, self.receiver) = (id, system, receiver)
    }

    /// Registers the webhook. It is active once ``BenchSystem/awaitActiveWebhooks()`` has returned.
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

    /// Records a message that the server accepted.
    /// - Parameter time: The start of its request.
    func sent(_ message: String, at time: ContinuousClock.Instant) { messages.withLock { $0[message] = time } }

    /// Waits until all messages recorded since the last call have been delivered.
    /// - Returns: The seconds from request to delivery, and the number of messages not delivered within `limit`.
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

    /// Records a backlog of events, and waits until it is delivered.
    /// - Returns: The delivered events per second, and false if some were not delivered in time.
    func rate() async throws -> (perSecond: Double, isComplete: Bool) {
        let before = receiver.count
        try await system.record(Self.backlog.events, for: id, conversations: Self.backlog.conversations)
        let begun = ContinuousClock.now
        let isComplete = try await receiver.reaches(before + Self.backlog.events, within: Self.patience)
        let took = ContinuousClock.now - begun
        let count = receiver.count - before
        // These events are not messages of the victim.
        _ = receiver.takeArrivals()
        return (Double(count) / (took / .seconds(1)), isComplete)
    }
}
