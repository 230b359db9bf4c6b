// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel
import StrataWire

/// The firing alerts of a Prometheus.
struct PrometheusAlerts: Sendable {
    let client: InternalClient
    /// The base URL, without a trailing slash.
    let url: String

    private struct Answer: Decodable {
        struct Content: Decodable {
            let alerts: [Item]
        }
        struct Item: Decodable {
            let labels: [String: String]
            let annotations: [String: String]
            let state: String
            let activeAt: String?
        }
        let data: Content
    }

    /// Returns the firing alerts; nil if Prometheus does not answer.
    func firing() async -> [Alert]? {
        guard let answer = try? await client.fetch("\(url)/api/v1/alerts", timeout: .seconds(2)), answer.status == 200
        else { return nil }
        return Self.firing(in: Array(answer.body.readableBytesView))
    }

    static func firing(in json: [UInt8]) -> [Alert]? {
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(json)) else { return nil }
        return answer.data.alerts.filter { $0.state == "firing" }
            .map { item in
                let since = item.activeAt.flatMap { ISO8601.parse($0) }
                return Alert(
                    name: item.labels["alertname"] ?? "unnamed", severity: item.labels["severity"] ?? "warning",
                    summary: item.annotations["summary"] ?? item.annotations["description"] ?? "",
                    since: Date(timeIntervalSince1970: Double(since?.microseconds ?? 0) / 1e6))
            }
    }
}
