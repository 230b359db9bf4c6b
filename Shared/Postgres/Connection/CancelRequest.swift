// SPDX-License-Identifier: Apache-2.0

import CLibPQ
import Synchronization

/// A request to cancel what runs on a connection, sent from a thread of its own.
///
/// libpq opens a second connection for it and waits for the server to close that, without any time limit: done on the connection's own thread, it
/// would hang with a network that swallows packets. Until it has finished, a late request could still hit whatever is sent next, so the connection
/// must not be used again before that.
///
/// `@unchecked Sendable`: the pointer is used by the one thread started here, and freed by `deinit` when that has ended.
final class CancelRequest: @unchecked Sendable {
    private let raw: OpaquePointer
    private let finished = Atomic(false)

    /// `connection` is libpq's. Signals `wake` when the server has passed the request on, or cannot be asked.
    init?(_ connection: OpaquePointer, wake: WakeSignal) {
        guard let raw = PQgetCancel(connection) else { return nil }
        self.raw = raw
        do throws(PostgresError) {
            try OwnThread.start {
                self.send()
                wake.signal()
            }
        } catch {
            finished.store(true, ordering: .releasing)
        }
    }

    deinit { PQfreeCancel(raw) }

    var isFinished: Bool { finished.load(ordering: .acquiring) }

    private func send() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            _ = PQcancel(raw, message.baseAddress, Int32(message.count))
        }
        finished.store(true, ordering: .releasing)
    }
}
