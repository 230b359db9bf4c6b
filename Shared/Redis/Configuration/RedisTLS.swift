// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How connections to Redis are encrypted (TLS 1.2 or newer), who may sign the servers' certificates, and who we say we are.
///
/// A certificate has to be for the name that the server is reached by, or for the address that this name leads to: so NIOSSL checks. Where the name
/// servers are not trusted, `authorities` should be one's own, which sign certificates for no address.
///
/// The files are read once: a process has to be started again to see newer ones.
public struct RedisTLS: Sendable {
    private let context: NIOSSLContext

    /// - Parameters:
    ///   - authorities: a PEM file with the certificates of those who may sign; nil trusts whom the system trusts.
    ///   - identity: PEM files of a certificate chain and its private key, for servers that want one (`tls-auth-clients`); nil shows none.
    ///   - checksHostname: whether a server's certificate has to be for the name, or the address, that it is reached by. It has to be signed in any case.
    /// - Throws: ``RedisError`` with code ``RedisError/Code/invalidConfiguration``, which names the parameter of the URL whose file is unusable.
    public init(authorities: String? = nil, identity: (chain: String, key: String)? = nil, checksHostname: Bool = true) throws(RedisError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if !checksHostname { configuration.certificateVerification = .noHostnameVerification }
        if let authorities {
            configuration.trustRoots = .certificates(try Self.read(.authorities, from: authorities) { try NIOSSLCertificate.fromPEMFile($0) })
        }
        if let identity {
            let chain = try Self.read(.chain, from: identity.chain) { try NIOSSLCertificate.fromPEMFile($0) }
            configuration.certificateChain = chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(try Self.read(.key, from: identity.key) { try NIOSSLPrivateKey(file: $0, format: .pem) })
        }
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw RedisError(.invalidConfiguration, "TLS cannot be used with these files: \(error)")
        }
    }

    /// What encrypts one connection.
    func handler(for endpoint: RedisEndpoint) throws -> NIOSSLClientHandler {
        // An address cannot be announced; it is looked for in the certificate as it is.
        let isAddress = (try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : endpoint.host)
    }

    private static func read<Value>(_ parameter: Parameter, from path: String, body: (String) throws -> Value) throws(RedisError) -> Value {
        // NIOSSL does not say why a file cannot be opened.
        guard access(path, R_OK) == 0 else {
            throw RedisError(.invalidConfiguration, "\(parameter.rawValue): \(path): \(String(cString: strerror(errno)))")
        }
        do {
            return try body(path)
        } catch {
            throw RedisError(.invalidConfiguration, "\(parameter.rawValue): \(path) does not hold what is wanted, as PEM: \(error)")
        }
    }
}

extension RedisTLS {
    /// What may follow `?` in a `rediss://` URL; the names are those of redis-py.
    private enum Parameter: String, CaseIterable {
        case authorities = "ssl_ca_certs"
        case chain = "ssl_certfile"
        case key = "ssl_keyfile"
        case checksHostname = "ssl_check_hostname"
    }

    /// Takes what follows `?` in a URL, names and values percent-decoded.
    init(parameters: [(name: String, value: String)]) throws(RedisError) {
        var given: [Parameter: String] = [:]
        for (name, value) in parameters {
            guard let parameter = Parameter(rawValue: name) else {
                let known = Parameter.allCases.map(\.rawValue).joined(separator: ", ")
                throw RedisError(.invalidConfiguration, "unknown parameter in the URL: expected some of \(known)")
            }
            guard !value.isEmpty, given.updateValue(value, forKey: parameter) == nil else {
                throw RedisError(.invalidConfiguration, "\(name) in the URL is empty or there twice")
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
