// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Told what a ``RedisSubscriber`` receives.
///
/// All methods are called on the subscriber's event loop, in the order of events, and must not block: everything else of that loop waits.
public protocol RedisSubscriberDelegate: Sendable {
    /// A message was published on a channel. Messages of one channel come in the order the server had them. A message can come shortly after
    /// `unsubscribe`, and one can come twice while a cluster moves a channel to another server.
    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer)

    /// The server has confirmed a subscription, the first one or one after a loss: what is published from now on is received.
    func subscriber(didConfirm channel: String)

    /// A connection was lost or cannot be made, or a cluster has moved channels: anything may have been missed from here on. Not called again
    /// before ``subscriberDidRecover()``.
    func subscriberDidLoseConnection()

    /// Everything that was subscribed to when the connection was lost is confirmed again.
    func subscriberDidRecover()
}
