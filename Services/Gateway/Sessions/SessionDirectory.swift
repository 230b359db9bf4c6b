// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import NIOCore
import RPC
import SwiftProtobuf
import Synchronization

/// Finds the session behind a token, and remembers it for a few seconds so that a burst of requests asks once.
///
/// A session that ends elsewhere is noticed within ``lifetime``, or at once where its user has a socket on this gateway.
final class SessionDirectory: Sendable {
    /// How long an answer is used again.
    static let lifetime = Duration.seconds(5)
    /// Entries kept at most; over it, everything is forgotten and asked for again.
    static let capacity = 20_000

    private struct Entry {
        let session: Session
        let validUntil: ContinuousClock.Instant
    }

    private let conversations: RPCClient
    private let cache = Mutex<[[UInt8]: Entry]>([:])

    init(conversations: RPCClient) { self.conversations = conversations }

    /// - Throws: `authentication_required` without a nonce, which the caller adds; `app_suspended`, `user_suspended`; `service_unavailable`.
    func session(for token: SessionToken, trace: TraceID) async throws(Failure) -> Session {
        let digest = token.digest
        let now = ContinuousClock.now
        if let entry = cache.withLock({ $0[digest] }), entry.validUntil > now { return entry.session }
        let proto = try await conversations.call(
            ConversationsAPI.findSession, .with { $0.tokenDigest = Data(digest) }, deadline: now + .seconds(5), trace: trace)
        let session = try GatewayServices.converted {
            Session(
                key: UserKey(app: try AppID(contract: proto.appID), user: UserID(trusted: proto.identity.userID)),
                identity: BasicIdentity(proto.identity), tokenDigest: digest, expiresAt: Timestamp(microseconds: proto.expiresAt),
                createdAt: Timestamp(microseconds: proto.createdAt), replayableSince: Timestamp(microseconds: proto.replayableSince))
        }
        cache.withLock { cache in
            if cache.count >= Self.capacity { cache.removeAll() }
            cache[digest] = Entry(session: session, validUntil: now + Self.lifetime)
        }
        return session
    }

    /// The session has ended: nothing remembered may say otherwise.
    func forget(tokenDigest: [UInt8]) {
        cache.withLock { _ = $0.removeValue(forKey: tokenDigest) }
    }

    /// All sessions of a user have ended.
    func forget(_ user: UserKey) {
        cache.withLock { cache in cache = cache.filter { $0.value.session.key != user } }
    }
}
