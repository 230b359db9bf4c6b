// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import TestTiers
import Testing

@testable import StrataKit

/// `STRATA_HOSTILE_SEED` runs a single seed, in this process.
@Suite("a server that violates the protocol")
struct HostileServerTests {
    private static let inputs = 2_500
    private static let onlySeed = ProcessInfo.processInfo.environment["STRATA_HOSTILE_SEED"].flatMap { UInt64($0) }
    /// The long tier has 40 seeds with 100,000 inputs in total.
    private static let seeds = onlySeed.map { [$0] } ?? Array(1...TestTier.pick(short: 1, long: 40))

    /// Each seed runs in its own process. If the process ends prematurely, its store is opened here, as at the next
    /// start of an app.
    @Test("no server input ends the process or damages the store", .proves("SYNC-74"), arguments: seeds)
    func survives(_ seed: UInt64) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().lowercaseText)")
        defer { try? FileManager.default.removeItem(at: folder) }
        if Self.onlySeed != nil { return try await Self.feed(seed, folder.path) }
        let path = folder.path
        let result = await #expect(processExitsWith: .success, "STRATA_HOSTILE_SEED=\(seed) shows the error") {
            [seed, path = path as String] in
            try await Self.feed(seed, path)
        }
        guard result == nil else { return }
        let pool = try StoreFile.open(folder.appending(path: "store.sqlite"))
        #expect(try await pool.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "store.sqlite.damaged").path))
        try pool.close()
    }

    private static func feed(_ seed: UInt64, _ path: String) async throws {
        let server = try await HostileServer(seed: seed, folder: URL(filePath: path))
        try await server.feed(inputs)
        try await server.close()
        #expect(server.defects == [])
        #expect(server.fed == inputs)
    }
}
