// SPDX-License-Identifier: Apache-2.0

import KitClient
import TestTiers
import Testing

/// Tests StrataKit's promises under faults of apps, system, networks, clocks, disks and stores.
///
/// `STRATA_KIT_FAULT_SEED` repeats a run, as far as a run is reproducible. `STRATA_KIT_FAULT_MINUTES` continues with
/// random faults for this time. `STRATA_KIT_FAULT_ONLY` selects the faults whose description contains its text.
/// `STRATA_FAULT_TABLE` writes the table to `docs/faults.md`.
@Suite("StrataKit under faults", .serialized, .long)
struct KitFaultTests {
    private static let run = KitFaultRun(.strataKit)

    @Test(
        "each accepted change arrives once or is reported as failed, and every store equals a fresh load",
        arguments: KitFaultRun.chosen())
    func one(_ fault: KitFault) async throws { try await Self.run.one(fault) }

    @Test("several random concurrent faults keep the promises of StrataKit")
    func several() async throws {
        for fault in KitFault.allCases {
            if let obstacle = fault.obstacle { print("not tried, since it \(obstacle): \(fault.testDescription)") }
        }
        try await Self.run.several()
    }
}
