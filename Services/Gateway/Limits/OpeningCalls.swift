// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Limits the calls to the conversations service for sockets that open or catch up, and for requests of sessions that
/// this gateway does not know.
///
/// If thousands of clients reconnect at once, their calls wait here in the order of their arrival. So they leave room
/// for connected users in the limit of all calls to a service.
final class OpeningCalls: Sendable {
    /// The maximum number of calls at the same time.
    static let limit = 256

    private enum Key { case all }

    private let queue = Mutex(TurnQueue<Key, CheckedContinuation<Void, Never>>(limit: limit))

    /// Runs a call in its turn.
    func inTurn<T, E: Error>(_ call: () async throws(E) -> T) async throws(E) -> T {
        await begin()
        defer { queue.withLock { $0.end() }?.resume() }
        return try await call()
    }

    private func begin() async {
        await withCheckedContinuation { continuation in
            let begins = queue.withLock { queue in
                if queue.begin() { return true }
                queue.wait(.all, id: 0, waiter: continuation)
                return false
            }
            if begins { continuation.resume() }
        }
    }
}
