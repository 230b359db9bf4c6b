// SPDX-License-Identifier: Apache-2.0
import Contracts
import StrataModel

/// Notifies the users who see a user's identity of its change.
struct IdentityAnnouncer: Sendable {
    let directory: IdentityDirectory
    let publisher: Publisher

    /// Sends the complete identity, because a packet contains the value of each property.
    /// - Parameter entries: the new entries in the recipients' logs. nil: the identity has not changed.
    func announce(_ identity: Identity, to entries: [UserLogEntries.Entry]?, in app: AppID) {
        guard let entries else { return }
        directory.forget(identity.basic.userID, in: app)
        publisher.notify(
            entries.map { entry in
                let change = UserChange(
                    appID: app, user: entry.user, position: entry.position, createdAt: entry.createdAt,
                    content: .identityChanged(identity))
                return UserNotice(appID: app, user: entry.user, content: .change(change))
            })
    }
}
