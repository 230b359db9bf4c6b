// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import LocalServers
import NIOPosix
import NetKit
import ProtocolClient
import StrataCommand

/// The options of scenarios.
struct LoadOptions: ParsableArguments {
    @Option(help: "Seconds of each measurement. (default: 10; of a part: 5)")
    var seconds: Int?
    @Option(help: "Runs of each variant, in turns, of which the median is printed. (default: 3; hostile: 5)")
    var runs: Int?
    @Option(
        name: .customLong("deliveries"),
        help: "Deliveries per second of chat, fanout, typing or metadata; can be repeated. (default: as documented)")
    var deliveries: [Double] = []
    @Option(name: .customLong("mode"), help: "How operations follow each other; both if it is left out.")
    var modes: [ScenarioSettings.Mode] = []
    @Option(help: "Operations of each sender in flight, if saturated. (default: as documented)")
    var window: Int?
    @Option(help: "Length of a message's text in bytes.")
    var bytes = 400
    @Option(help: "Connections of storm and idle. (default: 5000, 10000)")
    var connections: Int?
    @Option(help: "Gateways of the system under load.")
    var gateways = 1
    @Option(help: "Instances of each service of the system under load.")
    var instances = 1
    @Option(help: "Event loops of the load generator. (default: one for two processors, at most 4)")
    var loops: Int?
    @Option(help: "Largest p99 of the generator's lag at a fixed rate in milliseconds; beyond it no figure is printed.")
    var lagBound = 5.0
    @Option(help: "Largest share of a processor of each of the generator's loops; beyond it no figure is printed.")
    var shareBound = 0.8
    @Option(help: ArgumentHelp("Write all runs and medians as JSON, too.", valueName: "file"))
    var json: String?
    @Option(help: ArgumentHelp("Measure curves, too, and write their plots (SVG) to this folder.", valueName: "folder"))
    var plots: String?

    func validate() throws {
        guard seconds.map({ $0 > 0 }) != false, runs.map({ $0 > 0 }) != false else {
            throw ValidationError("--seconds and --runs must be at least 1.")
        }
        guard deliveries.allSatisfy({ $0 > 0 }), window.map({ $0 > 0 }) != false else {
            throw ValidationError("--deliveries and --window must be greater than 0.")
        }
        guard bytes >= OperationMark.byteCount else {
            throw ValidationError("--bytes must be at least \(OperationMark.byteCount).")
        }
        guard connections.map({ (5...60_000).contains($0) }) != false else {
            throw ValidationError("--connections must be between 5 and 60000.")
        }
        guard loops.map({ (1...64).contains($0) }) != false else {
            throw ValidationError("--loops must be between 1 and 64.")
        }
        guard (1...16).contains(gateways), (1...16).contains(instances) else {
            throw ValidationError("--gateways and --instances must be between 1 and 16.")
        }
    }

    var settings: ScenarioSettings {
        var settings = ScenarioSettings()
        settings.runs = runs ?? 3
        settings.seconds = Double(seconds ?? 10)
        settings.rates = deliveries
        if !modes.isEmpty { settings.modes = Set(modes) }
        settings.window = window
        settings.bytes = bytes
        settings.connections = connections
        settings.instances = [
            "gateways": gateways, "conversations": instances, "metadata": instances, "presence": instances,
            "webhooks": instances,
        ]
        settings.bounds = SaturationBounds(share: shareBound, lag: lagBound)
        return settings
    }
}

extension ScenarioSettings.Mode: ExpressibleByArgument {}

/// The options that name a Strata elsewhere.
struct RemoteOptions: ParsableArguments {
    @Option(help: "Base URL of a running Strata to drive. (default: a system of its own for each scenario)")
    var url: String?
    @Option(help: "The app whose users the load signs in, with --url. They are named bench-u0, bench-u1, …")
    var app: String?
    @Option(help: ArgumentHelp("PEM file of the app's private key, with --url.", valueName: "file"))
    var key: String?
    @Option(help: "Id of that key.")
    var keyID: String?
    @Option(help: "Id of the app's provider.")
    var provider: String?
    @Option(help: ArgumentHelp("PEM file of the certificates to trust, with --url.", valueName: "file"))
    var ca: String?
    @Flag(help: "Accept any TLS certificate, with --url.")
    var insecure = false

    func validate() throws {
        let needed = [app, key, keyID, provider].compactMap { $0 }
        guard url == nil ? needed.isEmpty : needed.count == 4 else {
            throw ValidationError("--url, --app, --key, --key-id and --provider go together.")
        }
    }

