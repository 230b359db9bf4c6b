// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import Postgres
import ServiceLifecycle
import StrataModel

/// Asks receivers whether they want the events of a hook, with a challenge that they must answer; and makes hooks active once every service records for them.
struct Verifier: Service {
    let store: HookStore
    let sender: HTTPSender
    let settings: WebhooksSettings
    let logger: Logger
    private let room = VerificationRoom()
    private let waitingBytes = Gauge(label: "strata_webhooks_waiting_bytes")
    private let ended = Counter(label: "strata_webhooks_over_limit_total")

    init(store: HookStore, sender: HTTPSender, settings: WebhooksSettings, logger: Logger) {
        (self.store, self.sender, self.settings, self.logger) = (store, sender, settings, logger)
    }

    /// The app's server waits for the answer, which comes through a gateway.
    private static let longest = Duration.seconds(9)
    /// Lanes, in one transaction.
    private static let mostReset: Int64 = 5000

    /// For how long a verification is this instance's.
    var lease: Int64 { Int64((settings.timeout + .seconds(10)) / .milliseconds(1)) }
    private var delay: Int64 { Int64(HookStore.activationDelay / .milliseconds(1)) }

    /// What came of asking a receiver.
    private enum Verdict {
        case wantsEvents
        case refused(ReceiverFault)
        /// It was not asked, or not to the end.
        case none
    }

    /// Asks the receiver of a hook, and notes the answer. Where there is no room, the receiver is asked when the lease ends.
    /// - Returns: the hook afterwards; nil if it is gone, or was deactivated meanwhile.
    func verify(_ hook: Hook) async throws(Failure) -> Hook? {
        let webhook = hook.webhook
        let host = (try? TargetURL(webhook.targetURL, allowsHTTP: settings.allowsHTTP))?.authority ?? ""
        guard room.begin(webhook.id, of: webhook.app, at: host) else { return hook }
        defer { room.end(webhook.id, of: webhook.app, at: host) }
        var reason: String?
        switch await verdict(on: webhook) {
        case .wantsEvents: break
        case .refused(let fault):
            reason = "Verification failed \(fault.cause)"
            logger.notice(
                "a webhook could not be verified",
                metadata: ["webhook.id": "\(webhook.id)", "app.id": "\(webhook.app)", "error.message": "\(fault)"])
        // It is asked when the lease ends, by any instance.
        case .none: return hook
        }
        return try await store.hook(EndVerification(id: webhook.id, reason: reason, delay: delay), deadline: .now + .seconds(5))
    }

    private func verdict(on webhook: Webhook) async -> Verdict {
        let challenge = UUID().uuidString.lowercased()
        do {
            let target = try TargetURL(webhook.targetURL, allowsHTTP: settings.allowsHTTP)
            let answer = try await sender.send(
                .GET, target.adding("verification_challenge", challenge), to: target, of: webhook.app,
                headers: [
                    "user-agent": "layer-webhooks/\(webhook.version.rawValue)", "layer-webhook-id": webhook.id.layerID(in: webhook.app),
                    "accept": "*/*",
                ], body: nil, bodyBytes: 1024, limit: Self.longest)
            guard answer.status == 200 else { return .refused(.status(answer.status, answer.reason)) }
            guard let body = answer.body, String(buffer: body) == challenge else { return .refused(.clause("the answer is not the challenge")) }
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

    /// Verifies hooks whose instance has not done so in time, makes verified ones active, and removes what is needed no more; until the service stops. None of
    /// these waits for another one: receivers can be slow, and rows many.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.again(every: .milliseconds(250)) { try await self.verifyWaiting() } }
                group.addTask { await self.again(every: .milliseconds(250)) { try await self.settle() } }
                group.addTask { await self.again(every: .seconds(5)) { try await self.limit() } }
                group.addTask {
                    await self.again(every: .seconds(60)) {
                        _ = try await self.store.sweep(keep: self.settings.keep, deadline: .now + .seconds(30))
                        try await self.store.sweepEvents(deadline: .now + .seconds(30))
                    }
                }
            }
        }
    }

    private func again(every pause: Duration, _ work: @Sendable () async throws -> Void) async {
        while (try? await Task.sleep(for: pause * Double.random(in: 0.8...1.2))) != nil {
            do {
                try await work()
            } catch {
                logger.debug("hooks could not be looked after", metadata: ["error.message": "\(error)"])
            }
        }
    }

    /// Ends hooks of suspended apps, and those for which too much waits.
    func limit() async throws {
        for hook in try await store.hooks(EndSuspended(), deadline: .now + .seconds(5)) {
            logger.notice(
                "a webhook is inactive: its app is suspended", metadata: ["app.id": "\(hook.webhook.app)", "webhook.id": "\(hook.webhook.id)"])
        }
        let waiting = try await store.waiting(deadline: .now + .seconds(5))
        waitingBytes.record(waiting.reduce(0) { $0 + $1.bytes })
        for measure in WaitingLimits(hook: settings.hookBytes, app: settings.appBytes).measures(for: waiting) {
            switch measure {
            case .end(let id, let reason):
                for hook in try await store.hooks(EndRecording(id: id, reason: reason), deadline: .now + .seconds(5)) {
                    ended.increment()
                    logger.error(
                        "a webhook is inactive: too much waited for it",
                        metadata: ["app.id": "\(hook.webhook.app)", "webhook.id": "\(id)", "error.message": "\(reason)"])
                }
            case .giveAway(let id): _ = try await store.hooks(GiveAway(id: id), deadline: .now + .seconds(5))
            }
        }
    }

    private func verifyWaiting() async throws {
        let waiting = try await store.hooks(ClaimVerifications(limit: 8, lease: lease), deadline: .now + .seconds(5))
        // The next ones do not wait for receivers that are slow.
        for hook in waiting { Task { _ = try? await verify(hook) } }
    }

    /// Makes verified hooks active; those with conversations that have failed, when all of these have been made due, some thousands at a time.
    private func settle() async throws {
        _ = try await store.pool.query(SettleHooks(delay: delay), deadline: .now + .seconds(5))
        _ = try await store.pool.query(ResetLanes(limit: Self.mostReset), deadline: .now + .seconds(5))
    }
}
