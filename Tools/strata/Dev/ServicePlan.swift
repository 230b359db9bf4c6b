// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import LocalServers
import NIOCore
import NIOHTTP1

/// The processes to run, with their ports and environments. The plan is pure, except for two closures about ports.
struct ServicePlan: Equatable, Sendable {
    struct Instance: Equatable, Sendable {
        let kind: ServiceKind
        /// The number of the instance, counted from 1.
        let number: Int
        let adminPort: Int
        /// The port on which the instance receives RPC calls.
        let rpcPort: Int?
        /// The port for clients of a gateway, or for browsers of the console.
        let httpPort: Int?
        let httpsPort: Int?

        /// The instance's name, `gateway-1` for example.
        var name: String { "\(kind.rawValue)-\(number)" }
    }

    /// The values that the services need in addition to ports.
    struct Context: Sendable {
        var settings: DevSettings
        var clusterSecret: String
        /// The secret that the webhooks service shares with its callers.
        var webhooksSecret: String
        /// The libpq URL of each service that has a database; the URLs of several databases with their names.
        var postgresURLs: [ServiceKind: String]
        var redisURL: String
        var certificate: String
        var key: String
        /// The environment of this process. The operator's service settings in it are passed on.
        var inherited: [String: String]
        /// The directory in which gateways store rich content, unless the operator has set another one.
        var contentDirectory: String?
        /// The names of several databases, separated by commas.
        var databases: String?
    }

    /// The instances, in the order in which they are started.
    let instances: [Instance]

    /// Assigns the ports.
    /// - Parameters:
    ///   - isFree: Returns true if a gateway can listen on a port.
    ///   - takePorts: Returns the given number of unused ports, for internal connections.
    /// - Throws: ``CommandFailure`` that names the port of the first gateway if it is in use.
    init(settings: DevSettings, isFree: (Int) -> Bool, takePorts: (Int) throws -> [Int]) throws {
        let services: [(ServiceKind, Int)] = ServiceKind.allCases.flatMap { kind in
            (0..<(settings.instances[kind] ?? 0)).map { (kind, $0 + 1) }
        }
        // Request three ports more than needed, because the ports of the settings may be among them.
        let wanted = [settings.httpPort, settings.httpsPort, settings.consolePort].compactMap { $0 }
        var inner = Set(try takePorts(services.count * 2 + 3)).subtracting(wanted).sorted()
        var taken = Set(inner)
        let count = settings.instances[.gateway] ?? 0
        let http = try Self.gatewayPorts(
            count, from: settings.httpPort, for: "HTTP", flag: "--http-port", taken: &taken,
            reserved: [settings.httpsPort], isFree: isFree)
        let https = try Self.gatewayPorts(
            count, from: settings.httpsPort, for: "HTTPS", flag: "--https-port", taken: &taken, reserved: [],
            isFree: isFree)
        let console = try settings.consolePort.map { try Self.consolePort($0, taken: &taken, isFree: isFree) }
        instances = services.map { kind, number in
            let admin = inner.removeLast()
            let rpc = inner.removeLast()
            return Instance(
                kind: kind, number: number, adminPort: admin, rpcPort: kind.takesCalls ? rpc : nil,
                httpPort: kind == .gateway ? http[number - 1] : kind == .console ? console : nil,
                httpsPort: kind == .gateway ? https[number - 1] : nil)
        }
    }

    /// Assigns the ports of gateways. The first gateway gets exactly the given port, the others get the next free ones.
    private static func gatewayPorts(
        _ count: Int, from first: Int, for what: String, flag: String, taken: inout Set<Int>, reserved: Set<Int>,
        isFree: (Int) -> Bool
    ) throws -> [Int] {
        guard isFree(first) else {
            let who = PortOwner.listening(on: first).map { " by \($0)" } ?? ""
            throw CommandFailure(
                .configuration,
                "Port \(first), wanted for \(what), is in use\(who). Stop that, or choose another port with \(flag).")
        }
        taken.insert(first)
        let further = nextPorts(count - 1, from: first + 1, taken: &taken, reserved: reserved, isFree: isFree)
        guard further.count == count - 1 else {
            throw CommandFailure(
                .configuration,
                "There are not enough free ports above \(first) for \(count) gateways; choose another with \(flag).")
        }
        return [first] + further
    }