    /// Returns the remote Strata; nil if none is named.
    func target() throws -> LoadTarget? {
        guard let url, let app, let key, let keyID, let provider else { return nil }
        let trust: ServerTrust
        if insecure {
            trust = .anyCertificate
        } else if let ca {
            trust = .roots(pem: try String(contentsOfFile: ca, encoding: .utf8))
        } else {
            trust = .system
        }
        let remote = LoadTarget.RemoteApp(
            url: url, id: try Self.id(app, "--app"), provider: try Self.id(provider, "--provider"),
            keyID: try Self.id(keyID, "--key-id"), privateKey: try String(contentsOfFile: key, encoding: .utf8),
            trust: trust)
        return try LoadTarget(remote, address: LoadAddress(url: url, certificates: ca, acceptsAny: insecure))
    }

    /// Parses a UUID, alone or as the last part of a `layer:///` id.
    private static func id(_ text: String, _ option: String) throws -> UUID {
        guard let last = text.split(separator: "/").last, let id = UUID(uuidString: String(last)) else {
            throw ValidationError("\(option) must be a UUID or end with one.")
        }
        return id
    }
}

/// The options of the parts that are no scenarios, and their runs.
struct ComponentOptions: ParsableArguments {
    @Option(help: "Readers that stop, beside fifty that do not (slow).")
    var slow = 1000
    @Option(help: "Messages per second beside slow readers.")
    var rate = 20.0
    @Option(
        name: .customLong("pattern"), help: "What hostile users and apps do; everything they can if it is left out.")
    var patterns: [HostilePattern] = []
    @Option(
        help: """
            Seconds between what hostile users prepare and the first run, so that it is not in the victim's replays; \
            beside a hostile app the victim works for as long before each kind of run.
            """)
    var settling = 45
    @Option(name: .customLong("step"), help: "What is measured of the client library; everything if it is left out.")
    var steps: [KitBench.Step] = []

    func validate() throws {
        guard slow > 0, rate > 0, settling >= 0 else {
            throw ValidationError("--slow and --rate must be greater than 0, --settling at least 0.")
        }
    }

    /// Measures a part.
    /// - Parameters:
    ///   - seconds: The length of a measurement; nil: 5 s.
    ///   - runs: The runs of each hostile pattern; nil: 5.
    /// - Returns: The lines to print.
    func measure(_ part: BenchCommand.Part, seconds: Int?, runs: Int?) async throws -> [String] {
        let seconds = seconds ?? 5
        let group = MultiThreadedEventLoopGroup.singleton
        switch part {
        case .wire: return WireBench.run()
        case .rpc: return try await RPCBench.run(seconds: Double(seconds))
        case .redis: return try await redis(seconds)
        case .postgres: return try await postgres(seconds)
        case .slow: return try await slowReaders(seconds)
        case .kit:
            return try await KitBench.run(steps.isEmpty ? Set(KitBench.Step.allCases) : Set(steps), group: group)
        case .webhooks: return try await WebhookBench.run(group: group)
        case .hostile:
            return try await HostileBench.run(
                patterns.isEmpty ? HostilePattern.allCases : patterns, runs: runs ?? 5, seconds: seconds,
                settling: settling, group: group)
        default: return []
        }
    }

    private func slowReaders(_ seconds: Int) async throws -> [String] {
        let system = try await BenchSystem(settings: ["STRATA_SOCKET_BACKLOG_BYTES": "\(SlowReaderBench.backlog)"])
        do {
            let lines = try await SlowReaderBench.run(
                system, seconds: seconds, rate: rate, slow: slow, group: MultiThreadedEventLoopGroup.singleton)
            try await system.stop()
            return lines
        } catch {
            try await system.stop()
            throw error
        }
    }

    private func redis(_ seconds: Int) async throws -> [String] {
        try await inHome { home in
            let redis = try await PrivateRedis.start(.init(directory: home + "/redis"))
            let lines = try await RedisBench.run(redisHost: redis.host, redisPort: redis.port, seconds: Double(seconds))
            await redis.stop()
            return lines
        }
    }

    private func postgres(_ seconds: Int) async throws -> [String] {
        try await inHome { home in
            let postgres = try await PrivatePostgres.start(.init(directory: home + "/postgres", password: nil))
            let lines = try await PostgresBench.run(postgresURL: postgres.url(), seconds: Double(seconds))
            await postgres.stop()
            return lines
        }
    }

    private func inHome(_ body: (String) async throws -> [String]) async throws -> [String] {
        let home = FileManager.default.temporaryDirectory
            .appendingPathComponent("strata-bench-\(UUID().uuidString.prefix(8))").path
        defer { try? FileManager.default.removeItem(atPath: home) }
        return try await body(home)
    }
}

extension KitBench.Step: ExpressibleByArgument {}
