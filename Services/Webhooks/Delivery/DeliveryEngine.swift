// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import NetKit
import Postgres
import ServiceLifecycle
import StrataModel
import StrataWire
import Synchronization

/// Delivers the events in the outbox: claims lanes that are due, sends the events of each lane in order, and records
/// the results.
///
/// Any number of instances run concurrently. A lane is claimed by one instance at a time, for the duration of a lease,
/// so that a hook receives the events of a conversation in order. An event is sent only after the receiver has accepted
/// the one before it. If an instance is killed, others claim its lanes when their leases end.
final class DeliveryEngine: Service {
    /// The maximum number and size of events of one lane in one claim.
    private static let mostEvents: Int64 = 32, mostBytes = 256 << 10
    /// The maximum size of metadata in an event, in bytes. A larger tree is left out.
    private static let mostMetadata = 256 << 10
    /// The number of lost claims after which a lane's events are sent without their objects, because one of these may
    /// have killed the instances.
    private static let mostLost = 3
    /// The number of lanes whose events are read in one statement.
    private static let mostRead = 16
    /// The pause after a claim that found nothing due.
    private static let idlePause = Duration.milliseconds(100)
    /// The pause of a lane whose events could not be read, whose receiver was not called, or whose app has no bytes
    /// left. In the first two cases its hook pauses as well, because the hook's other lanes would fail in the same way.
    private static let shortPause = Duration.seconds(1)
    private static let hooksInterval = Duration.seconds(1)

    private let store: HookStore
    private let sender: HTTPSender
    private let log: DeliveryLog
    private let secrets: HookSecrets
    private let finisher: LaneFinisher
    private let settings: WebhooksSettings
    private let renderer: Renderer
    private let logger: Logger
    private let room: Mutex<DeliveryRoom>
    private let hooks = Mutex<[WebhookID: Ready]>([:])
    /// Active hooks whose secrets could not be decrypted at the last reading.
    private let undecrypted = Mutex<Set<WebhookID>>([])
    private let isStopping = Mutex(false)
    private let wake = Wakeup()
    private let delivered = Counter(label: "strata_webhooks_deliveries_total", dimensions: [("outcome", "delivered")])
    private let failed = Counter(label: "strata_webhooks_deliveries_total", dimensions: [("outcome", "failed")])
    /// Hooks deactivated because the retries of an event were exhausted.
    private let deactivated = Counter(label: "strata_webhooks_given_up_total")
    private let claims = Counter(label: "strata_webhooks_claims_total")
    private let claimFailures = Counter(label: "strata_webhooks_claim_failures_total")
    private let inFlight: Gauge
    private let heldBytes: Gauge
    private let latency = Timer(label: "strata_webhooks_delivery_duration_seconds")

    /// An active hook, its target, and the key that signs its events.
    private struct Ready: Sendable {
        let hook: Hook
        let target: TargetURL
        let key: SymmetricKey
    }

    init(
        store: HookStore, sender: HTTPSender, log: DeliveryLog, secrets: HookSecrets, settings: WebhooksSettings,
        logger: Logger
    ) {
        self.store = store
        self.secrets = secrets
        self.sender = sender
        self.log = log
        self.settings = settings
        self.logger = logger
        inFlight = Gauge(label: "strata_webhooks_in_flight", dimensions: settings.dimensions)
        heldBytes = Gauge(label: "strata_webhooks_held_bytes", dimensions: settings.dimensions)
        finisher = LaneFinisher(store: store, logger: logger)
        renderer = Renderer(baseURL: settings.publicURL, webSocketURL: settings.publicURL)
        room = Mutex(
            DeliveryRoom(
                perHook: settings.perHook, perHost: settings.perHost, total: settings.inFlight, bytes: settings.bytes,
                slowAfter: settings.timeout / 4
            ))
    }

