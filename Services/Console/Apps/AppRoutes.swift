// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Hummingbird
import RPC
import StrataModel
import SwiftProtobuf

/// The administration of apps, their keys and their server tokens. Secrets are made here and shown once; the services
/// get public keys and digests.
struct AppRoutes: ConsoleFeature {
    let conversations: RPCClient

    func add(to routes: ConsoleRoutes) {
        routes.change(.post, "/api/apps", prepare: create)
        routes.change(.put, "/api/apps/:app/suspension") { _, context in try suspend(true, context) }
        routes.change(.delete, "/api/apps/:app/suspension") { _, context in try suspend(false, context) }
        routes.change(.post, "/api/apps/:app/keys", prepare: addKey)
        routes.change(.delete, "/api/apps/:app/keys/:key", prepare: removeKey)
        routes.change(.post, "/api/apps/:app/tokens", prepare: createToken)
        routes.change(.delete, "/api/apps/:app/tokens/:token", prepare: revokeToken)
    }

    private struct Name: Decodable {
        let name: String

        /// - Parameter limit: the maximum number of characters.
        func trimmed(limit: Int) throws(Failure) -> String {
            let text = String(name.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
            guard (1...limit).contains(text.count), !text.contains("\0") else {
                throw .invalid("name", reason: "must have 1 to \(limit) characters")
            }
            return text
        }
    }

    private func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request
    ) async throws(Failure) {
        _ = try await conversations.call(endpoint, with: request, for: .within(.seconds(10)))
    }

    // MARK: Apps

    private struct NewApp: Encodable {
        let id: String
        let providerId: String
        let keyId: String
        let privateKey: String?
        let serverToken: String
    }

    private func create(_ request: Request, context: OperatorContext) async throws -> AuditedChange {
        let name = try await request.json(Name.self).trimmed(limit: 200)
        let (app, provider, key) = (AppID.random(), UUID(), UUID())
        return AuditedChange(action: "app_create", app: app, target: name) {
            let (pair, token) = (try await AppKeyPair.make(), SecretToken.make())
            let database = try await smallestDatabase()
            try await call(
                AdminAPI.createApp,
                .with {
                    $0.appID = Data(app)
                    $0.name = name
                    $0.providerID = Data(uuid: provider)
                    $0.keyID = Data(uuid: key)
                    $0.publicKey = pair.publicKey
                    $0.tokenID = Data(uuid: UUID())
                    $0.tokenDigest = Data(SecretToken.digest(of: token))
                    $0.database = database
                })
            return .json(
                NewApp(
                    id: "\(app)", providerId: provider.lowercaseText, keyId: key.lowercaseText,
                    privateKey: pair.privateKey, serverToken: token), status: .created)
        }
    }

    private struct Database: Decodable {
        let name: String?
        /// nil: the database does not answer.
        let bytes: Int64?
    }

    /// Returns the name of the smallest database that answers; empty: there is one.
    private func smallestDatabase() async throws -> String {
        let report = try await conversations.call(
            AdminAPI.readReport, with: .with { $0.name = "databases" }, for: .within(.seconds(10)))
        let databases = try JSONDecoder().decode([Database].self, from: report.json)
        return databases.min { ($0.bytes ?? .max) < ($1.bytes ?? .max) }?.name ?? ""
    }

    private func suspend(_ isSuspended: Bool, _ context: OperatorContext) throws -> AuditedChange {
        let app = try context.app
        return AuditedChange(action: isSuspended ? "app_suspend" : "app_resume", app: app) {
            try await call(
                AdminAPI.suspendApp,
                .with {
                    $0.appID = Data(app)
                    $0.suspended = isSuspended
                })
            return .noContent
        }
    }

    // MARK: Keys

    private struct GivenKey: Decodable {
        let publicKey: String?
    }

    private struct NewKey: Encodable {
        let id: String
        let privateKey: String?
    }

    private func addKey(_ request: Request, context: OperatorContext) async throws -> AuditedChange {
        let (app, id) = (try context.app, UUID())
        let given = try await request.json(GivenKey.self).publicKey
        let pair = if let given { try AppKeyPair(publicKey: given) } else { try await AppKeyPair.make() }
        return AuditedChange(action: "key_add", app: app, target: id.lowercaseText) {
            try await call(
                AdminAPI.addAppKey,
                .with {
                    $0.appID = Data(app)
                    $0.keyID = Data(uuid: id)
                    $0.publicKey = pair.publicKey
                })
            return .json(NewKey(id: id.lowercaseText, privateKey: pair.privateKey), status: .created)
        }
    }

    private func removeKey(_ request: Request, context: OperatorContext) throws -> AuditedChange {
        let (app, id) = (try context.app, try context.uuid("key", what: "key"))
        return AuditedChange(action: "key_remove", app: app, target: id.lowercaseText) {
            try await call(
                AdminAPI.removeAppKey,
                .with {
                    $0.appID = Data(app)
                    $0.keyID = Data(uuid: id)
                })
            return .noContent
        }
    }

    // MARK: Tokens

    private struct NewToken: Encodable {
        let id: String
        let token: String
    }

    private func createToken(_ request: Request, context: OperatorContext) async throws -> AuditedChange {
        let (app, id) = (try context.app, UUID())
        let name = try await request.json(Name.self).trimmed(limit: 128)
        return AuditedChange(action: "token_create", app: app, target: id.lowercaseText, detail: ["name": name]) {
            let token = SecretToken.make()
            try await call(
                AdminAPI.createServerToken,
                .with {
                    $0.appID = Data(app)
                    $0.tokenID = Data(uuid: id)
                    $0.tokenDigest = Data(SecretToken.digest(of: token))
                    $0.name = name
                })
            return .json(NewToken(id: id.lowercaseText, token: token), status: .created)
        }
    }

    private func revokeToken(_ request: Request, context: OperatorContext) throws -> AuditedChange {
        let (app, id) = (try context.app, try context.uuid("token", what: "token"))
        return AuditedChange(action: "token_revoke", app: app, target: id.lowercaseText) {
            try await call(
                AdminAPI.revokeServerToken,
                .with {
                    $0.appID = Data(app)
                    $0.tokenID = Data(uuid: id)
                })
            return .noContent
        }
    }
}

extension OperatorContext {
    /// Returns the UUID in the path.
    /// - Throws: `not_found` for any other text.
    func uuid(_ name: String, what: String) throws(Failure) -> UUID {
        guard let id = parameters.get(name).flatMap({ UUID(text: $0.utf8) }) else { throw .notFound(what) }
        return id
    }
}
