// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about sign-ins, identities and the tokens of apps' own servers.
struct AccountHandler: CallHandler {
    private let signIn: SignIn
    private let directory: IdentityDirectory
    private let serverTokens: ServerTokens

    /// The maximum number of users in one call. A larger call is the caller's mistake.
    private static let batchLimit = ConversationsAPI.maximumAccounts

    init(signIn: SignIn, directory: IdentityDirectory, serverTokens: ServerTokens) {
        self.signIn = signIn
        self.directory = directory
        self.serverTokens = serverTokens
    }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.signIn) { try await self.signIn($0, in: $1) }
        router.register(ConversationsAPI.identities) { try await self.identities($0, in: $1) }
        router.register(ServerAPI.findServerToken) { try await self.findServerToken($0, in: $1) }
        router.register(ServerAPI.findUser) { try await self.findUser($0, in: $1) }
    }

    private func signIn(_ request: ProtoSignInRequest, in context: RPCContext) async throws -> ProtoSignInResponse {
        if request.identityToken.isEmpty { throw Failure.missing("identity_token") }
        if request.appID.isEmpty { throw Failure.missing("app_id") }
        guard let app = UUID(contract: request.appID) else { throw Failure.invalidApp }
        let opened = try await signIn.open(request.identityToken, for: AppID(rawValue: app), deadline: context.deadline)
        return .with {
            $0.sessionToken = opened.sessionToken.text
            $0.identity = ProtoIdentity(opened.identity)
        }
    }

    private func identities(
        _ request: ProtoIdentitiesRequest, in context: RPCContext
    ) async throws -> ProtoIdentitiesResponse {
        guard request.userIds.count <= Self.batchLimit else { throw RPCError.tooLarge }
        let app = try AppID(contract: request.appID)
        let users = try request.userIds.map { text in
            guard let user = UserID(text) else { throw Failure.notFound("identity") }
            return user
        }
        let found = try await directory.full(users, in: app, deadline: context.deadline)
        return .with { $0.identities = users.compactMap { found[$0] }.map { ProtoIdentity($0) } }
    }

    private func findServerToken(
        _ request: ProtoFindServerTokenRequest, in context: RPCContext
    ) async throws -> ProtoFindServerTokenResponse {
        let id = try await serverTokens.find(
            [UInt8](request.tokenDigest), of: try AppID(contract: request.appID), deadline: context.deadline)
        return .with { $0.tokenID = Data(uuid: id) }
    }

    private func findUser(_ request: ProtoFindUserRequest, in context: RPCContext) async throws -> ProtoFindUserResponse
    {
        let app = try AppID(contract: request.appID)
        guard let user = UserID(request.userID),
            let found = try await directory.find(user, in: app, deadline: context.deadline)
        else {
            throw Failure.notFound("user")
        }
        return .with {
            $0.identity = ProtoIdentity(found.identity)
            $0.isSuspended = found.isSuspended
        }
    }
}
