// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import Postgres
import ServiceLifecycle
import StrataModel
import StrataWire
import Synchronization

/// The latest attempts of each hook, written to the database twice a second: of thousands of deliveries a second, those are kept that an app's server can
/// see. What was not written yet when the process is killed is missing in the list; what was delivered does not depend on it.
final class DeliveryLog: Service {
    struct Attempt: Sendable {
        let hook: Hook
        let event: RecordedEvent
        let attemptedAt: StrataModel.Timestamp
        let number: Int
        let isDelivered: Bool
        let status: Int?
        let latency: Duration
        let error: String?
    }

    private struct Kept {
        var attempts: [Attempt] = []
        var bytes = 0
    }

    /// Of one hook, between two writes.
    private static let mostBytes = 1 << 20
    private static let interval = Duration.milliseconds(500)

    private let store: HookStore
    private let logger: Logger
    private let kept = Mutex<[WebhookID: Kept]>([:])

    init(store: HookStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func add(_ attempt: Attempt) {
        kept.withLock { all in
            var kept = all[attempt.hook.webhook.id] ?? Kept()
            kept.attempts.append(attempt)
            kept.bytes += attempt.bytes
            while kept.attempts.count > Int(HookStore.keptDeliveries) || kept.attempts.count > 1 && kept.bytes > Self.mostBytes {
                kept.bytes -= kept.attempts.removeFirst().bytes
            }
            all[attempt.hook.webhook.id] = kept
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil { await self.write() }
        }
        await write()
    }

    private func write() async {
        let all = kept.withLock { all in
            defer { all = [:] }
            return all
        }
        for kept in all.values {
            do {
                let query = KeepDeliveries(attempts: Self.json(kept.attempts), keep: HookStore.keptDeliveries)
                _ = try await store.pool.query(query, deadline: .now + .seconds(5))
            } catch {
                logger.debug("attempts could not be kept", metadata: ["error.message": "\(error)"])
            }
        }
    }

    /// As `webhooks.keep_deliveries` takes them.
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
            writer.key("subject")
            writer.string(attempt.event.subject.lowercaseText)
            writer.key("facts")
            writer.raw(attempt.event.facts)
            writer.key("parts")
            writer.string(attempt.event.parts.map { Data($0).base64EncodedString() })
            writer.endObject()
        }
        writer.endArray()
        return String(buffer: writer.buffer)
    }
}

extension DeliveryLog.Attempt {
    fileprivate var bytes: Int { 256 + event.facts.utf8.count + (event.parts?.count ?? 0) }
}
