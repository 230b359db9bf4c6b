// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// A store with one value per channel. A value is removed when it is taken or when its channel closes.
final class ChannelValues<Value: Sendable>: Sendable {
    private let values = Mutex<[ObjectIdentifier: Value]>([:])

    /// Stores a value. Call it on the channel's loop.
    /// - Returns: false if the channel has closed, because the value would never be removed.
    func keep(_ value: Value, for channel: any Channel) -> Bool {
        guard channel.isActive else { return false }
        let key = ObjectIdentifier(channel)
        values.withLock { $0[key] = value }
        channel.closeFuture.whenComplete { _ in self.values.withLock { _ = $0.removeValue(forKey: key) } }
        return true
    }

    func take(for channel: any Channel) -> Value? {
        values.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    var count: Int { values.withLock { $0.count } }
}