    /// Assigns the port of the console: the given one, or the next free one.
    private static func consolePort(_ first: Int, taken: inout Set<Int>, isFree: (Int) -> Bool) throws -> Int {
        guard let port = nextPorts(1, from: first, taken: &taken, reserved: [], isFree: isFree).first else {
            throw CommandFailure(
                .configuration, "No port from \(first) on is free for the console; choose another with --console-port.")
        }
        return port
    }

    /// Returns the next free ports, up to `count`.
    private static func nextPorts(
        _ count: Int, from first: Int, taken: inout Set<Int>, reserved: Set<Int>, isFree: (Int) -> Bool
    ) -> [Int] {
        var ports: [Int] = []
        var candidate = first
        while ports.count < count, candidate <= 65_535 {
            if !taken.contains(candidate), !reserved.contains(candidate), isFree(candidate) {
                ports.append(candidate)
                taken.insert(candidate)
            }
            candidate += 1
        }
        return ports
    }

    /// Returns the RPC addresses of all instances of a service, separated by commas.
    func addresses(of kind: ServiceKind) -> String {
        instances.filter { $0.kind == kind }.compactMap { $0.rpcPort.map { "127.0.0.1:\($0)" } }.joined(separator: ",")
    }

    /// The settings of this command. They are not passed on, because services report unknown settings.
    private static let ownKeys: Set<String> = [
        "STRATA_HOME", "STRATA_DATABASE_URL", "STRATA_DATABASES", "STRATA_HTTP_HOST", "STRATA_HTTP_PORT",
        "STRATA_HTTPS_PORT", "STRATA_PUBLIC_URL", "STRATA_STRICT",
        "STRATA_CONVERSATIONS_PASSWORD", "STRATA_METADATA_PASSWORD",
        "STRATA_WEBHOOKS_PASSWORD", "STRATA_CONSOLE_PASSWORD", "STRATA_CONSOLE", "STRATA_CONSOLE_PORT",
        "STRATA_CONSOLE_URL",
    ]

    func environment(of instance: Instance, in context: Context) -> [String: String] {
        var environment = context.inherited.filter {
            !Self.ownKeys.contains($0.key) && !$0.key.hasPrefix("STRATA_TEST_")
        }
        // On one machine clients need little time to end their connections.
        if environment["STRATA_SHUTDOWN_TIMEOUT"] == nil { environment["STRATA_SHUTDOWN_TIMEOUT"] = "10s" }
        environment["STRATA_INSTANCE"] = instance.name
        environment["STRATA_CLUSTER_SECRET"] = instance.kind == .webhooks ? nil : context.clusterSecret
        environment["STRATA_WEBHOOKS_SECRET"] =
            [.webhooks, .gateway, .console].contains(instance.kind) ? context.webhooksSecret : nil
        environment["STRATA_LOG_LEVEL"] = context.settings.logLevel
        environment["STRATA_ADMIN_HOST"] = "127.0.0.1"
        environment["STRATA_ADMIN_PORT"] = "\(instance.adminPort)"
        environment["STRATA_REDIS_URL"] = context.redisURL
        environment["STRATA_POSTGRES_URL"] = context.postgresURLs[instance.kind]
        if instance.kind == .webhooks {
            environment["STRATA_PUBLIC_URL"] = context.settings.publicURL
            // A developer's receivers run on this machine without certificates.
            if environment["STRATA_WEBHOOKS_ALLOW_HTTP"] == nil { environment["STRATA_WEBHOOKS_ALLOW_HTTP"] = "true" }
            if environment["STRATA_WEBHOOKS_ALLOW_PRIVATE"] == nil {
                environment["STRATA_WEBHOOKS_ALLOW_PRIVATE"] = "127.0.0.0/8,::1/128"
            }
        }
        if let port = instance.rpcPort {
            environment["STRATA_RPC_HOST"] = "127.0.0.1"
            environment["STRATA_RPC_PORT"] = "\(port)"
        }
        if let http = instance.httpPort, let https = instance.httpsPort {
            environment["STRATA_HTTP_HOST"] = context.settings.host
            environment["STRATA_HTTP_PORT"] = "\(http)"
            environment["STRATA_HTTPS_PORT"] = "\(https)"
            environment["STRATA_TLS_CERTIFICATE"] = context.certificate
            environment["STRATA_TLS_KEY"] = context.key
            environment["STRATA_PUBLIC_URL"] = context.settings.publicURL
            environment["STRATA_DATABASES"] = context.databases
            if environment["STRATA_DEMO_PAGE"] == nil { environment["STRATA_DEMO_PAGE"] = "true" }
            environment["STRATA_CONTENT_DIRECTORY"] =
                context.inherited["STRATA_CONTENT_DIRECTORY"] ?? context.contentDirectory
        }
        if instance.kind == .console { environment.merge(consoleEnvironment(of: instance, in: context)) { $1 } }
        for kind in instance.kind.calls {
            environment["STRATA_\(kind.rawValue.uppercased())_ADDRESSES"] = addresses(of: kind)
        }
        return environment
    }

