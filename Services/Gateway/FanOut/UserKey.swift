// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// A user of one app: the key of all state that a gateway keeps for a user.
package struct UserKey: Hashable, Sendable {
    package let app: AppID
    package let user: UserID

    package init(app: AppID, user: UserID) {
        self.app = app
        self.user = user
    }
}
