// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestSupport

/// The operator's command, the real program, called with words as a shell would.
package struct StrataProgram: Sendable {
    /// How a call ended.
    package struct Exit: Sendable {
        package let status: Int32
        /// What it wrote to standard output.
        package let output: String
        /// What it wrote to standard error.
        package let complaints: String
    }

    /// Where it is called, a directory of its own. There is no home in it before a call makes one.
    package let directory: String

    package init(_ name: String = "command") throws { directory = try TestDirectory.make(name) }

    /// Runs it to its end.
    /// - Parameter environment: beside `PATH` and `STRATA_HOME`, which it gets always.
    package func run(_ words: [String], environment: [String: String] = [:], timeout: Duration = .seconds(120)) async throws -> Exit {
        let complaints = "\(directory)/complaints-\(UUID().uuidString)"
        let all = ["PATH": "/usr/bin:/bin", "STRATA_HOME": directory + "/home"].merging(environment) { $1 }
        // The words are parameters of the shell, which reads none of them.
        let shell = ["-c", "exec \"$@\" 2>\(complaints)", "sh", try Executables.find("strata")]
        let launch = Launch("/bin/sh", arguments: shell + words, environment: all, directory: directory, output: .capture(limit: 1 << 20))
        let exit = try await ChildProcess.run(launch, timeout: timeout)
        let text = try String(contentsOfFile: complaints, encoding: .utf8)
        try FileManager.default.removeItem(atPath: complaints)
        return Exit(status: exit.status, output: exit.output, complaints: text)
    }
}
