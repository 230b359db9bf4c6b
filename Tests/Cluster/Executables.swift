// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers

/// The programs under test, from the directory named by `STRATA_TEST_EXECUTABLES`, or from that of this test.
package enum Executables {
    /// Returns the path of a program.
    /// - Parameter name: The program, such as `gateway` or `strata`. A build without products names it `Gateway`.
    package static func find(_ name: String) throws -> String {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        let given = ProcessInfo.processInfo.environment["STRATA_TEST_EXECUTABLES"]
        let directories = given.map { [$0] } ?? [(own as NSString).deletingLastPathComponent, buildDirectory]
        let candidates = directories.flatMap { directory in
            [name, name.prefix(1).uppercased() + name.dropFirst()].map { "\(directory)/\($0)" }
        }
        guard let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw MissingExecutable(name: name, candidates: candidates)
        }
        return found
    }

    /// The directory of a plain `swift build`, for tests that run elsewhere.
    private static var buildDirectory: String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent()
        return root.appending(path: ".build/debug").path(percentEncoded: false)
    }
}

package struct MissingExecutable: Error, CustomStringConvertible {
    package let name: String
    package let candidates: [String]

    package var description: String { "\(name) is at none of: \(candidates.joined(separator: ", "))" }
}
