// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

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
