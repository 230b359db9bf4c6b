// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import Redis
package import StrataModel

/// The calls that the fan-out makes to the services.
///
/// Answers are futures of the loop that asks, so that the order in which the fan-out receives them is the order of that loop.
package protocol ChangeSource: Sendable {
    /// The changes of a conversation after `position`, oldest first, its head, and the current numbers of `users`.
    func changes(of conversation: ConversationID, after position: Position, users: [UserID], on loop: any EventLoop) -> EventLoopFuture<ChangePage>
    /// What moved since `since` (nil: lately), in all conversations.
    func heads(since: Timestamp?, on loop: any EventLoop) -> EventLoopFuture<Heads>
    /// A user's own log after `position`, oldest first.
    func userChanges(of user: UserKey, after position: Position, on loop: any EventLoop) -> EventLoopFuture<[UserChange]>
    /// Ends a user's typing at the presence service, and does not wait for the answer. A repetition has no effect.
    func endTyping(of user: UserKey, in conversation: ConversationID)
}

/// The desired set of channels; production: ``Redis/RedisSubscriber``.
package protocol ChannelSubscriptions: Sendable {
    func subscribe(_ channels: [String])
    func unsubscribe(_ channels: [String])
    /// Returns once the server has confirmed all of `channels`.
    func confirmation(of channels: [String], deadline: ContinuousClock.Instant) async throws(RedisError)
    var isAvailable: Bool { get }
}

extension RedisSubscriber: ChannelSubscriptions {}
