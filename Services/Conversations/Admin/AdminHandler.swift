// SPDX-License-Identifier: Apache-2.0
import Contracts
import CryptoExtras
import DatabaseKit
import FoundationEssentials
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls by which the console administers apps. Their rights are checked by the console.
struct AdminHandler: CallHandler {
    private let database: Database

    /// The maximum number of public keys of an app.
    private static let keyLimit: Int64 = 20
    /// The maximum lifetime of a server token: ten years.
    private static let longestLifetime: Int64 = 315_360_000
    private static let digestBytes = 32

    init(database: Database) { self.database = database }

    func register(on router: inout CallRouter) {
        router.register(AdminAPI.createApp) { try await self.createApp($0, in: $1) }
        router.register(AdminAPI.suspendApp) { try await self.suspendApp($0, in: $1) }
        router.register(AdminAPI.addAppKey) { try await self.addKey($0, in: $1) }
        router.register(AdminAPI.removeAppKey) { try await self.removeKey($0, in: $1) }
        router.register(AdminAPI.createServerToken) { try await self.createToken($0, in: $1) }
        router.register(AdminAPI.revokeServerToken) { try await self.revokeToken($0, in: $1) }
    }

    // MARK: Apps

    private func createApp(_ request: ProtoCreateAppRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let query = CreateApp(
            app: try AppID(contract: request.appID), name: try Self.name(request.name, atMost: 200),
            provider: try Self.uuid(request.providerID, "provider_id"), key: try Self.uuid(request.keyID, "key_id"),
            publicKey: try Self.publicKey(request.publicKey), token: try Self.uuid(request.tokenID, "token_id"),
            digest: try Self.digest(request.tokenDigest))
        return try await run(query, until: context.deadline)
    }

    private func suspendApp(_ request: ProtoSuspendAppRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let query = SuspendApp(app: try AppID(contract: request.appID), isSuspended: request.suspended)
        guard let row = try await database.runExclusive(query, deadline: context.deadline).first else {
            throw Failure.notFound("app")
        }
        guard request.suspended || !row.isBeingDeleted else {
            throw Failure(.invalidOperation, "The app is being deleted, and cannot be resumed.")
        }
        return ProtoEmpty()
    }

    // MARK: Keys and tokens

    private func addKey(_ request: ProtoAddAppKeyRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let query = AddAppKey(
            app: try AppID(contract: request.appID), key: try Self.uuid(request.keyID, "key_id"),
            publicKey: try Self.publicKey(request.publicKey), most: Self.keyLimit)
        return try await run(query, until: context.deadline)
    }

    private func removeKey(_ request: ProtoRemoveAppKeyRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let query = RemoveAppKey(
            app: try AppID(contract: request.appID), key: try Self.uuid(request.keyID, "key_id"))
        _ = try await database.runExclusive(query, deadline: context.deadline)
        return ProtoEmpty()
    }

    private func createToken(
        _ request: ProtoCreateServerTokenRequest, in context: RPCContext
    ) async throws -> ProtoEmpty {
        let lifetime = request.hasExpiresInSeconds ? request.expiresInSeconds : nil
        if let lifetime, !(1...Self.longestLifetime).contains(lifetime) {
            throw Failure.invalid("expires_in_seconds", reason: "must be 1 to \(Self.longestLifetime)")
        }
        let query = CreateServerToken(
            app: try AppID(contract: request.appID), token: try Self.uuid(request.tokenID, "token_id"),
            name: try Self.name(request.name, atMost: 128), digest: try Self.digest(request.tokenDigest),
            lifetime: lifetime)
        return try await run(query, until: context.deadline)
    }

    private func revokeToken(
        _ request: ProtoRevokeServerTokenRequest, in context: RPCContext
    ) async throws -> ProtoEmpty {
        let query = RevokeServerToken(
            app: try AppID(contract: request.appID), token: try Self.uuid(request.tokenID, "token_id"))
        _ = try await database.runExclusive(query, deadline: context.deadline)
        return ProtoEmpty()
    }

    /// Runs a statement, and throws the failure for an outcome that is not a success.
    private func run<Query: PostgresQuery>(
        _ query: Query, until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ProtoEmpty where Query.Row == OutcomeRow {
        switch try await database.runExclusive(query, deadline: deadline).first?.outcome {
        case "ok": return ProtoEmpty()
        case "not_found": throw .notFound("app")
        case "id_in_use": throw Failure(.idInUse, "One of the ids is in use.")
        case "too_many": throw .invalid("key_id", reason: "is one too many: an app has at most \(Self.keyLimit) keys")
        default: throw .unexpected
        }
    }

    // MARK: Fields

    private static func uuid(_ bytes: Data, _ field: String) throws(ContractViolation) -> UUID {
        guard let uuid = UUID(contract: bytes) else { throw ContractViolation(field) }
        return uuid
    }

    private static func digest(_ bytes: Data) throws(ContractViolation) -> [UInt8] {
        guard bytes.count == digestBytes else { throw ContractViolation("token_digest") }
        return [UInt8](bytes)
    }

    private static func name(_ text: String, atMost limit: Int) throws(Failure) -> String {
        let isPrintable = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
        guard isPrintable, text.contains(where: { !$0.isWhitespace }), text.unicodeScalars.count <= limit else {
            throw .invalid("name", reason: "must have 1 to \(limit) characters, and no control characters")
        }
        return text
    }

    /// Returns the key as PEM (SubjectPublicKeyInfo).
    private static func publicKey(_ pem: String) throws(Failure) -> String {
        guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else {
            throw .invalid("public_key", reason: "must be an RSA public key of at least 2048 bits in PEM form")
        }
        return key.pemRepresentation + "\n"
    }
}
