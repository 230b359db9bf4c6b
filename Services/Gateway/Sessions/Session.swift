// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import FanOut
import FoundationEssentials
import Logging
import NIOCore
import NetKit
import RPC
import ServiceKit
import StrataModel
import SwiftProtobuf
import Synchronization

/// The session of a signed-in user, part of every request and socket.
struct Session: Sendable {
    let key: UserKey
    /// The user's identity when the session was looked up.
    let identity: BasicIdentity
    let tokenDigest: [UInt8]
    let expiresAt: Timestamp
    /// The time of creation, by the database's clock, which also stamps changes.
    let createdAt: Timestamp
    /// The time from which a replay brings all changes since the session was made, or all that the log holds.
    let replayableSince: Timestamp
    /// The database of the app.
    var database = DatabaseName.main
}

/// A session token as presented by a client. It is never logged, and never kept longer than the request.
struct SessionToken: Sendable {
    let text: String

    /// The SHA-256 digest of the token. Only the digest is stored.
    var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    /// The app whose session it is. nil: the token was issued by an older release, which did not name the app.
    var app: AppID? {
        guard text.utf8.count == Self.length, let id = Base64URL.decode(text.suffix(Self.idLength)) else { return nil }
        return UUID(contract: Data(id)).map { AppID(rawValue: $0) }
    }

    /// The number of characters of a token, and of the app's id at its end.
    private static let (length, idLength) = (65, 22)

    /// Creates a token. Nil if the text cannot be an issued token, which consists of `A-Z a-z 0-9 . _ -`
    /// (docs/conformance.md §3.4) and has at most 128 characters.
    init?(_ text: some StringProtocol) {
        let isPlausible = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isPlausible, !text.isEmpty, text.utf8.count <= 128 else { return nil }
        self.text = String(text)
    }

    /// Reads `Layer session-token="<token>"`, in double, single or no quotes (docs/conformance.md §1.3).
    init?(authorization header: String) {
        guard var token = header.credentials(of: "Layer session-token=") else { return nil }
        if let quote = token.utf8.first, quote == token.utf8.last, token.utf8.count >= 2,
            quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
        {
            token = token.dropFirst().dropLast()
        }
        self.init(token)
    }
}

extension String {
    /// Returns the text of an `Authorization` header after its scheme, which is compared without regard to case. Nil if
    /// the header has another scheme.
    func credentials(of scheme: String) -> Substring? {
        let isSame = utf8.prefix(scheme.utf8.count)
            .elementsEqual(scheme.utf8) { own, wanted in
                own == wanted
                    || (own ^ wanted == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(wanted | 0x20))
            }
        return isSame ? Substring(utf8.dropFirst(scheme.utf8.count)) : nil
    }
}

/// A cache of the sessions behind tokens. Answers of the conversations service are cached for ``lifetime``, so that a
/// burst of requests causes one call.
///
/// The end of a session is noticed within ``lifetime``, or immediately if its user has a socket on this gateway.
final class SessionDirectory: Sendable {
    /// The time for which an answer is reused.
    static let lifetime = Duration.seconds(5)
    static let capacity = 20_000
    /// The maximum time for which a request waits until its session is looked up. Stock clients give up a request after
    /// 15 s.
    static let patience = Duration.seconds(10)

    private let conversations: RPCClient
    private let opening: OpeningCalls
    private let databases: [DatabaseName]
    private let logger: Logger?
    private let cache = Mutex(ExpiringCache<[UInt8], Session>(capacity: capacity))

    /// - Parameter databases: the databases whose changes this gateway receives, not empty.
    init(
        conversations: RPCClient, opening: OpeningCalls, databases: [DatabaseName] = [.main], logger: Logger? = nil
    ) {
        self.conversations = conversations
        self.opening = opening
        self.databases = databases
        self.logger = logger
    }

    /// - Throws: `authentication_required` without a nonce, which the caller adds; `app_suspended`, `user_suspended`;
    ///   `service_unavailable`, also for an app in a database that the settings do not name.
    func session(for token: SessionToken, trace: TraceID) async throws(Failure) -> Session {
        let digest = token.digest
        if let session = known(digest) { return session }
        let asked = ContinuousClock.now
        return try await opening.inTurn { () throws(Failure) in
            guard ContinuousClock.now - asked < Self.patience else { throw .unavailable }
            // Another request with the token may have been answered meanwhile.
            if let session = known(digest) { return session }
            return try await find(digest, of: token.app, trace: trace)
        }
    }

    private func known(_ digest: [UInt8]) -> Session? { cache.withLock { $0.value(for: digest, at: .now) } }

    private func find(_ digest: [UInt8], of app: AppID?, trace: TraceID) async throws(Failure) -> Session {
        let now = ContinuousClock.now
        let request = ProtoFindSessionRequest.with {
            $0.tokenDigest = Data(digest)
            if let app { $0.appID = Data(app) }
        }
        let proto = try await conversations.call(
            ConversationsAPI.findSession, with: request, for: .within(.seconds(5), trace: trace))
        // Older services name no database.
        let database = proto.database.isEmpty ? databases.first : DatabaseName(proto.database)
        guard let database, databases.contains(database) else {
            logger?
                .error(
                    "database is missing in STRATA_DATABASES", metadata: ["postgres.database": "\(proto.database)"])
            throw .unavailable
        }
        let session = try GatewayServices.converted {
            Session(
                key: UserKey(app: try AppID(contract: proto.appID), user: UserID(trusted: proto.identity.userID)),
                identity: BasicIdentity(proto.identity), tokenDigest: digest,
                expiresAt: Timestamp(microseconds: proto.expiresAt),
                createdAt: Timestamp(microseconds: proto.createdAt),
                replayableSince: Timestamp(microseconds: proto.replayableSince), database: database)
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
