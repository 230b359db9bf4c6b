// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import Metrics
import NIOHTTP1
import NetKit
import Postgres
import ServiceLifecycle
import StrataModel
import StrataWire
import Synchronization

/// Delivers what is in the outbox: claims lanes that are due, sends the events of each one after the other, and notes what came of it.
///
/// Any number of instances do so. A lane is claimed by one at a time, for as long as its lease, so that the events of a conversation are sent to a hook in their
/// order; an event is sent only after the receiver has accepted the one before it. When an instance is killed, another one claims its lanes when their leases end.
final class DeliveryEngine: Service {
    /// Of one lane, in one claim.
    private static let mostEvents: Int64 = 32, mostBytes: Int64 = 256 << 10
    /// How long after nothing was due it is looked again.
    private static let idlePause = Duration.milliseconds(100)
    /// How often the hooks are read.
    private static let hooksInterval = Duration.seconds(1)

    private let store: HookStore
    private let sender: HTTPSender
    private let log: DeliveryLog
    private let finisher: LaneFinisher
    private let settings: WebhooksSettings
    private let renderer: Renderer
    private let logger: Logger
    private let room: Mutex<DeliveryRoom>
    private let hooks = Mutex<[WebhookID: Ready]>([:])
    private let isStopping = Mutex(false)
    private let wake = WakeUp()
    private let delivered = Counter(label: "strata_webhooks_deliveries_total", dimensions: [("outcome", "delivered")])
    private let failed = Counter(label: "strata_webhooks_deliveries_total", dimensions: [("outcome", "failed")])
    private let givenUp = Counter(label: "strata_webhooks_given_up_total")
    private let claims = Counter(label: "strata_webhooks_claims_total")
    private let claimFailures = Counter(label: "strata_webhooks_claim_failures_total")
    private let inFlight = Gauge(label: "strata_webhooks_in_flight")
    private let latency = Timer(label: "strata_webhooks_delivery_duration_seconds")

    /// An active hook, and where its receiver is.
    private struct Ready: Sendable {
        let hook: Hook
        let target: TargetURL
    }

    init(store: HookStore, sender: HTTPSender, log: DeliveryLog, settings: WebhooksSettings, logger: Logger) {
        self.store = store
        self.sender = sender
        self.log = log
        self.settings = settings
        self.logger = logger
        finisher = LaneFinisher(store: store, logger: logger)
        renderer = Renderer(baseURL: settings.publicURL, webSocketURL: settings.publicURL)
        room = Mutex(DeliveryRoom(perHook: settings.perHook, perHost: settings.perHost, total: settings.inFlight))
    }

    /// Works until the service stops; then what is under way is ended and noted.
    func run() async throws {
        await cancelWhenGracefulShutdown { await self.claimAgainAndAgain() }
        isStopping.withLock { $0 = true }
        while room.withLock({ $0.inFlight > 0 }) || !finisher.isIdle {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { break }
        }
        await sender.shutDown()
    }

    private func claimAgainAndAgain() async {
        var readAt = ContinuousClock.Instant.now - Self.hooksInterval
        while !Task.isCancelled {
            do {
                if .now >= readAt + Self.hooksInterval {
                    readAt = .now
                    try await readHooks()
                }
                let lanes = try await claim()
                // Not children of this task: what is under way is ended when the claiming is.
                for lane in lanes { Task { await self.work(on: lane) } }
                if lanes.isEmpty { await wake.wait(atMost: Self.idlePause) }
            } catch {
                claimFailures.increment()
                logger.debug("nothing could be claimed", metadata: ["error.message": "\(error)"])
                try? await Task.sleep(for: Self.idlePause * 5)
            }
        }
    }

    private func readHooks() async throws(Failure) {
        let active = try await store.hooks(ReadActiveHooks(), deadline: .now + .seconds(5))
        var ready: [WebhookID: Ready] = [:]
        for hook in active {
            // What was registered can be read, unless the operator has forbidden HTTP since.
            guard let target = try? TargetURL(hook.webhook.targetURL, allowsHTTP: settings.allowsHTTP) else { continue }
            ready[hook.webhook.id] = Ready(hook: hook, target: target)
        }
        room.withLock { $0.forget(allBut: Set(ready.keys)) }
        hooks.withLock { $0 = ready }
    }

    /// A lane with the one that may deliver it until the lease ends.
    private struct Work: Sendable {
        let lane: ClaimedLane
        let ready: Ready
        let claimedAt: ContinuousClock.Instant
    }

    private func claim() async throws -> [Work] {
        let ready = hooks.withLock { $0 }
        let (limits, rest) = room.withLock { room in
            // In another order each time, so that where there is not room for all no hook is always the last.
            (room.limits(for: ready.values.map { (id: $0.hook.webhook.id, host: $0.target.authority) }.shuffled()), room.rest)
        }
        guard !limits.isEmpty, rest > 0 else { return [] }
        let claimedAt = ContinuousClock.now
        let query = ClaimLanes(
            hooks: limits.map { $0.id.rawValue }, limits: limits.map { Int64($0.lanes) }, total: Int64(rest), claim: UUID(),
            lease: Int64(settings.lease / .milliseconds(1)), events: Self.mostEvents, bytes: Self.mostBytes)
        let lanes = try await store.claim(query, deadline: .now + .seconds(5))
        if !lanes.isEmpty { claims.increment() }
        return lanes.compactMap { lane in
            guard let known = ready[lane.hook] else { return nil }
            let work = Work(lane: lane, ready: known, claimedAt: claimedAt)
            guard room.withLock({ $0.begin(lane.hook, at: known.target.authority) }) else {
                finish(Self.untouched(lane), of: work)
                return nil
            }
            return work
        }
    }

