// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Whether things work, as the event loop last saw it; read from anywhere.
final class AvailabilityFlag: Sendable {
    private let flag = Atomic(false)

    var isAvailable: Bool { flag.load(ordering: .relaxed) }

    func set(_ value: Bool) { flag.store(value, ordering: .relaxed) }
}
