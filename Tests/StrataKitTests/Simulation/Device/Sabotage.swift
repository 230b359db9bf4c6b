// SPDX-License-Identifier: Apache-2.0

/// A rule of docs/protocol.md that a device breaks, to show that the simulation would see it.
enum Sabotage: String, CaseIterable, Sendable {
    case forgetsPacketsDuringLoads
    case keepsTimeDuringReplays
    case endsOperationsAtOnce
    case renamesRepeatedChanges
    case ignoresEpoch
    case neverOrdersCreates
}
