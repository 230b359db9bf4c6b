// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import NIOCore
import NetKit
import RPC
import StrataModel
import SwiftProtobuf
import Synchronization

/// A cache of the sessions behind tokens. Answers of the conversations service are cached for ``lifetime``, so that a
/// burst of requests causes one call.
///
/// The end of a session is noticed within ``lifetime``, or immediately if its user has a socket on this gateway.
final class SessionDirectory: Sendable {
    /// The time for which an answer is reused.
    static let lifetime = Duration.seconds(5)
    static let capacity = 20_000

    private let conversations: RPCClient
    private let cache = Mutex(ExpiringCache<[UInt8], Session>(capacity: capacity))

    init(conversations: RPCClient) { self.conversations = conversations }

    /// - Throws: `authentication_required` without a nonce, which the caller adds; `app_suspended`, `user_suspended`;
    ///   `service_unavailable`.
    func session(for token: SessionToken, trace: TraceID) async throws(Failure) -> Session {
        let digest = token.digest
        let now = ContinuousClock.now
        if let session = cache.withLock({ $0.value(for: digest, at: now) }) { return session }
        let proto = try await conversations.call(
            ConversationsAPI.findSession, with: .with { $0.tokenDigest = Data(digest) },
            for: .within(.seconds(5), trace: trace))
        let session = try GatewayServices.converted {
            Session(
                key: UserKey(app: try AppID(contract: proto.appID), user: UserID(trusted: proto.identity.userID)),
                identity: BasicIdentity(proto.identity), tokenDigest: digest,
                expiresAt: Timestamp(microseconds: proto.expiresAt),
                createdAt: Timestamp(microseconds: proto.createdAt),
                replayableSince: Timestamp(microseconds: proto.replayableSince))
        }
        cache.withLock { $0.insert(session, for: digest, until: now + Self.lifetime) }
        return session
    }

    func forget(tokenDigest: [UInt8]) {
        cache.withLock { $0.remove(tokenDigest) }
    }

    func forget(_ user: UserKey) {
        cache.withLock { cache in cache.removeAll { $0.key == user } }
    }
}
