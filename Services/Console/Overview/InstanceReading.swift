// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import NetKit
import StrataModel

/// The state of one process, as its admin port shows it.
struct InstanceReading: Sendable {
    /// A readiness check.
    struct Check: Codable, Hashable, Sendable {
        let name: String
        let status: String
        let reason: String?
        let milliseconds: Int
    }

    /// The report of `/health/ready`.
    struct Health: Decodable, Sendable {
        let status: String
        let version: String?
        let checks: [Check]
    }

    /// The kind of process, for example `gateway`.
    let kind: String
    /// The numeric address of the admin port, or its name if the name has no address.
    let address: String
    /// The reason why the process could not be asked; nil: it answered.
    var failure: String?
    var health: Health?
    var metrics = InstanceMetrics()

    var key: String { "\(kind) \(address)" }
    var isReady: Bool { health?.status == "ready" }
}

/// The numbers that the overview needs from the metrics of one process.
struct InstanceMetrics: Hashable, Sendable {
    /// The time at which the process started, in seconds since 1970.
    var startedAt: Double?
    var sockets = 0.0
    /// The number of messages sent since the start.
    var messages = 0.0
    /// The cumulative numbers of answered requests by the upper bound of their duration, in seconds.
    var durations: [Double: Double] = [:]
    var webhooksWaiting = 0.0
    var webhooksFailing = 0.0
    var webhooksOldest = 0.0

    /// The magnitude from which a value is a mistake. Smaller ones are whole numbers without loss.
    private static let limit = 1e15

    static let names: Set<String> = [
        "process_start_time_seconds", "strata_gateway_sockets", "strata_rpc_server_calls_total",
        "strata_gateway_request_duration_seconds_bucket", "strata_webhooks_waiting_conversations",
        "strata_webhooks_failing_conversations", "strata_webhooks_oldest_waiting_seconds",
    ]

    init(_ samples: [PrometheusText.Sample] = []) {
        for sample in samples where sample.value.isFinite && abs(sample.value) < Self.limit {
            let (labels, value) = (sample.labels, sample.value)
            switch sample.name {
            case "process_start_time_seconds": startedAt = value
            case "strata_gateway_sockets": sockets += value
            case "strata_rpc_server_calls_total" where labels["outcome"] == "ok" && labels["method"] == "sendMessage":
                messages += value
            // Uploads of content take as long as their clients do.
            case "strata_gateway_request_duration_seconds_bucket" where labels["method"] != "PUT":
                if let bound = labels["le"].flatMap({ Double($0) }) { durations[bound, default: 0] += value }
            case "strata_webhooks_waiting_conversations": webhooksWaiting += value
            case "strata_webhooks_failing_conversations": webhooksFailing += value
            case "strata_webhooks_oldest_waiting_seconds": webhooksOldest = max(webhooksOldest, value)
            default: break
            }
        }
    }
}

/// A reader of the admin ports of all processes.
struct InstanceReader: Sendable {
    let client: InternalClient
    let instances: [InstanceName]
    private static let timeout = Duration.seconds(2)

    /// Asks all processes at the same time.
    func read() async -> [InstanceReading] {
        await withTaskGroup(of: [InstanceReading].self) { group in
            for name in instances { group.addTask { await read(name) } }
            var readings: [InstanceReading] = []
            for await found in group { readings += found }
            return readings.sorted { ($0.kind, $0.address) < ($1.kind, $1.address) }
        }
    }

    private func read(_ name: InstanceName) async -> [InstanceReading] {
        guard let addresses = try? await name.addresses() else {
            return [
                InstanceReading(kind: name.kind, address: "\(name.endpoint)", failure: "the name has no address")
            ]
        }
        return await withTaskGroup(of: InstanceReading.self) { group in
            for address in addresses { group.addTask { await read(name.kind, at: "\(address)") } }
            var readings: [InstanceReading] = []
            for await reading in group { readings.append(reading) }
            return readings
        }
    }

    private func read(_ kind: String, at address: String) async -> InstanceReading {
        var reading = InstanceReading(kind: kind, address: address)
        do {
            async let metrics = client.fetch("http://\(address)/metrics", timeout: Self.timeout)
            // A process that is not ready answers 503, with the same report.
            let health = try await client.fetch("http://\(address)/health/ready", timeout: Self.timeout)
            reading.health = try ConsoleJSON.decode(health.body)
            let text = String(buffer: try await metrics.body)
            reading.metrics = InstanceMetrics(PrometheusText.samples(in: text, of: InstanceMetrics.names))
        } catch {
            reading.failure = "it does not answer within \(Self.timeout)"
        }
        return reading
    }
}
