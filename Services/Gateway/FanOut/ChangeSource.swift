// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import Redis
package import StrataModel

/// The calls that the fan-out makes to the services.
///
/// Results are futures on the caller's event loop, so the fan-out receives them in the order of that loop.
package protocol ChangeSource: Sendable {
    /// Returns the changes of a conversation after `position` in ascending order, its head, and the current counts of
    /// `users`.
    func changes(
        of conversation: ConversationID, after position: Position, users: [UserID], on loop: any EventLoop
    ) -> EventLoopFuture<ChangePage>
    /// Returns the logs that changed since `since`, for all conversations of the database. nil: within the service's
    /// default period.
    func heads(since: Timestamp?, on loop: any EventLoop) -> EventLoopFuture<Heads>
    /// Returns the entries of a user's own log after `position`, in ascending order.
    func userChanges(
        of user: UserKey, after position: Position, on loop: any EventLoop
    ) -> EventLoopFuture<[UserChange]>
    /// Ends a user's typing at the presence service, and does not wait for the answer. A repetition has no effect.
    func endTyping(of user: UserKey, in conversation: ConversationID)
}

/// The desired set of channels. The production implementation is ``Redis/RedisSubscriber``.
package protocol ChannelSubscriptions: Sendable {
    func subscribe(_ channels: [String])
    func unsubscribe(_ channels: [String])
    /// Returns once the server has confirmed all of `channels`.
    func confirmation(of channels: [String], deadline: ContinuousClock.Instant) async throws(RedisError)
    var isAvailable: Bool { get }
}

extension RedisSubscriber: ChannelSubscriptions {}

/// One page of a conversation's log.
package struct ChangePage: Sendable {
    package var changes: [Change]
    package var head: Position
    package var counts: [UserID: UserCounts]

    package init(changes: [Change], head: Position, counts: [UserID: UserCounts]) {
        self.changes = changes
        self.head = head
        self.counts = counts
    }
}

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
    /// The apps that have left the database for another one.
    package var moved: [AppID] = []

    package init(
        conversations: [(id: ConversationID, position: Position)], added: [Addition],
        users: [(key: UserKey, position: Position)], asOf: Timestamp,
        epoch: String = "", moved: [AppID] = []
    ) {
        self.conversations = conversations
        self.added = added
        self.users = users
        self.asOf = asOf
        self.epoch = epoch
        self.moved = moved
    }
}
