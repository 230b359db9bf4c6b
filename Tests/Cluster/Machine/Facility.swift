// SPDX-License-Identifier: Apache-2.0

/// A facility of the machine that tests can break, if the machine and the user allow it.
package enum Facility: String, CaseIterable, Sendable {
    /// A host for each process, with a ``VirtualNetwork`` between them.
    case network
    /// A ``MovableClock`` for each process and for PostgreSQL.
    case clocks
    /// A ``SmallDisk`` for PostgreSQL.
    case smallDisk

    /// The reason why the facility is not available on this machine; nil if it is.
    package var obstacle: String? {
        switch self {
        case .network: VirtualNetwork.obstacle
        case .clocks: MovableClock.obstacle
        case .smallDisk: SmallDisk.obstacle
        }
    }

    /// The facilities that are available on this machine.
    package static let available = Set(allCases.filter { $0.obstacle == nil })
}