    /// Runs until the service stops. Then deliveries in progress are finished and recorded.
    func run() async throws {
        await cancelWhenGracefulShutdown { await self.claimLoop() }
        isStopping.withLock { $0 = true }
        while room.withLock({ $0.inFlight > 0 }) || !finisher.isIdle {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { break }
        }
        await sender.shutDown()
    }

    private func claimLoop() async {
        var readAt = ContinuousClock.Instant.now - Self.hooksInterval
        while !Task.isCancelled {
            do {
                if .now >= readAt + Self.hooksInterval {
                    readAt = .now
                    try await readHooks()
                }
                let claimed = try await claim()
                if claimed.isEmpty {
                    // Without active hooks, only the next reading of the hooks brings work.
                    let end = hooks.withLock { $0.isEmpty } ? readAt + Self.hooksInterval : .now + Self.idlePause
                    await wake.wait(until: end)
                } else {
                    // Not a child task: deliveries in progress are finished after claiming ends.
                    Task { await self.read(claimed) }
                }
            } catch {
                claimFailures.increment()
                logger.debug("claim of deliveries failed", metadata: ["error.message": "\(error)"])
                try? await Task.sleep(for: Self.idlePause * 5)
            }
        }
    }

    private func readHooks() async throws(Failure) {
        let active = try await store.hooks(ReadActiveHooks(), deadline: .now + .seconds(5))
        let known = hooks.withLock { $0 }
        var ready: [WebhookID: Ready] = [:]
        var unreadable: Set<WebhookID> = []
        for hook in active {
            // A registered URL is valid, unless the operator has forbidden HTTP since.
            guard let target = try? TargetURL(hook.webhook.targetURL, allowsHTTP: settings.allowsHTTP) else { continue }
            let id = hook.webhook.id
            if let before = known[id], before.hook.sealedSecret == hook.sealedSecret {
                ready[id] = Ready(hook: hook, target: target, key: before.key)
            } else if let key = try? secrets.open(hook.sealedSecret, of: id, in: hook.webhook.app) {
                ready[id] = Ready(hook: hook, target: target, key: key)
            } else {
                unreadable.insert(id)
            }
        }
        note(undecrypted: unreadable)
        room.withLock { $0.forget(allBut: Set(ready.keys)) }
        hooks.withLock { $0 = ready }
    }

    /// Logs each hook whose secret cannot be decrypted, once. Such hooks stay active: with the right secret of the
    /// service, their backlog is sent.
    private func note(undecrypted hooks: Set<WebhookID>) {
        let before = undecrypted.withLock { undecrypted in
            defer { undecrypted = hooks }
            return undecrypted
        }
        for id in hooks.subtracting(before) {
            logger.error(
                "webhook secret cannot be decrypted, sending nothing to it", metadata: ["webhook.id": "\(id)"])
        }
    }

    /// A claimed lane, and the hook to which it is delivered until the lease ends.
    private struct Work: Sendable {
        let lane: ClaimedLane
        let ready: Ready
        let claimedAt: ContinuousClock.Instant

        var app: AppID { ready.hook.webhook.app }
        /// The bytes reserved for reading the lane's events.
        var bytes: Int { min(max(lane.bytes, 1024), DeliveryEngine.mostBytes) }
    }

