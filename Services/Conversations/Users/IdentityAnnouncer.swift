// SPDX-License-Identifier: Apache-2.0
import Contracts
import StrataModel

/// Tells those who see a user's identity that it has changed.
struct IdentityAnnouncer: Sendable {
    let directory: IdentityDirectory
    let publisher: Publisher

    /// Sends the whole identity, since a packet says each property it carries.
    /// - Parameter entries: of the logs of those who are told; nil: the identity has not changed.
    func announce(_ identity: Identity, to entries: [ToldUsersColumns.Entry]?, in app: AppID) {
        guard let entries else { return }
        directory.forget(identity.basic.userID, in: app)
        publisher.notify(
            entries.map { entry in
                let change = UserChange(
                    appID: app, user: entry.user, position: entry.position, createdAt: entry.createdAt, content: .identityChanged(identity))
                return UserNotice(appID: app, user: entry.user, content: .change(change))
            })
    }
}
