// SPDX-License-Identifier: Apache-2.0
package import ArgumentParser
import Foundation
import Glibc

/// The command that starts the benchmark, a program of its own beside `strata`.
///
/// The benchmark needs packages that the operator's command does without.
package struct BenchmarkCommand: AsyncParsableCommand {
    /// The name and help.
    package static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures a Strata under load.",
        discussion: """
            Starts the program bench of the same directory, which `make bench` and `swift build` make; images do not \
            have it. It measures a system of its own on this machine or, with --url, another one. `strata bench \
            --help` shows its options.
            """)

    /// The name of the benchmark's program if this command starts it.
    package static let fullName = "strata bench"

    @Argument(parsing: .captureForPassthrough, help: "Words for the benchmark.")
    var words: [String] = []

    /// Creates the command.
    package init() {}

    /// Replaces this process with the benchmark.
    /// - Throws: ``CommandFailure`` if the program does not exist.
    package func run() async throws {
        let path = ServiceBinaries().directory + "/bench"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw CommandFailure(.unavailable, "The program \(path) does not exist. Build it with: make bench")
        }
        var arguments = ([Self.fullName] + words).map { strdup($0) }
        arguments.append(nil)
        execv(path, arguments)
        throw CommandFailure(.software, "The program \(path) cannot be started: \(String(cString: strerror(errno)))")
    }
}
