// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Hummingbird
import NIOCore
import StrataModel
import Synchronization

/// The answer of `GET /api/overview`.
struct Overview: Encodable, Sendable {
    struct Instance: Encodable, Sendable {
        let kind: String
        let instance: String
        let address: String
        let ready: Bool
        let version: String?
        let checks: [InstanceReading.Check]
        let startedAt: Date?

        init(_ reading: InstanceReading) {
            (kind, instance, address) = (reading.kind, reading.key, reading.address)
            (ready, version, checks) = (reading.isReady, reading.health?.version, reading.health?.checks ?? [])
            startedAt = reading.metrics.startedAt.map { Date(timeIntervalSince1970: $0) }
        }
    }

    struct Unreachable: Encodable, Sendable {
        let kind: String
        let address: String
        let reason: String
    }

    struct Latency: Encodable, Sendable {
        let p50Ms: Double?
        let p99Ms: Double?
    }

    struct Webhooks: Encodable, Sendable {
        let waiting: Int
        let failing: Int
        let oldestSeconds: Int
    }

    let at: Date
    let instances: [Instance]
    let unreachable: [Unreachable]
    let sockets: Int
    let messagesPerSecond: Double?
    let latency: Latency
    let webhooks: Webhooks?
    let alerts: [Alert]
    /// `prometheus` or `own`.
    let alertsSource: String
    let databaseBytes: Int64?
    let series: [SamplePoint]
}

extension Overview.Webhooks {
    /// The backlog, which every instance of webhooks reports for all of them. Nil: there is none.
    init?(_ readings: [InstanceReading]) {
        let metrics = readings.filter { $0.kind == "webhooks" && $0.failure == nil }.map(\.metrics)
        guard !metrics.isEmpty else { return nil }
        waiting = Int(metrics.map(\.webhooksWaiting).max() ?? 0)
        failing = Int(metrics.map(\.webhooksFailing).max() ?? 0)
        oldestSeconds = Int(metrics.map(\.webhooksOldest).max() ?? 0)
    }
}

/// The overview. It is read on request, at most every four seconds.
actor OverviewMonitor {
    private static let freshness = Duration.seconds(4)
    private static let databaseFreshness = Duration.seconds(60)

    private let reader: InstanceReader
    private let alerts: PrometheusAlerts?
    private let reports: Reports
    private var history = SampleHistory()
    private var findings = Findings()
    private var latest: (overview: Overview, at: ContinuousClock.Instant)?
    private var databaseBytes: (count: Int64?, at: ContinuousClock.Instant)?
    private var reading: Task<Overview, Never>?

    init(reader: InstanceReader, alerts: PrometheusAlerts?, reports: Reports) {
        (self.reader, self.alerts, self.reports) = (reader, alerts, reports)
    }

    /// Returns the overview. Concurrent callers share one reading.
    func overview() async -> Overview {
        if let latest, .now - latest.at < Self.freshness { return latest.overview }
        let task = reading ?? Task { await read() }
        reading = task
        return await task.value
    }

    private func read() async -> Overview {
        async let readings = reader.read()
        async let firing = alerts?.firing()
        async let bytes = readDatabaseBytes()
        let overview = make(await readings, firing: await firing ?? nil, databaseBytes: await bytes)
        latest = (overview, .now)
        reading = nil
        return overview
    }

    private func make(_ readings: [InstanceReading], firing: [Alert]?, databaseBytes: Int64?) -> Overview {
        let now = Date()
        let point = history.add(readings, at: now)
        let own = findings.update(readings, at: now)
        return Overview(
            at: now, instances: readings.filter { $0.failure == nil }.map { Overview.Instance($0) },
            unreachable: readings.compactMap { reading in
                reading.failure.map { .init(kind: reading.kind, address: reading.address, reason: $0) }
            },
            sockets: point.sockets, messagesPerSecond: point.messagesPerSecond,
            latency: .init(p50Ms: point.p50Ms, p99Ms: point.p99Ms), webhooks: .init(readings),
            alerts: own + (firing ?? []), alertsSource: firing == nil ? "own" : "prometheus",
            databaseBytes: databaseBytes, series: history.points)
    }

    private struct Space: Decodable {
        let databaseBytes: Int64
    }

    private func readDatabaseBytes() async -> Int64? {
        if let databaseBytes, .now - databaseBytes.at < Self.databaseFreshness { return databaseBytes.count }
        let space: Space? = try? ConsoleJSON.decode(await reports.read("space"))
        databaseBytes = (space?.databaseBytes, .now)
        return space?.databaseBytes
    }
}

struct OverviewRoutes: ConsoleFeature {
    let monitor: OverviewMonitor

    func add(to routes: ConsoleRoutes) {
        routes.get("/api/overview") { _, _ in .json(await monitor.overview()) }
    }
}
