// SPDX-License-Identifier: Apache-2.0

import NetKit

/// The results of all readiness checks.
public struct HealthReport: Sendable {
    /// The result of one check.
    public struct Check: Sendable {
        /// The check's name.
        public let name: String
        /// The reason of the failure; nil if the check passed.
        public let failure: String?
        /// The duration of the check.
        public let duration: Duration
    }

    /// True if the process is shutting down.
    public let isStopping: Bool
    /// The results, in the order in which the checks were added.
    public let checks: [Check]

    /// True if the process should get work.
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
