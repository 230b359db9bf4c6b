// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import NetKit
import Postgres
import ServiceLifecycle
import StrataModel
import Synchronization

/// Verifies hooks: sends receivers a challenge that they must answer, and activates hooks once every service records
/// events for them.
struct Verifier: Service {
    let store: HookStore
    let sender: HTTPSender
    let settings: WebhooksSettings
    let logger: Logger
    private let room = VerificationRoom()
    /// A signal that a hook of this instance needs verification or activation.
    private let pending = Wakeup()
    private let waitingBytes: Gauge
    private let ended = Counter(label: "strata_webhooks_over_limit_total")

    init(store: HookStore, sender: HTTPSender, settings: WebhooksSettings, logger: Logger) {
        (self.store, self.sender, self.settings, self.logger) = (store, sender, settings, logger)
        waitingBytes = Gauge(label: "strata_webhooks_waiting_bytes", dimensions: settings.dimensions)
    }

    /// The time limit of a verification, because the app's server waits for its result through a gateway.
    private static let longest = Duration.seconds(9)
    /// The interval between searches for hooks that another instance left.
    private static let searchInterval = Duration.seconds(5)
    /// The number of lanes reset in one transaction.
    private static let mostReset: Int64 = 5000

    /// The time for which this instance claims a verification, in milliseconds.
    var lease: Int64 { Int64((settings.timeout + .seconds(10)) / .milliseconds(1)) }
    private var delay: Int64 { Int64(HookStore.activationDelay / .milliseconds(1)) }

    private enum Verdict {
        case wantsEvents
        case refused(ReceiverFault)
        /// The receiver was not called, or the call was interrupted.
        case none
    }

    /// Verifies a hook and records the result. If there is no room, the hook is verified when the lease ends.
    /// - Returns: the updated hook; nil if it was deleted or deactivated in the meantime.
    func verify(_ hook: Hook) async throws(Failure) -> Hook? {
        let webhook = hook.webhook
        let host = (try? TargetURL(webhook.targetURL, allowsHTTP: settings.allowsHTTP))?.authority ?? ""
        pending.signal()
        guard room.begin(webhook.id, of: webhook.app, at: host) else { return hook }
        defer { room.end(webhook.id, of: webhook.app, at: host) }
        var reason: String?
        switch await verdict(on: webhook) {
        case .wantsEvents: break
        case .refused(let fault):
            reason = "Verification failed \(fault.cause)"
            logger.notice(
                "webhook verification failed",
                metadata: ["webhook.id": "\(webhook.id)", "app.id": "\(webhook.app)", "error.message": "\(fault)"])
        // Any instance verifies the hook when the lease ends.
        case .none: return hook
        }
        return try await store.hook(
            EndVerification(id: webhook.id, reason: reason, delay: delay), deadline: .now + .seconds(5))
    }

    private func verdict(on webhook: Webhook) async -> Verdict {
        let challenge = UUID().uuidString.lowercased()
        do {
            let target = try TargetURL(webhook.targetURL, allowsHTTP: settings.allowsHTTP)
            let answer = try await sender.send(
                .GET, target.adding("verification_challenge", challenge), to: target, of: webhook.app,
                headers: [
                    "user-agent": "layer-webhooks/\(webhook.version.rawValue)",
                    "layer-webhook-id": webhook.id.layerID(in: webhook.app),
                    "accept": "*/*",
                ], body: nil, bodyBytes: 1024, limit: Self.longest)
            guard answer.status == 200 else { return .refused(.status(answer.status, answer.reason)) }
            guard let body = answer.body, String(buffer: body) == challenge else {
                return .refused(.clause("the answer is not the challenge"))
            }
            return .wantsEvents
        } catch HTTPSender.Problem.interrupted {
            return .none
        } catch HTTPSender.Problem.failed(let reason) {
            return .refused(.clause(reason))
        } catch let failure as Failure {
            return .refused(.clause("the target cannot be called: \(failure.message)"))
        } catch {
            return .refused(.clause("an unexpected error occurred"))
        }
    }

