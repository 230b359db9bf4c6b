// SPDX-License-Identifier: Apache-2.0

/// Something of a machine that tests can break, where the machine and the user let them.
package enum Facility: String, CaseIterable, Sendable {
    /// A host of its own for each process, and a ``VirtualNetwork`` between them.
    case network
    /// A ``MovableClock`` for each process, and for PostgreSQL.
    case clocks
    /// A ``SmallDisk`` for PostgreSQL.
    case smallDisk

    /// Why it cannot be had here; nil if it can.
    package var obstacle: String? {
        switch self {
        case .network: VirtualNetwork.obstacle
        case .clocks: MovableClock.obstacle
        case .smallDisk: SmallDisk.obstacle
        }
    }

    /// Those that can be had here.
    package static let available = Set(allCases.filter { $0.obstacle == nil })
}
