// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import CryptoExtras
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls of operators, as the console makes them.
extension CallsFixture {
    static let publicKey = TokenMaker.key.publicKey.pemRepresentation

    func report(
        _ name: String, user: String = "", conversation: ConversationID? = nil, after: String = "", limit: UInt32 = 0
    ) async throws -> JSONDocument {
        let report = try await call(AdminAPI.readReport) {
            ($0.name, $0.appID, $0.userID, $0.after, $0.limit) = (name, Data(app), user, after, limit)
            if let conversation { $0.conversationID = Data(conversation) }
        }
        return try JSONDecoder().decode(JSONDocument.self, from: report.json)
    }

    /// Returns the items of all pages.
    func reportItems(
        _ name: String, user: String = "", conversation: ConversationID? = nil, limit: UInt32
    ) async throws -> [JSONDocument] {
        var (items, after): ([JSONDocument], String?) = ([], "")
        while let cursor = after {
            let page = try await report(name, user: user, conversation: conversation, after: cursor, limit: limit)
            items += page.items?.elements ?? []
            after = page.next?.text
        }
        return items
    }

    func createApp(
        key: UUID = UUID(), token: UUID = UUID(), digest: Data = .random(),
        change: (inout ProtoCreateAppRequest) -> Void = { _ in }
    ) async throws {
        try await call(AdminAPI.createApp) {
            ($0.appID, $0.name, $0.providerID) = (Data(app), "Chess", Data(app))
            ($0.keyID, $0.publicKey) = (Data(uuid: key), Self.publicKey)
            ($0.tokenID, $0.tokenDigest) = (Data(uuid: token), digest)
            change(&$0)
        }
    }

    func suspendApp(_ isSuspended: Bool) async throws {
        try await call(AdminAPI.suspendApp) { ($0.appID, $0.suspended) = (Data(app), isSuspended) }
    }

    func addKey(_ key: UUID = UUID(), _ publicKey: String = publicKey) async throws {
        try await call(AdminAPI.addAppKey) {
            ($0.appID, $0.keyID, $0.publicKey) = (Data(app), Data(uuid: key), publicKey)
        }
    }

    func removeKey(_ key: UUID) async throws {
        try await call(AdminAPI.removeAppKey) { ($0.appID, $0.keyID) = (Data(app), Data(uuid: key)) }
    }

    func createToken(
        _ token: UUID = UUID(), digest: Data = .random(), name: String = "console", expiresIn seconds: Int64? = nil
    ) async throws {
        try await call(AdminAPI.createServerToken) {
            ($0.appID, $0.tokenID, $0.tokenDigest, $0.name) = (Data(app), Data(uuid: token), digest, name)
            if let seconds { $0.expiresInSeconds = seconds }
        }
    }

    func revokeToken(_ token: UUID) async throws {
        try await call(AdminAPI.revokeServerToken) { ($0.appID, $0.tokenID) = (Data(app), Data(uuid: token)) }
    }

    /// Returns the id of the app's token with this digest, as gateways look it up.
    func findToken(_ digest: Data) async throws -> UUID {
        try await ServerTokens(database: database).find([UInt8](digest), of: app, deadline: .soon)
    }
}

extension Data {
    /// Returns 32 random bytes, as those of a digest.
    static func random() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }
}
