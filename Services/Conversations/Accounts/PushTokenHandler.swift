// SPDX-License-Identifier: Apache-2.0
import Contracts
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about push tokens, by which devices without a socket are reached (docs/conformance.md §3.7).
struct PushTokenHandler: CallHandler {
    private let support: ServiceContext

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(AccountAPI.setPushToken) { try await self.setPushToken($0, in: $1) }
        router.register(AccountAPI.deletePushToken) { try await self.deletePushToken($0, in: $1) }
    }

    private func setPushToken(
        _ request: ProtoSetPushTokenRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        let token = request.token
        let query = SetPushToken(
            app: caller.app, device: token.deviceID, user: caller.user, type: token.type, token: token.token,
            bundle: token.hasApnsBundleID ? token.apnsBundleID : nil,
            sender: token.hasGcmSenderID ? token.gcmSenderID : nil,
            version: token.hasIosVersion ? token.iosVersion : nil, limit: support.quotas.pushTokens)
        _ = try await support.idempotent(caller) {
            // The statement locks the user's quota, so it runs in its own transaction.
            guard let written = try await support.write(query, for: caller) else { return nil }
            guard written.row.outcome == "ok" else { throw QuotaRefusal.pushTokens.failure(support.quotas) }
            return .empty
        }
        return ProtoChangePlace()
    }

    private func deletePushToken(
        _ request: ProtoDeletePushTokenRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        let query = DeletePushToken(app: caller.app, user: caller.user, device: request.deviceID)
        _ = try await support.idempotent(caller) { try await support.write(query, for: caller).map { _ in .empty } }
        return ProtoChangePlace()
    }
}
