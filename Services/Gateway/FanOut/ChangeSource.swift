// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import Redis
package import StrataModel

/// Where missing changes are read from: the conversations service, in production.
///
/// Answers are futures of the loop that asks, so that the order in which the fan-out hears of them is the order of that loop.
package protocol ChangeSource: Sendable {
    /// The changes of a conversation after `position`, oldest first, its head, and the current numbers of `users`.
    func changes(of conversation: ConversationID, after position: Position, users: [UserID], on loop: any EventLoop) -> EventLoopFuture<ChangePage>
    /// What moved since `since` (nil: lately), in all conversations.
    func heads(since: Timestamp?, on loop: any EventLoop) -> EventLoopFuture<Heads>
    /// A user's own log after `position`, oldest first.
    func userChanges(of user: UserKey, after position: Position, on loop: any EventLoop) -> EventLoopFuture<[UserChange]>
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
