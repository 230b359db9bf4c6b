// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import ProtocolClient
import SwiftASN1
import X509

enum GatewayClients {
    /// The maximum wait for a gateway that is restarting.
    private static let patience = Duration.seconds(10)

    /// Creates a client for each gateway, runs `body`, and closes all clients in any case. A client that is released
    /// without being closed ends the process.
    /// - Parameter urls: The base URLs.
    /// - Throws: ``CommandFailure`` that names an invalid URL, and the errors of `body`.
    static func with<Answer>(
        _ urls: [String], trusting trust: ServerTrust, _ body: ([ProtocolClient]) async throws -> Answer
    ) async throws -> Answer {
        var clients: [ProtocolClient] = []
        do {
            for url in urls { clients.append(try client(for: url, trusting: trust)) }
            let answer = try await body(clients)
            await close(clients)
            return answer
        } catch {
            await close(clients)
            throw error
        }
    }

    /// Requests a nonce from a gateway. It can be used once, within ten minutes.
    /// - Throws: ``CommandFailure`` if the gateway is unreachable, its certificate is not trusted, or it refuses the
    ///   request.
    static func nonce(of gateway: ProtocolClient) async throws -> String {
        let end = ContinuousClock.now + patience
        while true {
            do {
                return try await gateway.nonce(deadline: end)
            } catch let error as ProtocolClientError {
                guard isPassing(error), .now < end else { throw failure(error, of: gateway.baseURL) }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    private static func close(_ clients: [ProtocolClient]) async {
        for client in clients { try? await client.shutdown() }
    }

    private static func client(for url: String, trusting trust: ServerTrust) throws -> ProtocolClient {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, ["http", "https"].contains(scheme),
            parts.host?.isEmpty == false,
            parts.port.map({ (1...65_535).contains($0) }) != false, parts.query == nil, parts.fragment == nil,
            parts.user == nil
        else {
            throw CommandFailure(
                .usage, "\(url.onOneLine) is not the base URL of a gateway, such as https://chat.example.org.")
        }
        return try ProtocolClient(baseURL: url, trust: trust)
    }

    /// Returns true if a retry may succeed, because another process of the system is restarting.
    private static func isPassing(_ error: ProtocolClientError) -> Bool {
        error.answer.map { [408, 502, 503, 504].contains($0.status) } ?? false
    }

    private static func failure(_ error: ProtocolClientError, of url: String) -> CommandFailure {
        switch error.code {
        case .untrusted:
            let way = "Name the certificates to trust with --ca FILE (STRATA_CA), or accept any with --insecure"
            return CommandFailure(.unavailable, "The certificate of \(url) is not trusted. \(way).")
        case .refused:
            let status = error.answer.map { "; it answered with status \($0.status)" } ?? ""
            return CommandFailure(.unavailable, "The gateway at \(url) gave no nonce\(status).")
        default:
            return CommandFailure(
                .unavailable, "The gateway at \(url) does not answer. Is it running? Try: \(OwnCommand.name) doctor")
        }
    }
}

/// The options that select which TLS certificates of a gateway a command accepts.
struct TrustOption: ParsableArguments {
    @Flag(help: "Accept any TLS certificate of the gateway.")
    var insecure = false
    @Option(
        help: ArgumentHelp(
            "PEM file of the certificates to trust, instead of those of public authorities. (STRATA_CA)",
            valueName: "file"))
    var ca: String?

    /// Returns the certificates to trust: those of the options, then of the environment, then of public authorities.
    ///
    /// The environment is used only if a gateway has a certificate. A left-over variable must not prevent plain HTTP.
    /// - Parameter gateways: The URLs of the gateways.
    /// - Throws: ``CommandFailure`` that names the file if it is unreadable or does not contain certificates.
    func serverTrust(for gateways: [String], settings: OperatorSettings = OperatorSettings()) throws -> ServerTrust {
        if insecure { return .anyCertificate }
        let hasCertificate = gateways.contains { $0.lowercased().hasPrefix("https:") }
        guard let file = try ca ?? (hasCertificate ? settings.value("STRATA_CA") : nil) else { return .system }
        return .roots(pem: try Self.certificates(inFile: file))
    }

    /// Returns the certificates of a file, in PEM.
    /// - Throws: ``CommandFailure`` that names the file.
    static func certificates(inFile file: String) throws -> String {
        guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw CommandFailure(.noInput, "The file \(file) cannot be read.")
        }
        guard let documents = try? PEMDocument.parseMultiple(pemString: pem), !documents.isEmpty,
            documents.allSatisfy({ (try? Certificate(pemDocument: $0)) != nil })
        else { throw CommandFailure(.usage, "\(file) does not contain certificates in PEM form.") }
        return pem
    }
}
