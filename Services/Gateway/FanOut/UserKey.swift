// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// A user of one application: the key of everything a gateway keeps per user.
package struct UserKey: Hashable, Sendable {
    package let app: AppID
    package let user: UserID

    package init(app: AppID, user: UserID) {
        self.app = app
        self.user = user
    }
}