    /// Runs periodic tasks until the service stops: verifies hooks that no instance verified in time, activates
    /// verified hooks, enforces limits, and removes obsolete rows. None waits for a receiver or for numerous rows.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.activationLoop() }
                group.addTask { await self.repeatTask(every: .seconds(5)) { try await self.limit() } }
                group.addTask {
                    await self.repeatTask(every: .seconds(60)) {
                        _ = try await self.store.sweep(keep: self.settings.keep, deadline: .now + .seconds(30))
                        try await self.store.sweepEvents(deadline: .now + .seconds(30))
                    }
                }
            }
        }
    }

    /// Verifies and activates hooks, every 250 ms while any hook needs it. Without one, an instance asks the database
    /// once in ``searchInterval``, unless it registers one itself.
    private func activationLoop() async {
        while !Task.isCancelled {
            await pending.wait(until: .now + Self.searchInterval * Double.random(in: 0.8...1.2))
            await repeatTask(every: .milliseconds(250), while: { try await self.isPending() }) {
                do { try await self.verifyWaiting() } catch { self.report(error) }
                try await self.settle()
            }
        }
    }

    /// Repeats `work` until the task is cancelled or `condition` is false. Errors do not end it.
    private func repeatTask(
        every pause: Duration, while condition: @Sendable () async throws -> Bool = { true },
        _ work: @Sendable () async throws -> Void
    ) async {
        var isNeeded = true
        while isNeeded, (try? await Task.sleep(for: pause * Double.random(in: 0.8...1.2))) != nil {
            do {
                isNeeded = try await condition()
                if isNeeded { try await work() }
            } catch {
                report(error)
            }
        }
    }

    private func report(_ error: any Error) {
        logger.debug("webhook upkeep failed", metadata: ["error.message": "\(error)"])
    }

    private func isPending() async throws -> Bool {
        try await store.pool.query(FindPendingHooks(), deadline: .now + .seconds(5)).first?.pending ?? false
    }

    /// Deactivates hooks of suspended apps, and hooks with too large a backlog.
    func limit() async throws {
        for hook in try await store.hooks(EndSuspended(), deadline: .now + .seconds(5)) {
            logger.notice(
                "webhook deactivated: app suspended",
                metadata: ["app.id": "\(hook.webhook.app)", "webhook.id": "\(hook.webhook.id)"])
        }
        let waiting = try await store.waiting(deadline: .now + .seconds(5))
        waitingBytes.record(waiting.reduce(0) { $0 + $1.bytes })
        for measure in BacklogLimits(hook: settings.hookBytes, app: settings.appBytes).measures(for: waiting) {
            switch measure {
            case .end(let id, let reason):
                for hook in try await store.hooks(EndRecording(id: id, reason: reason), deadline: .now + .seconds(5)) {
                    ended.increment()
                    logger.error(
                        "webhook deactivated: backlog too large",
                        metadata: [
                            "app.id": "\(hook.webhook.app)", "webhook.id": "\(id)", "error.message": "\(reason)",
                        ])
                }
            case .discardBacklog(let id):
                _ = try await store.hooks(DiscardBacklog(id: id), deadline: .now + .seconds(5))
            }
        }
    }

    private func verifyWaiting() async throws {
        let waiting = try await store.hooks(ClaimVerifications(limit: 8, lease: lease), deadline: .now + .seconds(5))
        // Verify concurrently, so that slow receivers do not delay other hooks.
        for hook in waiting { Task { _ = try? await verify(hook) } }
    }

    /// Activates verified hooks. If a hook has failed lanes, they are first made due, some thousands at a time.
    private func settle() async throws {
        _ = try await store.pool.query(SettleHooks(delay: delay), deadline: .now + .seconds(5))
        _ = try await store.pool.query(ResetLanes(limit: Self.mostReset), deadline: .now + .seconds(5))
    }
}

/// The limits on concurrent verifications of this instance: one per hook, and a few per app and per host. A
/// verification over a limit waits until its lease ends. So no app can use up the instance, or make it call a foreign
/// host repeatedly.
final class VerificationRoom: Sendable {
    static let mostOfApp = 4
    static let mostOfHost = 8
    static let most = 32

    private struct State {
        var hooks: Set<WebhookID> = []
        var apps: [AppID: Int] = [:]
        var hosts: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// Begins a verification. If it returns true, ``end(_:of:at:)`` must be called.
    func begin(_ hook: WebhookID, of app: AppID, at host: String) -> Bool {
        state.withLock { state in
            let (ofApp, ofHost) = (state.apps[app] ?? 0, state.hosts[host] ?? 0)
            guard !state.hooks.contains(hook), state.hooks.count < Self.most, ofApp < Self.mostOfApp,
                ofHost < Self.mostOfHost
            else { return false }
            state.hooks.insert(hook)
            state.apps[app] = ofApp + 1
            state.hosts[host] = ofHost + 1
            return true
        }
    }

    func end(_ hook: WebhookID, of app: AppID, at host: String) {
        state.withLock { state in
            state.hooks.remove(hook)
            state.apps[app] = state.apps[app].flatMap { $0 > 1 ? $0 - 1 : nil }
            state.hosts[host] = state.hosts[host].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }
}