    /// Claims due lanes. Those without room are given back.
    /// - Returns: the lanes, with their room and bytes reserved.
    private func claim() async throws -> [Work] {
        let ready = hooks.withLock { $0 }
        let (limits, rest) = room.withLock { room in
            // Shuffle the hooks, so that no hook is always last when there is not enough room for all.
            let hooks = ready.values.map {
                (id: $0.hook.webhook.id, app: $0.hook.webhook.app, host: $0.target.authority)
            }
            return (room.limits(for: hooks.shuffled(), at: .now), room.freeLanes)
        }
        guard !limits.isEmpty, rest > 0 else { return [] }
        let claimedAt = ContinuousClock.now
        let query = ClaimLanes(
            hooks: limits.map { $0.id.rawValue }, limits: limits.map { Int64($0.lanes) }, total: Int64(rest),
            claim: UUID(),
            lease: Int64(settings.lease / .milliseconds(1)))
        // Use a task that survives the stopping of the service. Otherwise claimed lanes would be unknown to any
        // instance and delayed until the lease ends.
        let lanes = try await Task { [store] in try await store.claim(query, deadline: .now + .seconds(5)) }.value
        if !lanes.isEmpty { claims.increment() }
        return lanes.compactMap { lane in
            guard let known = ready[lane.hook] else { return nil }
            let work = Work(lane: lane, ready: known, claimedAt: claimedAt)
            guard room.withLock({ $0.begin(lane.hook, of: work.app, at: known.target.authority) }) else {
                finish(Self.untouched(lane), of: work)
                return nil
            }
            guard room.withLock({ $0.reserve(work.bytes, for: work.app) }) else {
                end(work, with: Self.untouched(lane, pause: Self.shortPause), releases: false)
                return nil
            }
            return work
        }
    }

    /// Reads the events of claimed lanes and begins to deliver them. Each app's lanes are read separately, so that no
    /// app waits for the large events of another.
    private func read(_ claimed: [Work]) async {
        await withDiscardingTaskGroup { group in
            for (app, lanes) in Dictionary(grouping: claimed, by: \.app) {
                group.addTask { await self.read(lanes, of: app) }
            }
        }
    }

    /// Reads the lanes of one app in portions, so that a timeout affects few of them.
    private func read(_ claimed: [Work], of app: AppID) async {
        for start in stride(from: 0, to: claimed.count, by: Self.mostRead) {
            let portion = claimed[start..<min(start + Self.mostRead, claimed.count)]
            do {
                let lanes = try await store.read(
                    portion.map(\.lane), of: app, events: Self.mostEvents, bytes: Int64(Self.mostBytes),
                    deadline: .now + .seconds(5))
                for (unread, lane) in zip(portion, lanes) {
                    let work = Work(lane: lane, ready: unread.ready, claimedAt: unread.claimedAt)
                    Task { await self.deliverEvents(of: work) }
                }
            } catch {
                claimFailures.increment()
                logger.debug("reading of claimed events failed", metadata: ["error.message": "\(error)"])
                for work in portion {
                    suspendHook(of: work)
                    end(work, with: Self.untouched(work.lane, pause: Self.shortPause))
                }
            }
        }
    }

    private func suspendHook(of work: Work) {
        room.withLock { $0.suspend(work.lane.hook, until: .now + Self.shortPause) }
    }

    /// Passes a result to the finisher, which records it, or drops it at the end of the lease.
    private func finish(_ result: LaneResult, of work: Work) {
        finisher.add(result, of: work.lane.claim, until: work.claimedAt + settings.lease) { [wake] in wake.signal() }
    }

    // MARK: Work on one lane

    /// Returns the result of a lane without an attempt. It is due as before, or a little later.
    private static func untouched(_ lane: ClaimedLane, pause: Duration = .zero) -> LaneResult {
        LaneResult(hook: lane.hook, lane: lane.lane, failures: lane.failures, pause: pause)
    }

    private enum Outcome {
        case delivered
        case failed(ReceiverFault)
        /// The event cannot be read. The cause is the event itself or this version of Strata, not the receiver.
        /// Retried like a failure, then skipped.
        case unreadable
        /// The receiver was not called, or the call was interrupted.
        case interrupted
        /// The app has no bytes left for the request.
        case full
    }

