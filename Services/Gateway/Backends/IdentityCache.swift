// SPDX-License-Identifier: Apache-2.0
import FanOut
import StrataModel
import Synchronization

/// A cache of users' basic identities, filled from messages and participants. A typing signal shows its sender from it.
final class IdentityCache: Sendable {
    /// The maximum number of entries. When it is reached, the whole cache is cleared.
    static let capacity = 50_000
    private let identities = Mutex<[UserKey: BasicIdentity]>([:])

    func known(_ key: UserKey) -> BasicIdentity? { identities.withLock { $0[key] } }

    func remember(_ identity: BasicIdentity, in app: AppID) {
        identities.withLock { identities in
            if identities.count >= Self.capacity { identities.removeAll() }
            identities[UserKey(app: app, user: identity.userID)] = identity
        }
    }

    /// Fetches an identity from the conversations service and caches it. Returns nil if the call fails.
    func load(_ key: UserKey, through services: GatewayServices) async -> BasicIdentity? {
        guard
            let identity =
                try? await services.identities([key.user], for: GatewayServices.Call(key, budget: .seconds(2))).first
        else {
            return nil
        }
        remember(identity.basic, in: key.app)
        return identity.basic
    }
}