    private func finish(_ result: LaneResult, of work: Work) {
        finisher.add(result, of: work.lane.claim, until: work.claimedAt + settings.lease) { [wake] in wake.signal() }
    }

    // MARK: One lane

    /// Nothing has been done: the lane is due as it was.
    private static func untouched(_ lane: ClaimedLane) -> LaneResult {
        LaneResult(hook: lane.hook, lane: lane.lane, failures: lane.failures, pause: .zero)
    }

    private func work(on work: Work) async {
        inFlight.record(room.withLock { $0.inFlight })
        var result = Self.untouched(work.lane)
        // A delivery that begins later than this might not end before the lease does.
        let latest = work.claimedAt + settings.lease - settings.timeout - .seconds(5)
        for event in work.lane.events {
            guard .now < latest, !isStopping.withLock({ $0 }), hooks.withLock({ $0[work.lane.hook] != nil }) else { break }
            let failures = result.position == 0 ? work.lane.failures : 0
            let problem = await deliver(event, of: work, attempt: failures + 1)
            if let problem {
                await note(problem, of: event, failures: failures + 1, of: work, in: &result)
                break
            }
            (result.position, result.number) = (event.position, event.number)
            (result.failures, result.pause) = (0, nil)
        }
        // Before the room is free: who waits for the room to be empty finds that this is still to be noted.
        finish(result, of: work)
        room.withLock { $0.end(work.lane.hook, at: work.ready.target.authority) }
        inFlight.record(room.withLock { $0.inFlight })
        wake.signal()
    }

    /// - Returns: why it failed; nil: it did not.
    private func deliver(_ event: RecordedEvent, of work: Work, attempt: Int) async -> String? {
        let request: EventRequest
        do {
            request = EventRequest(try EventFacts.event(event), to: work.ready.hook, renderer: renderer)
        } catch {
            // It would fail in the same way each time, and hold back all that comes after it.
            logger.error("an event could not be read and is skipped", metadata: ["event.id": "\(event.id)", "error.message": "\(error)"])
            return nil
        }
        let (begun, time) = (ContinuousClock.now, Date())
        var status: Int?
        var problem: String?
        do throws(HTTPSender.Problem) {
            let answer = try await sender.send(
                .POST, work.ready.target.text, to: work.ready.target, headers: request.headers, body: request.body)
            status = answer.status
            if !(200..<300).contains(answer.status) { problem = "unexpected response status: \(answer.status) \(answer.reason)" }
        } catch {
            problem = error.reason
        }
        let took = ContinuousClock.now - begun
        latency.recordNanoseconds(Int64(took / .nanoseconds(1)))
        (problem == nil ? delivered : failed).increment()
        room.withLock { $0.note(hasFailed: problem != nil, work.lane.hook) }
        log.add(
            DeliveryLog.Attempt(
                hook: work.ready.hook, event: event, attemptedAt: StrataModel.Timestamp(microseconds: Int64(time.timeIntervalSince1970 * 1_000_000)),
                number: attempt, isDelivered: problem == nil, status: status, latency: took, error: problem))
        return problem
    }

    private func note(_ problem: String, of event: RecordedEvent, failures: Int, of work: Work, in result: inout LaneResult) async {
        result.failures = failures
        if let pause = settings.retries.pause(after: failures, failingFor: failures > 1 ? work.lane.failingFor : .zero) {
            result.pause = pause
            return
        }
        let webhook = work.ready.hook.webhook
        // When the hook is activated again, the event is tried at once.
        result.pause = settings.retries.period
        givenUp.increment()
        let name = WebhookEventKind(rawValue: event.kind)?.name(in: webhook.version) ?? event.kind
        let reason = "Delivery of \(name) \(event.id.uuidString.lowercased()) failed \(failures) times, the last time due to \(problem)"
        logger.error(
            "a webhook is inactive: its receiver did not accept an event for too long",
            metadata: ["app.id": "\(webhook.app)", "webhook.id": "\(webhook.id)", "event.id": "\(event.id)", "error.message": "\(problem)"])
        do throws(Failure) {
            _ = try await store.hooks(DeactivateHook(app: webhook.app, id: webhook.id, reason: reason), deadline: .now + .seconds(5))
            hooks.withLock { $0[webhook.id] = nil }
        } catch {
            // It is tried once more, and then given up again.
            result.pause = .seconds(10)
            result.failures = failures - 1
        }
    }
}

/// Ends a pause early.
final class WakeUp: Sendable {
    private struct State {
        var isSignalled = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Ends the pause that is under way, or the next one.
    func signal() {
        let waiting = state.withLock { state in
            state.isSignalled = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Waits for a signal, for a time, or for the end of the task. One task may wait at a time.
    func wait(atMost limit: Duration) async {
        // Not when it is cancelled: that would end the next pause.
        let timer = Task {
            if (try? await Task.sleep(for: limit)) != nil { self.signal() }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSignalled = state.withLock { state in
                    if !state.isSignalled { state.waiting = continuation }
                    return state.isSignalled
                }
                if isSignalled { continuation.resume() }
            }
        } onCancel: {
            signal()
        }
        state.withLock { $0.isSignalled = false }
        timer.cancel()
    }
}