    /// Delivers the events of a lane in order, and records the result. Ends early if an event fails, the lease is about
    /// to end, the hook is no longer active, or the service stops. Skips an event that is still unreadable after all
    /// retries.
    private func deliverEvents(of work: Work) async {
        recordUsage()
        var result = Self.untouched(work.lane)
        // A delivery that begins later might not end before the lease does.
        let latest = work.claimedAt + settings.lease - settings.timeout - .seconds(5)
        events: for event in work.lane.events {
            guard .now < latest, !isStopping.withLock({ $0 }), hooks.withLock({ $0[work.lane.hook] != nil }) else {
                break
            }
            let failures = result.position == 0 ? work.lane.failures : 0
            switch await deliver(event, of: work, attempt: failures + 1) {
            case .delivered:
                (result.position, result.number) = (event.position, event.number)
                (result.failures, result.pause) = (0, nil)
                log.ended([event.row])
            case .failed(let fault):
                await planRetry(after: fault, of: event, failures: failures + 1, of: work, in: &result)
                break events
            case .unreadable:
                result.failures = failures + 1
                result.pause = pause(after: failures + 1, of: work)
                if result.pause != nil { break events }
                // No instance, of any version, could read the event in that time.
                logger.error(
                    "unreadable event skipped",
                    metadata: ["webhook.id": "\(work.lane.hook)", "event.id": "\(event.id)"])
                (result.position, result.number, result.failures) = (event.position, event.number, 0)
                log.ended([event.row])
            case .full:
                result.pause = Self.shortPause
                break events
            case .interrupted:
                let isOver = isStopping.withLock { $0 }
                if !isOver { suspendHook(of: work) }
                result.pause = isOver ? Duration.zero : Self.shortPause
                break events
            }
        }
        end(work, with: result)
    }

    /// Records the result of a lane and releases its room.
    /// - Parameter releases: true if the lane's bytes were reserved.
    private func end(_ work: Work, with result: LaneResult, releases: Bool = true) {
        // Record before releasing the room: a caller that waits for empty room must find that this result is pending.
        finish(result, of: work)
        room.withLock {
            $0.end(work.lane.hook, of: work.app, at: work.ready.target.authority)
            if releases { $0.release(work.bytes, of: work.app) }
        }
        recordUsage()
        wake.signal()
    }

    private func recordUsage() {
        let (lanes, bytes) = room.withLock { ($0.inFlight, $0.heldBytes) }
        inFlight.record(lanes)
        heldBytes.record(bytes)
    }

    /// Reads the objects of an event and makes the request, within the byte limit of the app.
    /// - Returns: the request, and the number of bytes reserved for it.
    private func prepare(
        _ event: RecordedEvent, of work: Work
    ) async throws(Unprepared) -> (request: EventRequest, bytes: Int) {
        var (event, bytes) = (event, event.bytes)
        let isSuspect = work.lane.lost >= Self.mostLost
        let isCompleted = event.isReference && !isSuspect
        if isSuspect { event.parts = nil }
        if isCompleted { bytes += Self.mostMetadata }
        guard room.withLock({ $0.reserve(bytes, for: work.app) }) else { throw .full }
        if isCompleted {
            do {
                event = try await store.complete(
                    event, of: work.app, bytes: Int64(Self.mostMetadata), deadline: .now + .seconds(5))
            } catch {
                room.withLock { $0.release(bytes, of: work.app) }
                throw .interrupted
            }
        }
        guard let request = request(for: event, to: work.ready) else {
            room.withLock { $0.release(bytes, of: work.app) }
            throw .unreadable
        }
        let size = request.body.readableBytes
        let isReserved = room.withLock { room in
            room.release(bytes, of: work.app)
            return room.reserve(size, for: work.app)
        }
        guard isReserved else { throw .full }
        return (request, size)
    }

    private enum Unprepared: Error {
        case unreadable
        /// The app has used up its bytes. The lane waits.
        case full
        case interrupted
    }

