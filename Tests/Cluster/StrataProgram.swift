// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestSupport

/// The real `strata` program, called with arguments as in a shell.
package struct StrataProgram: Sendable {
    package struct Exit: Sendable {
        package let status: Int32
        /// The text on standard output.
        package let output: String
        /// The text on standard error.
        package let errorOutput: String
    }

    /// The working directory of calls. It contains no home until a call creates one.
    package let directory: String

    package init(_ name: String = "command") throws { directory = try TestDirectory.make(name) }

    /// Runs the program to its end.
    /// - Parameter environment: Variables in addition to `PATH` and `STRATA_HOME`.
    package func run(
        _ words: [String], environment: [String: String] = [:], timeout: Duration = .seconds(120)
    ) async throws -> Exit {
        let errorFile = "\(directory)/complaints-\(UUID().uuidString)"
        let all = ["PATH": "/usr/bin:/bin", "STRATA_HOME": directory + "/home"].merging(environment) { $1 }
        // The arguments are parameters of the shell, which does not interpret them.
        let shell = ["-c", "exec \"$@\" 2>\(errorFile)", "sh", try Executables.find("strata")]
        let launch = Launch(
            "/bin/sh", arguments: shell + words, environment: all, directory: directory,
            output: .capture(limit: 1 << 20))
        let exit = try await ChildProcess.run(launch, timeout: timeout)
        let text = try String(contentsOfFile: errorFile, encoding: .utf8)
        try FileManager.default.removeItem(atPath: errorFile)
        return Exit(status: exit.status, output: exit.output, errorOutput: text)
    }
}
