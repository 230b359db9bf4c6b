// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataCommand
import TestCluster

/// The webhooks of the load's app, accessed through the Server API.
struct AppHooks: Sendable {
    let app: TestApp
    /// The base URL of the receiver.
    let receiver: String

    private func call(
        _ method: String, _ path: String = "", _ body: JSONValue? = nil, deadline: ContinuousClock.Instant
    ) async throws -> RESTResponse {
        try await AppServer(app).call(method, "/webhooks\(path)", body, deadline: deadline)
    }

    /// Registers the hooks and waits until they are active. From then on every change is recorded for them.
    func register(_ hooks: [TestHook], within limit: Duration = .seconds(90)) async throws {
        let deadline = ContinuousClock.now + limit
        for hook in hooks {
            let body: JSONValue = [
                "version": .string(hook.version), "target_url": .string(receiver + hook.path),
                "events": .array(hook.events.map { .string($0) }),
                "secret": "of the receiver of webhooks",
            ]
            let created = try await call("POST", "", body, deadline: deadline)
            guard created.status == 201 else {
                throw LoadError("a webhook was answered with \(created.status) \(created.json.text)")
            }
        }
        while true {
            let answer = try? await call("GET", deadline: deadline)
            let found = answer?.json.array ?? []
            if found.count == hooks.count, found.allSatisfy({ $0["status"].string == "active" }) { return }
            guard .now < deadline else {
                throw LoadError("webhooks do not become active: \(answer?.json.text ?? "no answer")")
            }
            // A hook becomes inactive if a busy machine answers the challenge too late. It is then activated again.
            for hook in found where hook["status"].string == "inactive" {
                guard let id = hook["id"].string?.split(separator: "/").last else { continue }
                _ = try? await call("POST", "/\(id)/activate", deadline: deadline)
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Polls the hooks until the task is cancelled, as a console does.
    /// - Returns: A sentence for each hook that was ever inactive, because it lacks the changes of that time.
    func watch(every pause: Duration = .milliseconds(500)) async -> [String] {
        var inactive: [String: String] = [:]
        while !Task.isCancelled {
            // There is no answer while a service is unavailable.
            let answer = try? await call("GET", deadline: .now + .seconds(5))
            for hook in answer?.json.array ?? [] where hook["status"].string != "active" {
                let url = hook["target_url"].string ?? ""
                inactive[url] =
                    "the webhook \(url) is \(hook["status"].string ?? "-"): \(hook["status_reason"].string ?? "-")"
            }
            try? await Task.sleep(for: pause)
        }
        return inactive.values.sorted()
    }
}
