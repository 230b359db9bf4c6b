// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The TLS configuration of connections to Redis (TLS 1.2 or newer): the trusted authorities, and the client's
/// certificate.
///
/// NIOSSL requires a certificate for the server's name, or for the address to which the name resolves. If the name
/// servers are not trusted, use your own `authorities`, which sign no certificates for addresses.
///
/// The files are read once. A newer version takes effect after a restart of the process.
public struct RedisTLS: Sendable {
    private let context: NIOSSLContext

    /// Creates a TLS configuration.
    /// - Parameters:
    ///   - authorities: a PEM file with the trusted authorities; nil: those of the system.
    ///   - identity: PEM files with the client's certificate chain and private key, for servers that require one
    ///     (`tls-auth-clients`); nil: none.
    ///   - checksHostname: true if the server's certificate must match its name or address. It must be signed in any
    ///     case.
    /// - Throws: ``RedisError`` with code ``RedisError/Code/invalidConfiguration``, which names the URL parameter of
    ///   the unusable file.
    public init(
        authorities: String? = nil, identity: (chain: String, key: String)? = nil, checksHostname: Bool = true
    ) throws(RedisError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if !checksHostname { configuration.certificateVerification = .noHostnameVerification }
        if let authorities {
            configuration.trustRoots = .certificates(
                try Self.read(.authorities, from: authorities) { try NIOSSLCertificate.fromPEMFile($0) })
        }
        if let identity {
            let chain = try Self.read(.chain, from: identity.chain) { try NIOSSLCertificate.fromPEMFile($0) }
            configuration.certificateChain = chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(
                try Self.read(.key, from: identity.key) { try NIOSSLPrivateKey(file: $0, format: .pem) })
        }
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw RedisError(.invalidConfiguration, "TLS cannot be used with these files: \(error)")
        }
    }

    func handler(for endpoint: RedisEndpoint) throws -> NIOSSLClientHandler {
        // An IP address cannot be sent in SNI. It is verified against the certificate as such.
        let isAddress = (try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : endpoint.host)
    }

    private static func read<Value>(
        _ parameter: Parameter, from path: String, body: (String) throws -> Value
    ) throws(RedisError) -> Value {
        // NIOSSL does not report why a file cannot be opened.
        guard access(path, R_OK) == 0 else {
            throw RedisError(
                .invalidConfiguration, "\(parameter.rawValue): \(path): \(String(cString: strerror(errno)))")
        }
        do {
            return try body(path)
        } catch {
            throw RedisError(
                .invalidConfiguration, "\(parameter.rawValue): \(path) is not valid PEM for this use: \(error)")
        }
    }
}

extension RedisTLS {
    /// The parameters of a `rediss://` URL, named as in redis-py.
    private enum Parameter: String, CaseIterable {
        case authorities = "ssl_ca_certs"
        case chain = "ssl_certfile"
        case key = "ssl_keyfile"
        case checksHostname = "ssl_check_hostname"
    }

    /// Creates a TLS configuration from the decoded parameters of a URL.
    init(parameters: [(name: String, value: String)]) throws(RedisError) {
        var given: [Parameter: String] = [:]
        for (name, value) in parameters {
            guard let parameter = Parameter(rawValue: name) else {
                let known = Parameter.allCases.map(\.rawValue).joined(separator: ", ")
                throw RedisError(.invalidConfiguration, "unknown parameter in the URL: expected some of \(known)")
            }
            guard !value.isEmpty, given.updateValue(value, forKey: parameter) == nil else {
                throw RedisError(.invalidConfiguration, "\(name) in the URL is empty or repeated")
            }
        }
        var identity: (String, String)?
        switch (given[.chain], given[.key]) {
        case (let chain?, let key?): identity = (chain, key)
        case (nil, nil): break
        default: throw RedisError(.invalidConfiguration, "ssl_certfile and ssl_keyfile belong together")
        }
        let check = given[.checksHostname] ?? "true"
        guard let checksHostname = Bool(check.lowercased()) else {
            throw RedisError(.invalidConfiguration, "ssl_check_hostname in the URL has to be true or false")
        }
        try self.init(authorities: given[.authorities], identity: identity, checksHostname: checksHostname)
    }
}
