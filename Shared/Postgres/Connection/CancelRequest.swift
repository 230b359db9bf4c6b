// SPDX-License-Identifier: Apache-2.0

import CLibPQ
import Synchronization

/// A request to cancel the running statement of a connection, sent from its own thread.
///
/// libpq sends it over a second connection and waits without a time-out for the server to close that one. On the
/// connection's own thread, this would block as long as a network drops packets.
///
/// Until the request has finished, it can still cancel whatever is sent next. Therefore the connection must not be used
/// before that.
///
/// `@unchecked Sendable`: only the thread started here uses the pointer. `deinit` frees it after that thread has ended.
final class CancelRequest: @unchecked Sendable {
    private let raw: OpaquePointer
    private let finished = Atomic(false)

    /// Starts the request on libpq's `connection`. Signals `wake` when the server has forwarded the request, or cannot
    /// be reached.
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
