// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import NetKit
import Postgres
import ServiceLifecycle
import StrataModel
import StrataWire
import Synchronization

/// The latest attempts of each hook, for the list that an app's server can read. They are written to the database at
/// most twice a second, so that only listed attempts are written, not thousands a second. Attempts that are not written
/// before the process is killed are missing in the list; delivery does not depend on them.
final class DeliveryLog: Service {
    struct Attempt: Sendable {
        let hook: Hook
        var event: RecordedEvent
        let attemptedAt: StrataModel.Timestamp
        let number: Int
        let isDelivered: Bool
        let status: Int?
        let latency: Duration
        let error: String?
    }

    private static let interval = Duration.milliseconds(500)

    private let store: HookStore
    private let logger: Logger
    private let kept = Mutex<[WebhookID: [Attempt]]>([:])
    /// The row ids of events whose delivery to a hook has ended. They can be removed once the hook's attempts are
    /// written.
    private let recorded = Mutex<Set<Int64>>([])
    /// A signal that something is to be written.
    private let pending = Wakeup()

    init(store: HookStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func add(_ attempt: Attempt) {
        var attempt = attempt
        // Drop the content, which the list does not show.
        (attempt.event.facts, attempt.event.parts) = ("", nil)
        kept.withLock { all in
            all[attempt.hook.webhook.id, default: []].append(attempt)
            if let count = all[attempt.hook.webhook.id]?.count, count > Int(HookStore.keptDeliveries) {
                all[attempt.hook.webhook.id]?.removeFirst()
            }
        }
        pending.signal()
    }

    /// Records that the delivery of events to a hook has ended, and that the database knows.
    func ended(_ events: [Int64]) {
        recorded.withLock { $0.formUnion(events) }
        pending.signal()
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                await self.write()
                await self.pending.wait()
            } while (try? await Task.sleep(for: Self.interval)) != nil
        }
        await write()
    }

    private func write() async {
        let recorded = recorded.withLock { recorded in
            defer { recorded = [] }
            return recorded
        }
        let all = kept.withLock { all in
            defer { all = [:] }
            return all
        }
        for kept in all.values {
            do {
                let query = KeepDeliveries(attempts: Self.json(kept), keep: HookStore.keptDeliveries)
                _ = try await store.pool.query(query, deadline: .now + .seconds(5))
            } catch {
                logger.debug("recording of delivery attempts failed", metadata: ["error.message": "\(error)"])
            }
        }
        // If this call fails, a sweep removes the events.
        if !recorded.isEmpty {
            _ = try? await store.pool.query(CollectEvents(events: recorded.sorted()), deadline: .now + .seconds(5))
        }
    }

    /// Returns the attempts in the format of `webhooks.keep_deliveries`.
    private static func json(_ attempts: [Attempt]) -> String {
        var writer = JSONWriter()
        writer.beginArray()
        for attempt in attempts {
            writer.beginObject()
            writer.key("hook")
            writer.string(attempt.hook.webhook.id.description)
            writer.key("app")
            writer.string(attempt.hook.webhook.app.description)
            writer.key("event")
            writer.int(attempt.event.row)
            writer.key("id")
            writer.string(attempt.event.id.lowercaseText)
            writer.key("kind")
            writer.string(attempt.event.kind)
            writer.key("created_at")
            writer.int(attempt.event.createdAt.microseconds)
            writer.key("attempted_at")
            writer.int(attempt.attemptedAt.microseconds)
            writer.key("attempt")
            writer.int(attempt.number)
            writer.key("delivered")
            writer.bool(attempt.isDelivered)
            writer.key("status")
            if let status = attempt.status { writer.int(status) } else { writer.null() }
            writer.key("latency")
            writer.int(Int64(attempt.latency / .milliseconds(1)))
            writer.key("error")
            writer.string(attempt.error)
            writer.key("lane")
            writer.string((attempt.event.lane ?? attempt.event.subject).lowercaseText)
            writer.key("position")
            writer.int(attempt.event.position)
            writer.key("number")
            writer.int(attempt.event.number)
            writer.endObject()
        }
        writer.endArray()
        return String(buffer: writer.buffer)
    }
}
