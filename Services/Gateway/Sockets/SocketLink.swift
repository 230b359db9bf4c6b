// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// A socket's channel contexts, with the time of the last input and the closing state.
struct SocketLink {
    private(set) var context: ChannelHandlerContext?
    /// The context of the frame encoder, for writing encoded frames.
    private(set) var rawContext: ChannelHandlerContext?
    private(set) var lastHeard: NIODeadline
    /// True after a close frame has been sent or the peer has disconnected. No frame may follow (RFC 6455 §5.5.1).
    private(set) var isClosing = false

    init(openedAt time: NIODeadline) { lastHeard = time }

    mutating func opened(_ context: ChannelHandlerContext, rawContext: ChannelHandlerContext?) {
        self.context = context
        self.rawContext = rawContext
    }

    mutating func heard(at time: NIODeadline) { lastHeard = time }

    mutating func closes() { isClosing = true }

    mutating func ended() {
        context = nil
        rawContext = nil
    }
}
