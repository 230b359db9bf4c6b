// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// A socket's end of its channel: where it writes, when something came last, and whether it is over.
struct SocketLink {
    private(set) var context: ChannelHandlerContext?
    /// The frame encoder's context: what is written there is on the wire as it is.
    private(set) var rawContext: ChannelHandlerContext?
    private(set) var lastHeard: NIODeadline
    /// A close frame has been sent, or the peer is gone: nothing may follow it (RFC 6455, 5.5.1).
    private(set) var isClosing = false

    init(openedAt time: NIODeadline) { lastHeard = time }

    mutating func opened(_ context: ChannelHandlerContext, rawContext: ChannelHandlerContext?) {
        self.context = context
        self.rawContext = rawContext
    }

    /// Something came from the peer.
    mutating func heard(at time: NIODeadline) { lastHeard = time }

    mutating func closes() { isClosing = true }

    mutating func ended() {
        context = nil
        rawContext = nil
    }
}