    private func deliver(_ event: RecordedEvent, of work: Work, attempt: Int) async -> Outcome {
        let (begun, time) = (ContinuousClock.now, Date())
        var status: Int?
        var fault: ReceiverFault?
        var prepared: (request: EventRequest, bytes: Int)?
        do throws(Unprepared) {
            prepared = try await prepare(event, of: work)
        } catch {
            switch error {
            case .unreadable: break
            case .full: return .full
            case .interrupted: return .interrupted
            }
        }
        let isReadable = prepared != nil
        if let (request, bytes) = prepared {
            defer { room.withLock { $0.release(bytes, of: work.app) } }
            do throws(HTTPSender.Problem) {
                let answer = try await sender.send(
                    .POST, work.ready.target.text, to: work.ready.target, of: work.ready.hook.webhook.app,
                    headers: request.headers,
                    body: request.body)
                status = answer.status
                if !(200..<300).contains(answer.status) { fault = .status(answer.status, answer.reason) }
            } catch {
                guard case .failed(let reason) = error else { return .interrupted }
                fault = .clause(reason)
            }
            let (hasFailed, took) = (fault != nil, ContinuousClock.now - begun)
            latency.recordNanoseconds(Int64(took / .nanoseconds(1)))
            room.withLock { $0.record(hasFailed: hasFailed, took: took, of: work.lane.hook) }
        } else {
            fault = .clause("the event could not be read")
        }
        (fault == nil ? delivered : failed).increment()
        log.add(
            DeliveryLog.Attempt(
                hook: work.ready.hook, event: event,
                attemptedAt: StrataModel.Timestamp(microseconds: Int64(time.timeIntervalSince1970 * 1_000_000)),
                number: attempt, isDelivered: fault == nil, status: status, latency: ContinuousClock.now - begun,
                error: fault?.description))
        guard let fault else { return .delivered }
        return isReadable ? .failed(fault) : .unreadable
    }

    /// - Returns: nil if the event cannot be read. It is retried, because a newer version may know its kind while
    ///   instances are being replaced.
    private func request(for event: RecordedEvent, to ready: Ready) -> EventRequest? {
        do {
            return EventRequest(
                try EventFacts.event(event), to: ready.hook.webhook, signedWith: ready.key, renderer: renderer)
        } catch {
            logger.error(
                "event cannot be read", metadata: ["event.id": "\(event.id)", "error.message": "\(error)"])
            return nil
        }
    }

    /// Returns the pause of a lane after its first event has failed; nil if the retries are exhausted.
    private func pause(after failures: Int, of work: Work) -> Duration? {
        settings.retries.pause(after: failures, failingFor: failures > 1 ? work.lane.failingFor : .zero)
    }

    /// Sets the pause before the retry of a failed event. Deactivates the hook if the retries are exhausted.
    private func planRetry(
        after fault: ReceiverFault, of event: RecordedEvent, failures: Int, of work: Work, in result: inout LaneResult
    ) async {
        result.failures = failures
        if let pause = pause(after: failures, of: work) {
            result.pause = pause
            return
        }
        let webhook = work.ready.hook.webhook
        let name = WebhookEventKind(rawValue: event.kind)?.name(in: webhook.version) ?? event.kind
        let reason = """
            Delivery of \(name) \(event.id.uuidString.lowercased()) failed \(failures) times, \
            the last time \(fault.cause)
            """
        do throws(Failure) {
            guard let verifiedAt = work.ready.hook.verifiedAt,
                try await
                    !store.hooks(
                        GiveUpHook(id: webhook.id, reason: reason, verifiedAt: verifiedAt), deadline: .now + .seconds(5)
                    )
                    .isEmpty
            else {
                // The hook was deactivated in the meantime. If it has been activated again, earlier failures do not
                // count.
                (result.failures, result.pause) = (0, Duration.zero)
                return
            }
            // When the hook is activated again, the event is retried immediately.
            result.pause = settings.retries.period
            hooks.withLock { $0[webhook.id] = nil }
            deactivated.increment()
            logger.error(
                "webhook deactivated: event retries exhausted",
                metadata: [
                    "app.id": "\(webhook.app)", "webhook.id": "\(webhook.id)", "event.id": "\(event.id)",
                    "error.message": "\(fault)",
                ])
        } catch {
            // The event is retried, and the hook is then given up again.
            result.pause = .seconds(10)
            result.failures = failures - 1
        }
    }
}
