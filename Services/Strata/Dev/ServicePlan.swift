// SPDX-License-Identifier: Apache-2.0

import LocalServers

/// Which processes run, on which ports, and what each is told in its environment. Pure but for the two questions about ports.
struct ServicePlan: Equatable, Sendable {
    struct Instance: Equatable, Sendable {
        let kind: ServiceKind
        /// Counted from 1.
        let number: Int
        let adminPort: Int
        /// Where it takes calls.
        let rpcPort: Int?
        let httpPort: Int?
        let httpsPort: Int?

        /// `gateway-1`.
        var name: String { "\(kind.rawValue)-\(number)" }
    }

    /// What the services have to know beside ports.
    struct Context: Sendable {
        var settings: DevSettings
        var clusterSecret: String
        /// The secret that gateways and the webhooks service share.
        var webhooksSecret: String
        /// libpq URL of each service that has a database.
        var postgresURLs: [ServiceKind: String]
        var redisURL: String
        var certificate: String
        var key: String
        /// Our own environment: settings of the services that the operator made there are handed on.
        var inherited: [String: String]
        /// Where gateways keep rich content, unless the operator has said otherwise.
        var contentDirectory: String?
    }

    /// In the order in which they are started.
    let instances: [Instance]

    /// Deals out the ports.
    /// - Parameters:
    ///   - settings: what is wanted.
    ///   - isFree: whether a gateway can listen on a port.
    ///   - takePorts: so many unused ports, for what happens between processes.
    /// - Throws: ``CommandFailure`` that names the port of the first gateway that is in use.
    init(settings: DevSettings, isFree: (Int) -> Bool, takePorts: (Int) throws -> [Int]) throws {
        let services: [(ServiceKind, Int)] = ServiceKind.allCases.flatMap { kind in (0..<(settings.instances[kind] ?? 0)).map { (kind, $0 + 1) } }
        // Two more than are needed, in case that what gateways are to listen on is among them.
        var inner = Set(try takePorts(services.count * 2 + 2)).subtracting([settings.httpPort, settings.httpsPort]).sorted()
        var taken = Set(inner)
        let count = settings.instances[.gateway] ?? 0
        let http = try Self.gatewayPorts(
            count, from: settings.httpPort, for: "HTTP", flag: "--http-port", taken: &taken, reserved: [settings.httpsPort], isFree: isFree)
        let https = try Self.gatewayPorts(
            count, from: settings.httpsPort, for: "HTTPS", flag: "--https-port", taken: &taken, reserved: [], isFree: isFree)
        instances = services.map { kind, number in
            let admin = inner.removeLast()
            let rpc = inner.removeLast()
            let isGateway = kind == .gateway
            return Instance(
                kind: kind, number: number, adminPort: admin, rpcPort: kind.takesCalls ? rpc : nil, httpPort: isGateway ? http[number - 1] : nil,
                httpsPort: isGateway ? https[number - 1] : nil)
        }
    }

    /// The first gateway gets exactly the port that was asked for, the others the next ones that are free.
    private static func gatewayPorts(
        _ count: Int, from first: Int, for what: String, flag: String, taken: inout Set<Int>, reserved: Set<Int>, isFree: (Int) -> Bool
    ) throws -> [Int] {
        guard isFree(first) else {
            let who = PortOwner.listening(on: first).map { " by \($0)" } ?? ""
            throw CommandFailure(
                .configuration, "Port \(first), wanted for \(what), is in use\(who). Stop that, or choose another port with \(flag).")
        }
        var ports = [first]
        taken.insert(first)
        var candidate = first + 1
        while ports.count < count, candidate <= 65_535 {
            if !taken.contains(candidate), !reserved.contains(candidate), isFree(candidate) {
                ports.append(candidate)
                taken.insert(candidate)
            }
            candidate += 1
        }
        guard ports.count == count else {
            throw CommandFailure(.configuration, "There are not enough free ports above \(first) for \(count) gateways; choose another with \(flag).")
        }
        return ports
    }

    /// The addresses, comma-separated, at which all instances of a service take calls.
    func addresses(of kind: ServiceKind) -> String {
        instances.filter { $0.kind == kind }.compactMap { $0.rpcPort.map { "127.0.0.1:\($0)" } }.joined(separator: ",")
    }

    /// Settings of this command. Services complain about settings they do not know.
    private static let ownKeys: Set<String> = [
        "STRATA_HOME", "STRATA_DATABASE_URL", "STRATA_HTTP_HOST", "STRATA_HTTP_PORT", "STRATA_HTTPS_PORT", "STRATA_PUBLIC_URL", "STRATA_STRICT",
        "STRATA_CONVERSATIONS_PASSWORD", "STRATA_METADATA_PASSWORD",
        "STRATA_WEBHOOKS_PASSWORD",
    ]

    func environment(of instance: Instance, in context: Context) -> [String: String] {
        var environment = context.inherited.filter { !Self.ownKeys.contains($0.key) && !$0.key.hasPrefix("STRATA_TEST_") }
        // On one machine there is no need to wait long for clients to end their connections.
        if environment["STRATA_SHUTDOWN_TIMEOUT"] == nil { environment["STRATA_SHUTDOWN_TIMEOUT"] = "10s" }
        environment["STRATA_INSTANCE"] = instance.name
        environment["STRATA_CLUSTER_SECRET"] = instance.kind == .webhooks ? nil : context.clusterSecret
        environment["STRATA_WEBHOOKS_SECRET"] = [.webhooks, .gateway].contains(instance.kind) ? context.webhooksSecret : nil
        environment["STRATA_LOG_LEVEL"] = context.settings.logLevel
        environment["STRATA_ADMIN_HOST"] = "127.0.0.1"
        environment["STRATA_ADMIN_PORT"] = "\(instance.adminPort)"
        environment["STRATA_REDIS_URL"] = context.redisURL
        environment["STRATA_POSTGRES_URL"] = context.postgresURLs[instance.kind]
        if instance.kind == .webhooks {
            environment["STRATA_PUBLIC_URL"] = context.settings.publicURL
            // Receivers of a developer are on this machine, and without certificates.
            if environment["STRATA_WEBHOOKS_ALLOW_HTTP"] == nil { environment["STRATA_WEBHOOKS_ALLOW_HTTP"] = "true" }
            if environment["STRATA_WEBHOOKS_ALLOW_PRIVATE"] == nil { environment["STRATA_WEBHOOKS_ALLOW_PRIVATE"] = "127.0.0.0/8,::1/128" }
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
            environment["STRATA_CONTENT_DIRECTORY"] = context.inherited["STRATA_CONTENT_DIRECTORY"] ?? context.contentDirectory
            for kind in ServiceKind.allCases where kind.takesCalls {
                environment["STRATA_\(kind.rawValue.uppercased())_ADDRESSES"] = addresses(of: kind)
            }
        }
        return environment
    }
}
