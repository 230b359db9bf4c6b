// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// A firing alert.
struct Alert: Encodable, Hashable, Sendable {
    let name: String
    let severity: String
    let summary: String
    let since: Date
}

/// The console's own findings about processes: those that cannot be reached, are not ready, or have restarted.
struct Findings: Sendable {
    /// The time for which a restart is shown.
    static let restartPeriod: TimeInterval = 15 * 60

    private var since: [String: Date] = [:]
    private var startedAt: [String: Double] = [:]
    private var restarts: [String: Date] = [:]

    /// Returns the findings in these readings, with the time at which each was first seen.
    mutating func update(_ readings: [InstanceReading], at now: Date) -> [Alert] {
        var alerts: [Alert] = []
        var current: Set<String> = []
        for reading in readings {
            notice(reading, at: now)
            if let finding = Self.finding(reading) {
                let key = "\(finding.name) \(reading.key)"
                current.insert(key)
                let first = since[key] ?? now
                since[key] = first
                alerts.append(
                    Alert(name: finding.name, severity: finding.severity, summary: finding.summary, since: first))
            }
            if let restart = restarts[reading.key], now.timeIntervalSince(restart) < Self.restartPeriod {
                alerts.append(
                    Alert(
                        name: "InstanceRestarted", severity: "warning",
                        summary: "\(reading.kind) at \(reading.address) has restarted.", since: restart))
            }
        }
        since = since.filter { current.contains($0.key) }
        let known = Set(readings.map(\.key))
        startedAt = startedAt.filter { known.contains($0.key) }
        restarts = restarts.filter { known.contains($0.key) }
        return alerts
    }

    /// Remembers when the process started, and notices another start.
    private mutating func notice(_ reading: InstanceReading, at now: Date) {
        guard let start = reading.metrics.startedAt else { return }
        // The start is computed from two clocks of the system, and can vary by a fraction of a second.
        if let known = startedAt[reading.key], start - known > 1 { restarts[reading.key] = now }
        startedAt[reading.key] = start
    }

    private static func finding(_ reading: InstanceReading) -> (name: String, severity: String, summary: String)? {
        if let failure = reading.failure {
            return (
                "InstanceUnreachable", "critical",
                "\(reading.kind) at \(reading.address) cannot be reached: \(failure)."
            )
        }
        guard !reading.isReady else { return nil }
        let failing = (reading.health?.checks ?? []).filter { $0.status != "passing" }.map(\.name)
        let reason = failing.isEmpty ? reading.health?.status ?? "unknown" : failing.joined(separator: ", ")
        return ("InstanceNotReady", "critical", "\(reading.kind) at \(reading.address) is not ready: \(reason).")
    }
}
