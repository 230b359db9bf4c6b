// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOSSL

/// The address of a server that the generator connects to.
struct LoadAddress: Sendable {
    let host: String
    let port: Int
    /// The TLS context; nil: plain TCP.
    private let tls: NIOSSLContext?

    /// Returns the address of a plain server of this machine.
    static func local(_ port: Int) -> LoadAddress { LoadAddress(host: "127.0.0.1", port: port, tls: nil) }

    private init(host: String, port: Int, tls: NIOSSLContext?) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    /// Parses the base URL of a server.
    /// - Parameters:
    ///   - url: A URL with the scheme `http` or `https`.
    ///   - certificates: The PEM file of the certificates to trust; nil: those of public authorities.
    ///   - acceptsAny: True to accept every certificate.
    init(url: String, certificates: String?, acceptsAny: Bool) throws {
        guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty,
            let scheme = parts.scheme, ["http", "https"].contains(scheme)
        else { throw BenchProblem("\(url) is not a base URL such as https://chat.example.org") }
        self.host = host
        port = parts.port ?? (scheme == "https" ? 443 : 80)
        guard scheme == "https" else {
            tls = nil
            return
        }
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let certificates {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificates))
        }
        if acceptsAny { configuration.certificateVerification = .none }
        tls = try NIOSSLContext(configuration: configuration)
    }

    /// The value of the `Host` header.
    var name: String { [80, 443].contains(port) ? host : "\(host):\(port)" }

    /// Adds the TLS handler to a connection, if the server has TLS.
    func addTLS(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        guard let tls else { return }
        let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host))
    }
}
