// SPDX-License-Identifier: Apache-2.0

import Contracts
public import DatabaseKit
import Foundation
public import NIOSSL
public import RPC
public import ServiceKit

/// What the webhooks service can be told.
public struct WebhooksSettings: ServiceSettings {
    /// The database, as the role `strata_webhooks`.
    public var postgres: PostgresSettings
    /// `STRATA_RPC_…`: where calls are answered. `STRATA_WEBHOOKS_SECRET`, required: the secret that gateways must hold; the key of the secrets of hooks is
    /// derived from it.
    public var rpc: RPCServerConfiguration
    /// `STRATA_PUBLIC_URL`, required: the base of the URLs in payloads, the same as the gateways have.
    public var publicURL: String
    /// `STRATA_WEBHOOKS_CONNECTIONS` (4; 1 to 64): connections to PostgreSQL.
    public var connections = 4
    /// `STRATA_WEBHOOKS_TIMEOUT` (10s; 100ms to 60s): how long a receiver may take to answer. The protocol's second is too short for receivers that work
    /// before they answer.
    public var timeout = Duration.seconds(10)
    /// `STRATA_WEBHOOKS_PER_HOOK` (32; 1 to 1000): conversations of one hook that are delivered at a time.
    public var perHook = 32
    /// `STRATA_WEBHOOKS_PER_HOST` (64; 1 to 1000): the same of all hooks whose receivers have one host and port.
    public var perHost = 64
    /// `STRATA_WEBHOOKS_IN_FLIGHT` (256; 1 to 10,000): the same of all hooks.
    public var inFlight = 256
    /// `STRATA_WEBHOOKS_BYTES` (64 MB; 4 MB to 16 GB): bytes of events and requests in memory.
    public var bytes = 64 << 20
    /// `STRATA_WEBHOOKS_HOOK_BYTES` (256 MB; 1 MB to 1 TB): bytes of events that may wait for one hook. With more it becomes inactive.
    public var hookBytes = 256 << 20
    /// `STRATA_WEBHOOKS_APP_BYTES` (1 GB; 1 MB to 1 TB): the same of all hooks of one app.
    public var appBytes = 1 << 30
    /// `STRATA_WEBHOOKS_PER_APP` (20; 1 to 1000): hooks of one app.
    public var perApp = 20
    /// `STRATA_WEBHOOKS_SECRET_MIN_BYTES` (16; 1 to 1024): the fewest bytes of the secret of a hook that is registered. Examples of older client libraries
    /// have fewer.
    public var secretMinBytes = 16
    /// `STRATA_WEBHOOKS_RETRY_AFTER` (10s,30s,120s,300s,1200s), `STRATA_WEBHOOKS_RETRY_EVERY` (1h) and `STRATA_WEBHOOKS_RETRY_FOR` (72h): pauses before
    /// the first retries, and then how often and for how long.
    public var retries = RetrySchedule.standard
    /// `STRATA_WEBHOOKS_KEEP` (7d; 1s to 365d): for how long an inactive hook keeps what it has not been told.
    public var keep = Duration.seconds(7 * 86_400)
    /// `STRATA_WEBHOOKS_ALLOW_HTTP` (false): whether receivers may be without TLS. For development.
    public var allowsHTTP = false
    /// `STRATA_WEBHOOKS_ALLOW_PRIVATE` (none): blocks of addresses that are called although they are private or reserved, such as `10.20.0.0/16`.
    public var allowedAddresses: [AddressBlock] = []
    /// `STRATA_WEBHOOKS_CA` (none): the path of a PEM file of authorities that are trusted beside those of the system.
    public var trustedRoots: [NIOSSLCertificate] = []

    /// Settings with these addresses, and for the rest the defaults above.
    public init(postgresURL: String, rpc: RPCServerConfiguration, publicURL: String) {
        postgres = PostgresSettings(url: postgresURL)
        self.rpc = rpc
        self.publicURL = publicURL
    }

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that is missing or cannot be used.
    public init(_ settings: Settings, common: CommonSettings) throws {
        postgres = try PostgresSettings(settings)
        rpc = try settings.rpcServer(name: "webhooks", common).withMethodNames
        publicURL = try settings.string("STRATA_PUBLIC_URL", expected: "a URL such as https://chat.example.org")
        connections = try settings.int("STRATA_WEBHOOKS_CONNECTIONS", default: connections, in: 1...64)
        timeout = try settings.duration("STRATA_WEBHOOKS_TIMEOUT", default: timeout, in: .milliseconds(100) ... .seconds(60))
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
                throw SettingsError(key: "STRATA_WEBHOOKS_CA", problem: .invalid, expected: "the path of a PEM file of certificates")
            }
        }
    }

    /// For how long a lane is claimed: an instance that is killed delays it by so much. Longer than a delivery that begins late may take.
    var lease: Duration { timeout * 2 + .seconds(10) }
}

extension WebhooksSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Leaves out the URL of PostgreSQL, which can hold a password: what holds settings may be printed whole, as libraries do in their logs.
    public var description: String { "WebhooksSettings(rpc: \(rpc))" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
