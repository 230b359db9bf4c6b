// SPDX-License-Identifier: Apache-2.0

/// A protocol rule (docs/protocol.md) that a device violates, to show that the simulation detects the violation.
enum Sabotage: String, CaseIterable, Sendable {
    case forgetsPacketsDuringLoads
    case keepsTimeDuringReplays
    case endsOperationsAtOnce
    case renamesRepeatedChanges
    case ignoresEpoch
    case neverOrdersCreates
}
