// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit

/// A connection as the server's tasks see it: a mailbox in front of the handler that lives on the event loop.
final class RPCServerConnection: Sendable {
    enum Item: Sendable {
        case finished(id: UInt64, method: RPCMethod, started: ContinuousClock.Instant, Result<ByteBuffer, RPCError>)
        case drain(within: Duration)
        case close
    }

    let channel: any Channel
    let mailbox = Mailbox<Item>()
    /// Set while the handler is in the pipeline; it and this object refer to each other only that long.
    let handler: NIOLoopBoundBox<RPCServerHandler?>

    /// Call on the channel's event loop.
    init(channel: any Channel) {
        self.channel = channel
        self.handler = NIOLoopBoundBox(nil, eventLoop: channel.eventLoop)
    }

    /// Leaves something for the event loop. False: the connection is gone.
    func put(_ item: Item) -> Bool {
        switch mailbox.putFollowUp(item) {
        case .refused, .full: return false
        case .queued: return true
        case .wake:
            channel.eventLoop.execute { [handler] in handler.value?.mailFilled() }
            return true
        }
    }

    /// Returns when the connection is closed.
    func closed() async {
        // A close future does not fail.
        try? await channel.closeFuture.get()
    }
}
