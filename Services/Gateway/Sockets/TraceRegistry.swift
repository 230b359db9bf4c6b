// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import NIOWebSocket
import StrataModel
import StrataWire
import Synchronization

/// The running traces of a gateway.
final class TraceRegistry: Sendable {
    /// The maximum number of traces that run at the same time.
    static let maximum = 4

    private struct State {
        var running: [PacketTrace] = []
        var isStopped = false
    }

    private let loops: [SocketLoop]
    private let state = Mutex(State())

    init(loops: [SocketLoop]) { self.loops = loops }

    /// Begins a trace of a user's sockets. It ends after `duration`, unless it ends earlier.
    /// - Returns: nil if ``maximum`` traces run, or the gateway is stopping.
    func begin(_ key: UserKey, for duration: TimeAmount) -> PacketTrace? {
        let trace = PacketTrace(of: key)
        let isAdmitted = state.withLock { state in
            guard state.running.count < Self.maximum, !state.isStopped else { return false }
            state.running.append(trace)
            return true
        }
        guard isAdmitted else { return nil }
        for loop in loops { loop.enqueue { $0.begin(trace) } }
        loops.first?.loop.scheduleTask(in: duration) { self.end(trace) }
        return trace
    }

    /// Ends a trace. Has no effect if it has ended.
    func end(_ trace: PacketTrace) {
        state.withLock { $0.running.removeAll { $0 === trace } }
        trace.end()
        for loop in loops { loop.enqueue { $0.end(trace) } }
    }

    /// Ends all traces, and admits no further one.
    func stop() {
        let running = state.withLock { state in
            state.isStopped = true
            return state.running
        }
        for trace in running { end(trace) }
    }
}

extension SocketLoop {
    func begin(_ trace: PacketTrace) {
        traces[trace.key, default: []].append(trace)
        for socket in tracedSockets(of: trace.key) { trace.record(.opened, of: socket.id) }
    }

    func end(_ trace: PacketTrace) {
        let rest = traces[trace.key]?.filter { $0 !== trace } ?? []
        traces[trace.key] = rest.isEmpty ? nil : rest
        _ = tracedSockets(of: trace.key)
    }

    /// Gives the user's sockets the present traces, and returns the sockets.
    private func tracedSockets(of key: UserKey) -> [Socket] {
        let sockets = registry.sockets(of: key).compactMap { $0 as? Socket }
        for socket in sockets { socket.traces = traces[key] }
        return sockets
    }
}

/// The recording of traces. Without a trace, each call only compares with nil.
extension Socket {
    func trace(_ event: @autoclosure () -> PacketTrace.Event) {
        guard let traces else { return }
        let event = event()
        for trace in traces { trace.record(event, of: id) }
    }

    /// Records a text frame from the client.
    func trace(_ frame: WebSocketFrame) { trace(.received(frame.unmaskedData)) }

    /// Records packets that were added to the current turn.
    func trace(_ rendering: Rendering, values: ReaderValues) {
        guard traces != nil else { return }
        let (stamp, first) = (TimestampText(outbox.lastStamp), outbox.sequence.counter - Int64(rendering.tails.count))
        for (counter, tail) in zip(first..., rendering.tails) {
            trace(.sent(tail.packet(counter: counter, timestamp: stamp, values: values)))
        }
    }
}
