// SPDX-License-Identifier: Apache-2.0

import Contracts
public import DatabaseKit
import Foundation
public import NIOSSL
public import RPC
public import ServiceKit

/// The settings of the webhooks service. Each value names its environment variable.
public struct WebhooksSettings: ServiceSettings {
    /// The database, with the role `strata_webhooks`.
    public var postgres: PostgresSettings
    /// The server for calls (`STRATA_RPC_…`). `STRATA_WEBHOOKS_SECRET`: the secret that gateways must hold, required.
    /// The key that encrypts the secrets of hooks is derived from it.
    public var rpc: RPCServerConfiguration
    /// The base of the URLs in payloads, equal to that of the gateways. `STRATA_PUBLIC_URL`: required.
    public var publicURL: String
    /// The number of connections to PostgreSQL. `STRATA_WEBHOOKS_CONNECTIONS`: 1 to 64, default 4.
    public var connections = 4
    /// The time that a receiver may take to answer. `STRATA_WEBHOOKS_TIMEOUT`: 100ms to 60s, default 10s. The
    /// protocol's second is too short for receivers that work before they answer.
    public var timeout = Duration.seconds(10)
    /// The maximum number of conversations of one hook that are delivered concurrently. `STRATA_WEBHOOKS_PER_HOOK`: 1
    /// to 1000, default 32.
    public var perHook = 32
    /// The maximum number of conversations that are delivered concurrently to one host and port, over all hooks.
    /// `STRATA_WEBHOOKS_PER_HOST`: 1 to 1000, default 64.
    public var perHost = 64
    /// The maximum number of conversations that are delivered concurrently, over all hooks.
    /// `STRATA_WEBHOOKS_IN_FLIGHT`: 1 to 10,000, default 256.
    public var inFlight = 256
    /// The maximum size of events and requests in memory. `STRATA_WEBHOOKS_BYTES`: 4 MB to 16 GB, default 64 MB.
    public var bytes = 64 << 20
    /// The maximum backlog of one hook. A hook with a larger one becomes inactive. `STRATA_WEBHOOKS_HOOK_BYTES`: 1 MB
    /// to 1 TB, default 256 MB.
    public var hookBytes = 256 << 20
    /// The maximum backlog of all hooks of one app. `STRATA_WEBHOOKS_APP_BYTES`: 1 MB to 1 TB, default 1 GB.
    public var appBytes = 1 << 30
    /// The maximum number of hooks of one app. `STRATA_WEBHOOKS_PER_APP`: 1 to 1000, default 20.
    public var perApp = 20
    /// The minimum size of the secret of a registered hook. `STRATA_WEBHOOKS_SECRET_MIN_BYTES`: bytes, 1 to 1024,
    /// default 16. Secrets in examples of older client libraries are shorter.
    public var secretMinBytes = 16
    /// The retry schedule of failed deliveries:
    /// - `STRATA_WEBHOOKS_RETRY_AFTER`: the pauses before the first retries, default 10s,30s,120s,300s,1200s.
    /// - `STRATA_WEBHOOKS_RETRY_EVERY`: the pause before each later retry, default 1h.
    /// - `STRATA_WEBHOOKS_RETRY_FOR`: the period of later retries, default 72h.
    public var retries = RetrySchedule.standard
    /// The time for which an inactive hook keeps its backlog. `STRATA_WEBHOOKS_KEEP`: 1s to 365d, default 7d.
    public var keep = Duration.seconds(7 * 86_400)
    /// True if receivers without TLS are allowed, for development. `STRATA_WEBHOOKS_ALLOW_HTTP`: default false.
    public var allowsHTTP = false
    /// Private or reserved address blocks that may be called, for example `10.20.0.0/16`.
    /// `STRATA_WEBHOOKS_ALLOW_PRIVATE`: default none.
    public var allowedAddresses: [AddressBlock] = []
    /// Certificate authorities that are trusted in addition to the system's. `STRATA_WEBHOOKS_CA`: the path of a PEM
    /// file, default none.
    public var trustedRoots: [NIOSSLCertificate] = []
    /// The labels of gauges: the name of the database if there are several.
    var dimensions: [(String, String)] = []

    /// Creates settings with these addresses and otherwise the defaults above.
    public init(postgresURL: String, rpc: RPCServerConfiguration, publicURL: String) {
        postgres = PostgresSettings(url: postgresURL)
        self.rpc = rpc
        self.publicURL = publicURL
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the missing or invalid key.
    public init(_ settings: Settings, common: CommonSettings) throws {
        postgres = try PostgresSettings(settings)
        rpc = try settings.rpcServer(name: "webhooks", common).withMethodNames
        publicURL = try settings.string("STRATA_PUBLIC_URL", expected: "a URL such as https://chat.example.org")
        connections = try settings.int("STRATA_WEBHOOKS_CONNECTIONS", default: connections, in: 1...64)
        timeout = try settings.duration(
            "STRATA_WEBHOOKS_TIMEOUT", default: timeout, in: .milliseconds(100) ... .seconds(60))
        perHook = try settings.int("STRATA_WEBHOOKS_PER_HOOK", default: perHook, in: 1...1000)
        perHost = try settings.int("STRATA_WEBHOOKS_PER_HOST", default: perHost, in: 1...1000)
        inFlight = try settings.int("STRATA_WEBHOOKS_IN_FLIGHT", default: inFlight, in: 1...10_000)
        bytes = try settings.int("STRATA_WEBHOOKS_BYTES", default: bytes, in: 4 << 20...16 << 30)
        hookBytes = try settings.int("STRATA_WEBHOOKS_HOOK_BYTES", default: hookBytes, in: 1 << 20...1 << 40)
        appBytes = try settings.int("STRATA_WEBHOOKS_APP_BYTES", default: appBytes, in: 1 << 20...1 << 40)
        perApp = try settings.int("STRATA_WEBHOOKS_PER_APP", default: perApp, in: 1...1000)
        secretMinBytes = try settings.int("STRATA_WEBHOOKS_SECRET_MIN_BYTES", default: secretMinBytes, in: 1...1024)
        retries = try RetrySchedule(settings)
        keep = try settings.duration("STRATA_WEBHOOKS_KEEP", default: keep, in: .seconds(1) ... .seconds(365 * 86_400))
        allowsHTTP = try settings.bool("STRATA_WEBHOOKS_ALLOW_HTTP", default: allowsHTTP)
        allowedAddresses = try settings.strings("STRATA_WEBHOOKS_ALLOW_PRIVATE", default: [])
            .map { text in
                guard let block = AddressBlock(text) else {
                    throw SettingsError(
                        key: "STRATA_WEBHOOKS_ALLOW_PRIVATE", problem: .invalid,
                        expected: "blocks of addresses such as 10.20.0.0/16, separated by commas")
                }
                return block
            }
        if let path = try settings.optionalString("STRATA_WEBHOOKS_CA") {
            do {
                trustedRoots = try NIOSSLCertificate.fromPEMFile(path)
            } catch {
                throw SettingsError(
                    key: "STRATA_WEBHOOKS_CA", problem: .invalid, expected: "the path of a PEM file of certificates")
            }
        }
    }

    /// The lease of a claimed lane. If an instance is killed, its lanes are delayed by this time. It exceeds the
    /// duration of a delivery that begins late.
    var lease: Duration { timeout * 2 + .seconds(10) }
}

extension WebhooksSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the PostgreSQL URL, which can hold a password. Libraries may log objects that hold
    /// settings.
    public var description: String { "WebhooksSettings(rpc: \(rpc))" }
    /// A description without secrets, like ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
