// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// Closes a connection whose client does not take what it is being sent; a slow one that goes on reading is left alone.
///
/// Nobody else does: the time-out of idle connections ends with the request's last byte.
final class StallGuard: Sendable {
    private final class Progress: Sendable {
        let hasMoved = Atomic(false)
    }

    private let progress: Progress
    private let timer: RepeatedTask

    /// - Parameter limit: closed after this long without ``moved()``, or at most twice as long.
    init(_ channel: any Channel, limit: TimeAmount = .seconds(60)) {
        let progress = Progress()
        self.progress = progress
        timer = channel.eventLoop.scheduleRepeatedTask(initialDelay: limit, delay: limit) { _ in
            if !progress.hasMoved.exchange(false, ordering: .relaxed) { channel.close(promise: nil) }
        }
    }

    /// The client has taken something.
    func moved() { progress.hasMoved.store(true, ordering: .relaxed) }

    /// All was sent, or nothing can be any more.
    func stop() { timer.cancel() }
}
