// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

/// The console's own server tokens, one for each app that an operator opens. They are kept in memory only.
actor ServerTokens {
    /// The time for which a token is valid.
    static let lifetime: Int64 = 3600
    /// The time after which a token is replaced.
    static let renewal = Duration.seconds(1800)

    private struct Entry {
        let token: Task<String, any Error>
        let renewAt: ContinuousClock.Instant
    }

    private let make: @Sendable (AppID) async throws(Failure) -> String
    private var entries: [AppID: Entry] = [:]

    init(conversations: RPCClient) {
        self.init { app throws(Failure) in
            let token = SecretToken.make()
            let request = ProtoCreateServerTokenRequest.with {
                $0.appID = Data(app)
                $0.tokenID = Data(uuid: UUID())
                $0.tokenDigest = Data(SecretToken.digest(of: token))
                $0.name = "console"
                $0.expiresInSeconds = Self.lifetime
            }
            _ = try await conversations.call(AdminAPI.createServerToken, with: request, for: .within(.seconds(5)))
            return token
        }
    }

    /// - Parameter make: creates a token of an app.
    init(make: @escaping @Sendable (AppID) async throws(Failure) -> String) { self.make = make }

    /// Returns a token of the app. Concurrent calls share one creation.
    func token(for app: AppID, now: ContinuousClock.Instant = .now) async throws(Failure) -> String {
        let entry: Entry
        if let known = entries[app], now < known.renewAt {
            entry = known
        } else {
            entry = Entry(token: Task { [make] in try await make(app) }, renewAt: now + Self.renewal)
            entries[app] = entry
        }
        do {
            return try await entry.token.value
        } catch {
            if entries[app]?.token == entry.token { entries[app] = nil }
            throw error as? Failure ?? .unavailable
        }
    }

    /// Forgets a token that gateways refuse, because someone has revoked it.
    func discard(_ token: String, of app: AppID) async {
        guard let entry = entries[app], let known = try? await entry.token.value, known == token,
            entries[app]?.token == entry.token
        else { return }
        entries[app] = nil
    }
}
