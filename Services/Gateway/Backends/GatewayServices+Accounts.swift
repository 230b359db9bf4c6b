// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

extension GatewayServices {
    /// - Returns: the new session token, and the user's identity unless an older version of the service omits it.
    func signIn(
        app: AppID, identityToken: String, trace: TraceID
    ) async throws(Failure) -> (token: String, identity: Identity?) {
        let request = ProtoSignInRequest.with {
            $0.appID = Data(app)
            $0.identityToken = identityToken
        }
        let answer = try await conversations.call(
            ConversationsAPI.signIn, with: request, for: .within(.seconds(10), trace: trace))
        return (answer.sessionToken, answer.hasIdentity ? Identity(answer.identity) : nil)
    }

    /// Ends a session. An unknown session counts as ended.
    func endSession(of token: SessionToken, trace: TraceID) async throws(Failure) {
        let request = ProtoEndSessionRequest.with {
            $0.tokenDigest = Data(token.digest)
            if let app = token.app { $0.appID = Data(app) }
        }
        _ = try await conversations.call(
            ConversationsAPI.endSession, with: request, for: .within(.seconds(5), trace: trace))
    }

    /// Checks any number of sessions, in batches.
    /// - Parameter apps: the app of each session, by the digest of its token.
    /// - Returns: the sessions that are no longer valid. A batch whose call fails contributes none.
    func endedSessions(among apps: [[UInt8]: AppID]) async -> Set<[UInt8]> {
        var ended: Set<[UInt8]> = []
        for batch in Array(apps).batches(of: ConversationsAPI.maximumAccounts) {
            let request = ProtoCheckSessionsRequest.with {
                $0.tokenDigests = batch.map { Data($0.key) }
                $0.appIds = batch.map { Data($0.value) }
            }
            let answer = try? await conversations.call(
                ConversationsAPI.checkSessions, with: request, for: .within(.seconds(10)))
            for digest in answer?.ended ?? [] { ended.insert([UInt8](digest)) }
        }
        return ended
    }

    /// Returns the key if the user is known to the app.
    /// - Throws: `not_found` for an unknown user.
    func knownUser(_ key: UserKey, trace: TraceID) async throws(Failure) -> UserKey {
        let request = ProtoFindUserRequest.with {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
        }
        _ = try await conversations.call(ServerAPI.findUser, with: request, for: .within(.seconds(5), trace: trace))
        return key
    }

    /// Returns identities in the requested order. Unknown users get a minimal identity.
    func identities(_ users: [UserID], for call: Call) async throws(Failure) -> [Identity] {
        let request = ProtoIdentitiesRequest.with {
            $0.appID = call.appData
            $0.userIds = users.map(\.rawValue)
        }
        return try await conversations.call(ConversationsAPI.identities, with: request, for: call).identities
            .map { Identity($0) }
    }

    /// Returns all users whose presence the user may be sent.
    func followed(_ call: Call) async throws(Failure) -> [UserID] {
        let request = ProtoFollowedRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
        }
        return try await conversations.call(ConversationsAPI.followed, with: request, for: call).userIds
            .map { UserID(trusted: $0) }
    }
}
