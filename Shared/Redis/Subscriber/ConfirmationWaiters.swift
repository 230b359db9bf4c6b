// SPDX-License-Identifier: Apache-2.0

/// Which waits are for which channels. A wait is over when all of its channels are confirmed at the same moment.
///
/// Kept apart from the channels, so that a channel without a wait pays nothing for it.
struct ConfirmationWaiters {
    typealias ID = UInt64

    private struct Waiter {
        let channels: [String]
        var missing: Int
    }

    private var waiters: [ID: Waiter] = [:]
    private var byChannel: [String: [ID]] = [:]

    /// `missing` of the channels, which must be distinct, are not confirmed now; at least one.
    mutating func add(_ id: ID, channels: [String], missing: Int) {
        waiters[id] = Waiter(channels: channels, missing: missing)
        for channel in channels { byChannel[channel, default: []].append(id) }
    }

    /// Returns those whose wait is over.
    mutating func confirmed(_ channel: String) -> [ID] {
        guard let ids = byChannel[channel] else { return [] }
        var satisfied: [ID] = []
        for id in ids {
            waiters[id]?.missing -= 1
            if waiters[id]?.missing == 0 { satisfied.append(id) }
        }
        for id in satisfied { remove(id) }
        return satisfied
    }

    /// A confirmed channel is confirmed no longer.
    mutating func lost(_ channel: String) {
        for id in byChannel[channel] ?? [] { waiters[id]?.missing += 1 }
    }

    /// The channel is not wanted any more; returns the waits for it, which were in vain.
    mutating func abandoned(_ channel: String) -> [ID] {
        guard let ids = byChannel[channel] else { return [] }
        for id in ids { remove(id) }
        return ids
    }

    mutating func remove(_ id: ID) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        for channel in waiter.channels {
            byChannel[channel]?.removeAll { $0 == id }
            if byChannel[channel]?.isEmpty == true { byChannel[channel] = nil }
        }
    }
}
