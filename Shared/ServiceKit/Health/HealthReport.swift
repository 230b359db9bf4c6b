// SPDX-License-Identifier: Apache-2.0

import NetKit

/// The answers to all readiness questions.
public struct HealthReport: Sendable {
    /// One answer.
    public struct Check: Sendable {
        /// The question's name.
        public let name: String
        /// Why it failed; nil if it passed.
        public let failure: String?
        /// How long it took.
        public let duration: Duration
    }

    /// Whether the process is shutting down.
    public let isStopping: Bool
    /// In the order in which the questions were added.
    public let checks: [Check]

    /// Whether the process should get work.
    public var isReady: Bool {
        !isStopping && checks.allSatisfy { $0.failure == nil }
    }

    /// The report as JSON: `status`, and each check's `name`, `status`, `reason` if it fails, and `milliseconds`.
    public var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("status", text: isReady ? "ready" : isStopping ? "stopping" : "unavailable")
        json.key("checks")
        json.beginArray()
        for check in checks {
            json.beginObject()
            json.member("name", text: check.name)
            json.member("status", text: check.failure == nil ? "passing" : "failing")
            if let reason = check.failure { json.member("reason", text: reason) }
            json.key("milliseconds")
            json.number(Int(check.duration.wholeMilliseconds))
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}
