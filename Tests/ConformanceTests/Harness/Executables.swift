// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The programs under test: in the directory that `STRATA_TEST_EXECUTABLES` names, beside this test's own, or where a plain build puts them.
enum Executables {
    static func find(_ name: String) throws -> String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        let given = ProcessInfo.processInfo.environment["STRATA_TEST_EXECUTABLES"]
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let directories = given.map { [$0] } ?? [(own as NSString).deletingLastPathComponent, root.path + "/.build/debug"]
        let candidates = directories.map { "\($0)/\(name)" }
        guard let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw HarnessError("\(name) is at none of: \(candidates.joined(separator: ", "))")
        }
        return found
    }
}
