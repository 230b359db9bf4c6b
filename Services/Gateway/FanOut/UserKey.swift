// SPDX-License-Identifier: Apache-2.0
import Model

/// A user of one application: the key of everything a gateway keeps per user.
struct UserKey: Hashable, Sendable {
    let app: AppID
    let user: UserID
}
