// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit

/// A connection as seen by the server's tasks: a mailbox for the handler on the event loop.
final class RPCServerConnection: Sendable {
    enum Item: Sendable {
        case finished(id: UInt64, method: RPCMethod, started: ContinuousClock.Instant, Result<ByteBuffer, RPCError>)
        case drain(within: Duration)
        case close
    }

    let channel: any Channel
    let mailbox = Mailbox<Item>()
    /// The handler, set while it is in the pipeline. The handler and this object only refer to each other during that
    /// time.
    let handler: NIOLoopBoundBox<RPCServerHandler?>

    /// Creates a connection. Must be called on the channel's event loop.
    init(channel: any Channel) {
        self.channel = channel
        self.handler = NIOLoopBoundBox(nil, eventLoop: channel.eventLoop)
    }

    /// Puts an item into the mailbox. Returns false if the connection is closed.
    func put(_ item: Item) -> Bool {
        switch mailbox.putFollowUp(item) {
        case .refused, .full: return false
        case .queued: return true
        case .wake:
            channel.eventLoop.execute { [handler] in handler.value?.mailFilled() }
            return true
        }
    }

    func closed() async {
        // The close future never fails.
        try? await channel.closeFuture.get()
    }
}
