// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation

/// The resident memory of a system's processes, in bytes by service.
struct HostileMemory: Sendable {
    /// The sizes before the first request.
    var rest: [String: Int] = [:]
    var peak: [String: Int] = [:]
}

/// HTTP clients and tables for the benchmarks of hostile users and apps.
enum HostileTable {
    /// The sum of the memory budgets of docs/limits.md for one process of each service, in bytes, in addition to its
    /// memory at rest.
    private static let budgets = [
        // Request bodies, outgoing data, incoming answers of conversations and metadata, and queues to three services.
        "gateway": 256 + 256 + 2 * 256 + 3 * 32,
        // Requests and long answers, statements of three pools with their parameters, Redis commands.
        "conversations": 256 + 3 * 32 + 64,
        "metadata": 256 + 3 * 32 + 64,
        "presence": 256 + 64,
        // Requests and long answers, statements of one pool with their parameters, events and their requests.
        "webhooks": 256 + 32 + 64,
    ]
    .mapValues { $0 << 20 }

    static func progress(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    /// Creates an HTTP client. Victim and attackers have separate clients, so that the victim never waits for a
    /// connection used by an attacker.
    /// - Parameter address: The local address of the connections. nil: chosen by the system.
    static func client(from address: String? = nil) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        configuration.localAddress = address
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Returns the settings of a system as a line of Markdown.
    static func line(of settings: [String: String]) -> String {
        "Settings: " + settings.sorted { $0.key < $1.key }.map { "`\($0.key)=\($0.value)`" }.joined(separator: ", ")
            + "; otherwise the defaults."
    }

    /// Returns the medians of a percentile in milliseconds, before and after, and their ratio.
    static func change(
        _ part: Double, _ operation: HostileVictim.Operation, from first: [HostileVictim.Measurement],
        to second: [HostileVictim.Measurement]
    ) -> String {
        let before = median(first.compactMap { $0.percentile(part, operation) })
        let after = median(second.compactMap { $0.percentile(part, operation) })
        guard let before, let after else { return "none succeeded" }
        return "\(figure(before * 1000)) → \(figure(after * 1000)) (\(figure(after / before)) ×)"
    }

    /// Returns the table of memory use.
    /// - Parameter first: The title of the first column.
    static func memory(first: String, _ results: [(pattern: HostilePattern, memory: HostileMemory)]) -> [String] {
        let services = ["gateway", "conversations", "metadata", "presence", "webhooks"]
        var lines = [
            "Peak of resident memory in MB, beside what the process has at rest and what its budgets (docs/limits.md) come to.",
            "",
            "| \(first) | " + services.joined(separator: " | ") + " |",
            "|---|" + String(repeating: "--:|", count: services.count),
        ]
        for (pattern, memory) in results {
            let cells = services.map { service in
                let bound = (memory.rest[service] ?? 0) + (budgets[service] ?? 0)
                return "\((memory.peak[service] ?? 0) >> 20) of \(bound >> 20)"
            }
            lines.append("| \(pattern.title) | \(cells.joined(separator: " | ")) |")
        }
        return lines
    }

    static func median(_ values: [Double]) -> Double? { values.isEmpty ? nil : values.sorted()[values.count / 2] }
    static func figure(_ value: Double) -> String { String(format: "%.1f", value) }
}