    /// Returns the settings that only the console has.
    private func consoleEnvironment(of instance: Instance, in context: Context) -> [String: String] {
        let host = context.settings.host == "0.0.0.0" ? "127.0.0.1" : context.settings.host
        let settings: [String: String?] = [
            "STRATA_CONSOLE_HOST": "127.0.0.1",
            "STRATA_CONSOLE_PORT": instance.httpPort.map { "\($0)" },
            "STRATA_CONSOLE_GATEWAY_URL": instances.first { $0.kind == .gateway }?.httpPort
                .map { "http://\(host):\($0)" },
            "STRATA_CONSOLE_INSTANCES": instances.map { "\($0.kind.rawValue)=127.0.0.1:\($0.adminPort)" }
                .joined(separator: ","),
            "STRATA_CONSOLE_ALLOW_HTTP": "true",
        ]
        return settings.compactMapValues { $0 }
    }
}

/// The executables of a system, in the order in which they are started.
enum ServiceKind: String, CaseIterable, Sendable {
    case conversations, metadata, presence, webhooks, gateway, console

    /// True if the service receives RPC calls. Gateways and the console only make them.
    var takesCalls: Bool { calls.isEmpty }

    /// The services that a process of this kind calls.
    var calls: [ServiceKind] {
        switch self {
        case .gateway: [.conversations, .metadata, .presence, .webhooks]
        case .console: [.conversations, .presence, .webhooks]
        default: []
        }
    }
}

/// The executables of the services, in the directory of this executable.
struct ServiceBinaries: Sendable {
    /// The absolute path of the directory.
    let directory: String

    /// - Parameter directory: The directory of the executables. nil: that of this executable.
    init(directory: String? = nil) {
        self.directory = directory ?? Self.own
    }

    func path(of kind: ServiceKind) -> String {
        "\(directory)/\(kind.rawValue)"
    }

    /// Returns those of the executables that do not exist.
    func missing(of kinds: [ServiceKind]) -> [ServiceKind] {
        kinds.filter { !FileManager.default.isExecutableFile(atPath: path(of: $0)) }
    }

    /// Checks that these executables exist.
    /// - Throws: ``CommandFailure`` that names the missing ones.
    func check(_ kinds: [ServiceKind]) throws {
        let missing = missing(of: kinds)
        guard !missing.isEmpty else { return }
        let names = missing.map(\.rawValue).joined(separator: ", ")
        throw CommandFailure(
            .unavailable,
            "The executables of these services are not in \(directory): \(names). Build them with: swift build")
    }

    private static var own: String {
        let link =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return (link as NSString).deletingLastPathComponent
    }
}

struct ReadyProbe: Sendable {
    /// The admin port on 127.0.0.1.
    let adminPort: Int

    /// Returns true if `/health/ready` answers 200.
    func isReady() async -> Bool {
        let request = HTTPClientRequest(url: "http://127.0.0.1:\(adminPort)/health/ready")
        guard let response = try? await HTTPClient.shared.execute(request, timeout: .seconds(2)) else { return false }
        _ = try? await response.body.collect(upTo: 65_536)
        return response.status == .ok
    }

    /// Polls until the service is ready.
    /// - Returns: False if the service is not ready after `limit`, or if `isHopeless` returns true.
    func wait(limit: Duration, isHopeless: @Sendable () async -> Bool = { false }) async throws -> Bool {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: limit)
        var pause = Duration.milliseconds(20)
        while clock.now < end {
            if await isReady() { return true }
            if await isHopeless() { return false }
            try await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(200))
        }
        return false
    }
}
