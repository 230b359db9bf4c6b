// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit
import Synchronization

#if DEBUG
/// The continuation of a waiting call. It is checked in debug builds, so that tests detect a call that is resumed twice
/// or never.
typealias RPCWaiter = CheckedContinuation<RPCAttempt, Never>
func withRPCWaiter(_ body: (RPCWaiter) -> Void) async -> RPCAttempt { await withCheckedContinuation(body) }
#else
typealias RPCWaiter = UnsafeContinuation<RPCAttempt, Never>
func withRPCWaiter(_ body: (RPCWaiter) -> Void) async -> RPCAttempt { await withUnsafeContinuation(body) }
#endif

enum RPCAttempt: Sendable {
    case answered(ByteBuffer)
    case failed(RPCError)
    /// The connection no longer accepts calls. Nothing was written.
    case notSent
}

struct RPCOutgoingCall: Sendable {
    var method: RPCMethod
    var payload: ByteBuffer
    var deadline: ContinuousClock.Instant
    var trace: TraceID
}

/// A connection as seen by the client's tasks: a mailbox for the handler on the event loop.
final class RPCClientConnection: Sendable {
    enum Item: Sendable {
        case call(id: UInt64, RPCOutgoingCall, RPCWaiter)
        case cancel(id: UInt64)
        case drain(within: Duration)
    }

    let address: SocketAddress
    /// The number of calls in flight, for load balancing: from the choice of this connection to the end of the attempt.
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

    /// The size of the requests queued for the socket, in bytes.
    var queuedBytes: Int { mailbox.held.bytes }

    var isOpen: Bool { mailbox.isOpen }

    /// Makes one attempt. It ends with the first of these events: the response, an error, the deadline, the task's
    /// cancellation, or the loss of the connection.
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
                // A cancellation before the call was in the mailbox has not found it. Repeat it.
                if wasCancelled.isSet { followUp(.cancel(id: id)) }
            }
        } onCancel: {
            wasCancelled.set()
            followUp(.cancel(id: id))
        }
    }

    /// Stops accepting calls, finishes those in flight, and closes the connection, at the latest after `limit`.
    func drain(within limit: Duration) {
        followUp(.drain(within: limit))
    }

    /// Waits for the end of the handshake. Throws the `RPCError` of a failed one.
    func opened() async throws {
        let handler = handler
        try await channel.eventLoop.flatSubmit { handler.value.opened.futureResult }.get()
    }

    func closed() async {
        // The close future never fails.
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
