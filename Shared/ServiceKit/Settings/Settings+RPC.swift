// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOSSL
import NetKit
public import RPC

extension Settings {
    /// Returns the configuration of this service's RPC server. ``CommonSettings`` lists the keys of its address and
    /// secret.
    ///
    /// | Key | Default |
    /// |---|---|
    /// | `STRATA_RPC_MAX_CALLS` | 4096 |
    /// | `STRATA_RPC_MAX_BYTES`: bytes of requests in progress and of long answers in transit | 268435456 |
    /// | `STRATA_RPC_CONNECTIONS`: concurrent connections; lower if the limit of open files is low | 4096 |
    /// | `STRATA_RPC_DRAIN_TIMEOUT` | `20s` |
    /// - Parameter name: This service's name. Clients can insist on it.
    public func rpcServer(name: String, _ common: CommonSettings) throws -> RPCServerConfiguration {
        var configuration = RPCServerConfiguration(
            host: common.rpcHost, port: common.rpcPort, clusterSecret: common.serviceSecret.value)
        configuration.service = name
        configuration.maxCallsInFlight = try int("STRATA_RPC_MAX_CALLS", default: 4096, in: 1...1_000_000)
        configuration.maxBytesInFlight = try int(
            "STRATA_RPC_MAX_BYTES", default: configuration.maxBytesInFlight, in: 1 << 20...1 << 36)
        configuration.maxConnections = min(
            try int("STRATA_RPC_CONNECTIONS", default: configuration.maxConnections, in: 1...1_000_000),
            OpenFileLimit.connections)
        configuration.drainTimeout = try duration(
            "STRATA_RPC_DRAIN_TIMEOUT", default: .seconds(20), in: .zero ... .seconds(3600))
        guard let certificate = try optionalString("STRATA_RPC_TLS_CERTIFICATE") else { return configuration }
        let chain = try pem(for: "STRATA_RPC_TLS_CERTIFICATE") { try NIOSSLCertificate.fromPEMFile(certificate) }
        let keyPath = try string("STRATA_RPC_TLS_KEY", expected: "the path of the PEM file of the certificate's key")
        let key = try pem(for: "STRATA_RPC_TLS_KEY") { try NIOSSLPrivateKey(file: keyPath, format: .pem) }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        // Both ends are Strata services, so TLS 1.3 is always available.
        tls.minimumTLSVersion = .tlsv13
        configuration.tls = tls
        return configuration
    }

    /// Returns the configuration of a client of another service.
    ///
    /// | Key | Default |
    /// |---|---|
    /// | `STRATA_RPC_QUEUE_BYTES`: bytes of requests queued for the socket of one instance | 33554432 |
    /// | `STRATA_RPC_ANSWER_BYTES`: bytes of incomplete long answers | 268435456 |
    ///
    /// With `STRATA_RPC_TLS_CA` the client requires TLS and a certificate that this authority has signed for the name
    /// in the target.
    /// - Parameters:
    ///   - key: The setting with the address of the other service; see ``rpcTarget(_:default:)``.
    ///   - name: The other service's name, for metrics. The client rejects servers with another name.
    ///   - secret: The secret of the other service. nil: the secret of this service.
    public func rpcClient(
        _ key: String, name: String, common: CommonSettings, secret: Secret<String>? = nil
    ) throws -> RPCClientConfiguration {
        let secret = secret ?? common.serviceSecret
        var configuration = RPCClientConfiguration(target: try rpcTarget(key), clusterSecret: secret.value, name: name)
        configuration.service = name
        configuration.maxCallsInFlight = try int("STRATA_RPC_MAX_CALLS", default: 4096, in: 1...1_000_000)
        configuration.maxQueuedBytes = try int(
            "STRATA_RPC_QUEUE_BYTES", default: configuration.maxQueuedBytes, in: 1 << 20...1 << 32)
        configuration.maxArrivingBytes = try int(
            "STRATA_RPC_ANSWER_BYTES", default: configuration.maxArrivingBytes, in: 1 << 20...1 << 36)
        guard let path = try optionalString("STRATA_RPC_TLS_CA") else { return configuration }
        let authorities = try pem(for: "STRATA_RPC_TLS_CA") { try NIOSSLCertificate.fromPEMFile(path) }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv13
        tls.trustRoots = .certificates(authorities)
        configuration.tls = tls
        return configuration
    }

    private func pem<Value>(for key: String, _ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch {
            throw SettingsError(key: key, problem: .invalid, expected: "the path of a readable PEM file")
        }
    }
}
