// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The period in which this gateway renews a presence lease. The presence service names it in its answers, because it
/// determines how long a lease lasts.
final class RenewalPeriod: Sendable {
    /// The default until the presence service names its lease: 20 s, for 60 s leases.
    private let current = Atomic(20)

    /// The period in whole seconds, at least one, because sockets are checked once a second.
    var seconds: Int { current.load(ordering: .relaxed) }

    /// Updates the period.
    /// - Parameter milliseconds: 0 if the service does not name it.
    func updated(milliseconds: UInt32) {
        guard milliseconds > 0 else { return }
        current.store(max(1, Int(milliseconds / 1000)), ordering: .relaxed)
    }
}
