// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// One value for each of some channels, until it is taken or the channel ends.
final class ChannelValues<Value: Sendable>: Sendable {
    private let values = Mutex<[ObjectIdentifier: Value]>([:])

    /// On the channel's loop.
    /// - Returns: false if the channel has ended, since the value would never be taken then.
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
