// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import FoundationEssentials
import NetKit
import RPC
import StrataModel
import SwiftProtobuf
import Synchronization

/// A server token as presented by an app's own server. It is never logged, and never kept longer than the request.
struct ServerToken: Sendable {
    /// The SHA-256 digest of the token. Only the digest is stored.
    let digest: [UInt8]

    /// The maximum number of characters in a token. Issued tokens have 43.
    private static let longest = 256

    /// Reads `Bearer <token>`. Nil if the text cannot be a token: letters, digits and `- . _ ~ + / =` (RFC 6750).
    init?(authorization header: String) {
        guard let text = header.credentials(of: "Bearer ")?.drop(while: { $0 == " " }) else { return nil }
        guard !text.isEmpty, text.utf8.count <= Self.longest, text.utf8.allSatisfy(Self.isTokenByte) else { return nil }
        digest = Array(SHA256.hash(data: Array(text.utf8)))
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}

/// The authenticated caller of a request by an app's own server.
struct ServerCaller: Hashable, Sendable {
    let app: AppID
    /// The id of the token, by which an operator lists and revokes it.
    let token: UUID
}

/// A cache of the callers behind server tokens. Answers of the conversations service are cached for ``lifetime``, so
/// that a burst of requests causes one call.
final class ServerTokenDirectory: Sendable {
    /// The time for which an answer is reused. A revoked token is refused everywhere after this time and that of one
    /// call, within five seconds.
    static let lifetime = Duration.seconds(4)
    static let capacity = 10_000

    private struct Key: Hashable {
        let app: AppID
        let digest: [UInt8]
    }

    private let conversations: RPCClient
    private let cache = Mutex(ExpiringCache<Key, ServerCaller>(capacity: capacity))

    init(conversations: RPCClient) { self.conversations = conversations }

    /// - Throws: `invalid_app_id`, `app_suspended`; `authentication_required` for an unknown or revoked token,
    ///   `access_denied` for a token of another app; `service_unavailable`.
    func caller(with token: ServerToken, for app: AppID, trace: TraceID) async throws(Failure) -> ServerCaller {
        if let known = known(token, for: app) { return known }
        let asked = ContinuousClock.now
        let answer = try await find(token.digest, of: app, trace: trace)
        let caller = try GatewayServices.converted {
            guard let id = UUID(contract: answer.tokenID) else {
                throw Failure(.internalServerError, "A token has no id.")
            }
            return ServerCaller(app: app, token: id)
        }
        cache.withLock { $0.insert(caller, for: Key(app: app, digest: token.digest), until: asked + Self.lifetime) }
        return caller
    }

    /// Checks the app of a request without a token. Errors of the app take precedence over the missing token.
    /// - Throws: `invalid_app_id`, `app_suspended`, `service_unavailable`.
    func checkApp(_ app: AppID, trace: TraceID) async throws(Failure) {
        do throws(Failure) {
            // No token has this digest, which is too short for SHA-256.
            _ = try await find([0], of: app, trace: trace)
        } catch {
            if error.code != .authenticationRequired { throw error }
        }
    }

    /// Returns the caller, if the token is in the cache.
    func known(_ token: ServerToken, for app: AppID) -> ServerCaller? {
        cache.withLock { $0.value(for: Key(app: app, digest: token.digest), at: .now) }
    }

    private func find(
        _ digest: [UInt8], of app: AppID, trace: TraceID
    ) async throws(Failure) -> ProtoFindServerTokenResponse {
        let request = ProtoFindServerTokenRequest.with {
            $0.appID = Data(app)
            $0.tokenDigest = Data(digest)
        }
        return try await conversations.call(
            ServerAPI.findServerToken, with: request, for: .within(.seconds(5), trace: trace))
    }
}
