// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// The delegate of a ``RedisSubscriber``.
///
/// All methods are called on the subscriber's event loop, in the order of events. They must not block, because this
/// delays all other work of that loop.
public protocol RedisSubscriberDelegate: Sendable {
    /// Receives a message of a channel. Messages of one channel arrive in the server's order. A message can arrive
    /// shortly after `unsubscribe`, and can arrive twice while a cluster moves a channel to another server.
    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer)

    /// Called when the server confirms a subscription, initially or after a loss. Messages published from now on are
    /// received.
    func subscriber(didConfirm channel: String)

    /// Called when a connection is lost or cannot be established, or a cluster has moved channels. From now on,
    /// messages may be missed. Not called again before ``subscriberDidRecover()``.
    func subscriberDidLoseConnection()

    /// Called when all subscriptions from the time of the loss are confirmed again.
    func subscriberDidRecover()
}
