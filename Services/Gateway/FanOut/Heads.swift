// SPDX-License-Identifier: Apache-2.0
import Model

/// What moved lately: compared with what a gateway has seen, it shows everything that pub/sub lost.
struct Heads: Sendable {
    struct Added: Sendable {
        let user: UserKey
        let conversation: ConversationID
        let position: Position
    }
    var conversations: [(id: ConversationID, position: Position)]
    var added: [Added]
    var users: [(key: UserKey, position: Position)]
    /// The database's clock when this was read: where the next question starts.
    var asOf: Timestamp
    /// Of the database; empty if the service did not say.
    var epoch = ""
}
