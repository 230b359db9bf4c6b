// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit
import Synchronization

#if DEBUG
/// Checked in debug builds, so that tests notice a call that is resumed twice or never.
typealias RPCWaiter = CheckedContinuation<RPCAttempt, Never>
func withRPCWaiter(_ body: (RPCWaiter) -> Void) async -> RPCAttempt { await withCheckedContinuation(body) }
#else
typealias RPCWaiter = UnsafeContinuation<RPCAttempt, Never>
func withRPCWaiter(_ body: (RPCWaiter) -> Void) async -> RPCAttempt { await withUnsafeContinuation(body) }
#endif

/// How one attempt of a call ended.
enum RPCAttempt: Sendable {
    case answered(ByteBuffer)
    case failed(RPCError)
    /// The connection takes no more calls; nothing was written.
    case notSent
}

/// A request as it is handed to a connection.
struct RPCOutgoingCall: Sendable {
    var method: RPCMethod
    var payload: ByteBuffer
    var deadline: ContinuousClock.Instant
    var trace: TraceID
}

/// A connection as the client's tasks see it: a mailbox in front of the handler that lives on the event loop.
final class RPCClientConnection: Sendable {
    enum Item: Sendable {
        case call(id: UInt64, RPCOutgoingCall, RPCWaiter)
        case cancel(id: UInt64)
        case drain(within: Duration)
    }

    let address: SocketAddress
    /// Calls in flight, as the balancer counts them: from the choice of this connection to the end of the attempt.
    let load = Atomic<Int>(0)
    private let channel: any Channel
    private let mailbox: Mailbox<Item>
    private let handler: NIOLoopBound<RPCClientHandler>
    private let nextID = Atomic<UInt64>(0)

    init(
        address: SocketAddress, channel: any Channel, mailbox: Mailbox<Item>, handler: NIOLoopBound<RPCClientHandler>
    ) {
        self.address = address
        self.channel = channel
        self.mailbox = mailbox
        self.handler = handler
    }

    /// Bytes of requests that wait for the socket.
    var queuedBytes: Int { mailbox.held.bytes }

    /// Whether it takes calls.
    var isOpen: Bool { mailbox.isOpen }

    /// One attempt. Ends by the answer, an error, the deadline, the task's cancellation or the loss of the connection, whichever is first.
    func perform(_ call: RPCOutgoingCall) async -> RPCAttempt {
        let id = nextID.wrappingAdd(1, ordering: .relaxed).newValue
        let wasCancelled = Flag()
        return await withTaskCancellationHandler {
            await withRPCWaiter { waiter in
                switch mailbox.put(.call(id: id, call, waiter), cost: .init(bytes: call.payload.readableBytes)) {
                case .wake: wake()
                case .queued: break
                case .refused: waiter.resume(returning: .notSent)
                case .full: waiter.resume(returning: .failed(.overloaded))
                }
                // The cancellation may have come before the call was in the mailbox, and found nothing there.
                if wasCancelled.isSet { followUp(.cancel(id: id)) }
            }
        } onCancel: {
            wasCancelled.set()
            followUp(.cancel(id: id))
        }
    }

    /// Takes no more calls, finishes those in flight, and closes; at the latest after `limit`.
    func drain(within limit: Duration) {
        followUp(.drain(within: limit))
    }

    /// Returns when the opening is done; throws the `RPCError` by which it failed.
    func opened() async throws {
        let handler = handler
        try await channel.eventLoop.flatSubmit { handler.value.opened.futureResult }.get()
    }

    /// Returns when the connection is closed.
    func closed() async {
        // A close future does not fail.
        try? await channel.closeFuture.get()
    }

    private func followUp(_ item: Item) {
        if mailbox.putFollowUp(item) == .wake { wake() }
    }

    private func wake() {
        let handler = handler
        channel.eventLoop.execute { handler.value.mailFilled() }
    }

    private final class Flag: Sendable {
        private let value = Atomic<Bool>(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }
}
