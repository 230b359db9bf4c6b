// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A signal that wakes a thread waiting in `poll` for a socket.
final class WakeSignal: Sendable {
    private let readEnd: Int32
    private let writeEnd: Int32

    /// Creates a signal. Throws ``PostgresError/Code/configuration`` if the process has no free file descriptors.
    init() throws(PostgresError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw PostgresError(code: .configuration, reason: "too many open files") }
        for end in ends {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Makes the current or the next ``wait(socket:write:until:)`` return. Never blocks, because a full pipe also wakes
    /// the thread.
    func signal() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }

    struct Outcome {
        /// True if the socket has input, room for output, or an error.
        var socketReady = false
        var signalled = false
    }

    /// Waits for a signal, for the socket (if any) or for the deadline.
    func wait(
        socket: Int32? = nil, read: Bool = true, write: Bool = false, until deadline: ContinuousClock.Instant?
    ) -> Outcome {
        let milliseconds: Int32
        if let deadline {
            milliseconds = Int32(clamping: max(0, ContinuousClock.now.duration(to: deadline).wholeMilliseconds))
        } else {
            milliseconds = -1
        }
        return withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 2) { descriptors in
            let events = (read ? POLLIN : 0) | (write ? POLLOUT : 0)
            descriptors.initializeElement(at: 0, to: pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0))
            // `poll` ignores a negative descriptor.
            descriptors.initializeElement(at: 1, to: pollfd(fd: socket ?? -1, events: Int16(events), revents: 0))
            guard poll(descriptors.baseAddress, 2, milliseconds) > 0 else { return Outcome() }
            let signalled = descriptors[0].revents != 0
            if signalled { drain() }
            return Outcome(socketReady: descriptors[1].revents != 0, signalled: signalled)
        }
    }

    /// Returns true if the socket has input or is closed.
    func hasInput(socket: Int32) -> Bool {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    private func drain() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(readEnd, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
