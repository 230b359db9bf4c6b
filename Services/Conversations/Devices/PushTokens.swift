// SPDX-License-Identifier: Apache-2.0
import Contracts
import Model
import Postgres
import RPC
import SwiftProtobuf

/// Keeps where devices can be reached while no socket is open (spec 3.7).
struct PushTokens: Sendable {
    private let support: CallSupport

    init(_ support: CallSupport) { self.support = support }

    /// Adds the methods to `router`.
    func register(on router: inout CallRouter) {
        router.register(AccountAPI.setPushToken) { try await self.set($0, $1) }
        router.register(AccountAPI.deletePushToken) { try await self.delete($0, $1) }
    }

    private func set(_ request: ProtoSetPushTokenRequest, _ context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let token = request.token
        // The user's quota is locked: alone in its transaction.
        let rows = try await support.database.runAlone(
            .pushTokenSet,
            [
                .uuid(caller.app.rawValue), .text(token.deviceID), .text(caller.user.rawValue), .text(token.type), .text(token.token),
                token.hasApnsBundleID ? .text(token.apnsBundleID) : .null, token.hasGcmSenderID ? .text(token.gcmSenderID) : .null,
                token.hasIosVersion ? .text(token.iosVersion) : .null, Value(limit: support.quotas.pushTokens),
            ], for: caller)
        guard try support.row(rows).get(0, as: String.self) == "ok" else { throw QuotaRefusal.pushTokens.failure(support.quotas) }
        return ProtoEmpty()
    }

    private func delete(_ request: ProtoDeletePushTokenRequest, _ context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        _ = try await support.database.runAlone(
            .pushTokenDelete, [.uuid(caller.app.rawValue), .text(request.deviceID), .text(caller.user.rawValue)], for: caller)
        return ProtoEmpty()
    }
}

extension Statement {
    /// $1 app, $2 device, $3 user, $4 type, $5 token, $6 bundle, $7 sender, $8 version, $9 how many at most. The newest one of a device replaces what was
    /// there.
    static let pushTokenSet = Statement(
        "push_token.set", sql: "SELECT conversations.set_push_token($1, $2, $3, $4, $5, $6, $7, $8, $9)", isIdempotent: true)
    /// $1 app, $2 device, $3 user: nobody can silence another user's device.
    static let pushTokenDelete = Statement(
        "push_token.delete", sql: "DELETE FROM conversations.push_token WHERE app_id = $1 AND device_id = $2 AND user_id = $3", isIdempotent: true)
}
