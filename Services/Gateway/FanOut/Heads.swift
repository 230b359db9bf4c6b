// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// The heads of recently changed logs. Compared with the positions of a gateway, they reveal everything that pub/sub
/// lost.
package struct Heads: Sendable {
    package struct Addition: Sendable {
        package let user: UserKey
        package let conversation: ConversationID
        package let position: Position

        package init(user: UserKey, conversation: ConversationID, position: Position) {
            self.user = user
            self.conversation = conversation
            self.position = position
        }
    }
    package var conversations: [(id: ConversationID, position: Position)]
    package var added: [Addition]
    package var users: [(key: UserKey, position: Position)]
    /// The database's clock at the time of reading, at which the next request starts.
    package var asOf: Timestamp
    /// The epoch of the database. Empty if the service did not name one.
    package var epoch = ""

    package init(
        conversations: [(id: ConversationID, position: Position)], added: [Addition],
        users: [(key: UserKey, position: Position)], asOf: Timestamp,
        epoch: String = ""
    ) {
        self.conversations = conversations
        self.added = added
        self.users = users
        self.asOf = asOf
        self.epoch = epoch
    }
}
