// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import ProtocolClient

/// The options that name the Server API and the credentials of a command.
struct ServerAPIOption: ParsableArguments {
    @Option(help: "Base URL of a gateway. (STRATA_URL; default: the one of the running `strata dev`)")
    var url: String?
    @OptionGroup var trust: TrustOption
    @OptionGroup var database: DatabaseOption

    /// Runs `body` with the Server API of an app.
    ///
    /// The token is `STRATA_SERVER_TOKEN`, or a temporary one that is created in the database and revoked at the end.
    /// - Parameter purpose: The name of the temporary token. `strata app token list` shows it if the command was
    ///   killed.
    /// - Throws: ``CommandFailure`` that describes the problem, and the errors of `body`.
    func with<Answer>(app: UUID, purpose: String, _ body: (ServerAPI) async throws -> Answer) async throws -> Answer {
        let (home, settings) = (StrataHome(), OperatorSettings())
        let given = try url ?? settings.value("STRATA_URL")
        let base = if let given { given } else { try await RunningState.ofRunning(in: home).httpURLs.first }
        guard let base else { throw CommandFailure(.unavailable, "No gateway runs. Give --url URL.") }
        return try await GatewayClients.with([base], trusting: try trust.serverTrust(for: [base], settings: settings)) {
            gateways in
            if let token = try settings.value("STRATA_SERVER_TOKEN") {
                return try await body(ServerAPI(gateway: gateways[0], app: app, token: token))
            }
            let store = try await database.stores(in: home, settings: settings).store(of: app)
            let token = try NewServerToken(name: purpose)
            guard try await store.insert(token, for: app) else {
                throw CommandFailure(
                    .usage, "The app \(LayerID.app.text(app)) does not exist. \(OwnCommand.name) app list shows all.")
            }
            do {
                let answer = try await body(ServerAPI(gateway: gateways[0], app: app, token: token.text))
                try await store.revokeServerToken(token.id)
                return answer
            } catch {
                _ = try? await store.revokeServerToken(token.id)
                throw error
            }
        }
    }
}

struct ServerAPI: Sendable {
    let gateway: ProtocolClient
    let app: UUID
    let token: String

    private static let patience = Duration.seconds(30)

    /// Makes a call and throws if it fails.
    /// - Parameters:
    ///   - path: The path below `/apps/:app`.
    ///   - headers: Additional headers.
    /// - Throws: ``CommandFailure`` with the server's error message.
    @discardableResult
    func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, version: String = "3.0",
        headers: [String: String] = [:]
    ) async throws -> JSONValue {
        let own = ["Authorization": "Bearer \(token)", "Accept": "application/vnd.layer+json; version=\(version)"]
        let answer: RESTResponse
        do {
            answer = try await gateway.call(
                method, "/apps/\(app.uuidString.lowercased())\(path)", body: body, headers: own.merging(headers) { $1 },
                deadline: .now + Self.patience)
        } catch let error as ProtocolClientError {
            if error.code == .untrusted {
                let way = "Name the certificates to trust with --ca FILE (STRATA_CA), or accept any with --insecure"
                throw CommandFailure(.unavailable, "The certificate of \(gateway.baseURL) is not trusted. \(way).")
            }
            throw CommandFailure(
                .unavailable,
                "The gateway at \(gateway.baseURL) does not answer. Is it running? Try: \(OwnCommand.name) doctor")
        }
        guard answer.isSuccess else { throw Self.failure(answer) }
        return answer.json
    }

    private static func failure(_ answer: RESTResponse) -> CommandFailure {
        let said = answer.json["message"].string?.onOneLine ?? "The gateway answered with status \(answer.status)."
        switch answer.status {
        case 401: return CommandFailure(.configuration, "\(said) Is STRATA_SERVER_TOKEN a token of this app?")
        case 500...: return CommandFailure(.unavailable, said)
        default: return CommandFailure(.usage, said)
        }
    }
}

extension KeyRing {
    /// Returns the id of the given app, or that of the only app that was created in this home.
    func appID(_ text: String?) throws -> UUID {
        if let text { return try LayerID.app.parse(text, option: "--app") }
        return try entry(for: nil).app
    }
}
