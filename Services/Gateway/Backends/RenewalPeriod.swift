// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The period in which this gateway renews a presence lease. The presence service, which knows how long a lease lasts, names it in its answers.
final class RenewalPeriod: Sendable {
    /// The default until the presence service names its lease: 20 s, for 60 s leases.
    private let current = Atomic(20)

    /// Whole seconds, at least one: sockets are looked at once a second.
    var seconds: Int { current.load(ordering: .relaxed) }

    /// - Parameter milliseconds: 0 from a service that does not say.
    func told(milliseconds: UInt32) {
        guard milliseconds > 0 else { return }
        current.store(max(1, Int(milliseconds / 1000)), ordering: .relaxed)
    }
}
