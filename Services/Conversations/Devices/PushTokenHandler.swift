// SPDX-License-Identifier: Apache-2.0
import Contracts
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Keeps where devices can be reached while no socket is open (docs/conformance.md §3.7).
struct PushTokenHandler: CallHandler {
    private let support: CallSupport

    init(_ support: CallSupport) { self.support = support }

    /// Adds the methods to `router`.
    func register(on router: inout CallRouter) {
        router.register(AccountAPI.setPushToken) { try await self.set($0, $1) }
        router.register(AccountAPI.deletePushToken) { try await self.delete($0, $1) }
    }

    private func set(_ request: ProtoSetPushTokenRequest, _ context: RPCContext) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, mutation: request.hasMutation ? request.mutation : nil, context)
        let token = request.token
        let values: [Value] = [
            .uuid(caller.app.rawValue), .text(token.deviceID), .text(caller.user.rawValue), .text(token.type), .text(token.token),
            token.hasApnsBundleID ? .text(token.apnsBundleID) : .null, token.hasGcmSenderID ? .text(token.gcmSenderID) : .null,
            token.hasIosVersion ? .text(token.iosVersion) : .null, Value(limit: support.quotas.pushTokens),
        ]
        _ = try await support.once(caller) {
            // The user's quota is locked: alone in its transaction.
            guard let written = try await support.write(.pushTokenSet, values, for: caller) else { return nil }
            let columns = try written.rows.columns(OutcomeColumns.self)
            guard try written.rows[0][columns.outcome] == "ok" else { throw QuotaRefusal.pushTokens.failure(support.quotas) }
            return .nowhere
        }
        return ProtoChangePlace()
    }

    private func delete(_ request: ProtoDeletePushTokenRequest, _ context: RPCContext) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, mutation: request.hasMutation ? request.mutation : nil, context)
        let values: [Value] = [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .text(request.deviceID)]
        _ = try await support.once(caller) { try await support.write(.pushTokenDelete, values, for: caller).map { _ in .nowhere } }
        return ProtoChangePlace()
    }
}
