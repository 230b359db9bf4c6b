// SPDX-License-Identifier: Apache-2.0
import FanOut
import StrataModel
import Synchronization

/// Names of users as they came by with messages and participants: what a typing signal shows of its sender.
final class IdentityCache: Sendable {
    /// Entries kept at most; over it, everything is forgotten.
    static let capacity = 50_000
    private let identities = Mutex<[UserKey: BasicIdentity]>([:])

    func known(_ key: UserKey) -> BasicIdentity? { identities.withLock { $0[key] } }

    func remember(_ identity: BasicIdentity, in app: AppID) {
        identities.withLock { identities in
            if identities.count >= Self.capacity { identities.removeAll() }
            identities[UserKey(app: app, user: identity.userID)] = identity
        }
    }

    /// Asks the conversations service, and remembers. Nil if it cannot be asked.
    func load(_ key: UserKey, through services: GatewayServices) async -> BasicIdentity? {
        guard let identity = try? await services.identities([key.user], for: GatewayServices.Call(key, budget: .seconds(2))).first else {
            return nil
        }
        remember(identity.basic, in: key.app)
        return identity.basic
    }
}
