// SPDX-License-Identifier: Apache-2.0

import KitClient
import TestCluster
import TestTiers
import Testing

/// Tests the promises of strata.js under the faults of ``KitFaultTests``, by the same judge. The variables of the
/// environment are the same, too.
@Suite("strata.js under faults", .serialized, .enabled(if: Node.path != nil, "\(Node.comment)"))
struct JavaScriptFaultTests {
    private static let run = KitFaultRun(.strataJS)
    private static let both: [KitLibrary] = [.strataKit, .strataJS]
    private static let faults: Set<KitFault> = TestTier.pick(
        short: [.appsKilled],
        long: [.appsKilled, .gatewayKilled, .networkCut, .networkFlapping, .clockAhead, .diskFull, .filesLimited])

    @Test(
        "beside StrataKit, each accepted change arrives once or is reported as failed, and every store equals a fresh load",
        arguments: KitFaultRun.chosen(faults.contains))
    func oneBesideStrataKit(_ fault: KitFault) async throws { try await Self.run.one(fault, Self.both) }

    @Test(
        "alone, each accepted change arrives once or is reported as failed, and every store equals a fresh load",
        .long, arguments: KitFaultRun.chosen { $0 == .appsKilled || $0 == .filesLimited })
    func oneAlone(_ fault: KitFault) async throws { try await Self.run.one(fault, [.strataJS]) }

    @Test("several random concurrent faults keep the promises of both libraries", .long)
    func several() async throws { try await Self.run.several(Self.both) }
}
