// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import TestCluster
import Testing

extension EndToEnd {
    /// The example program in README.
    @Suite("the example Hello")
    struct HelloTests {
        private struct NewApp: Decodable {
            let app: String
        }

        @Test("two instances say hello to each other", .timeLimit(.minutes(3)))
        func hello() async throws {
            let cluster = try await Cluster.shared()
            let program = try StrataProgram("hello")
            let created = try await program.run([
                "app", "create", "--name", "Hello", "--database", cluster.databaseURL, "--json",
            ])
            let app = try JSONDecoder().decode(NewApp.self, from: Data(created.output.utf8)).app
            let tools = URL(filePath: try Executables.find("strata")).deletingLastPathComponent()
                .path(percentEncoded: false)
            let environment = ["PATH": "\(tools):/usr/bin:/bin", "STRATA_HOME": program.directory + "/home"]
            let hello = try Executables.find("HelloExample")
            let (alice, bob) = (try PseudoTerminal(), try PseudoTerminal())
            let first = try await alice.start(
                hello, [app, "alice", "bob", cluster.urls[0]], environment: environment, directory: program.directory)
            let second = try await bob.start(
                hello, [app, "bob", "alice", cluster.urls[1]], environment: environment, directory: program.directory)
            for terminal in [alice, bob] {
                try await terminal.shows("alice: Hello from alice!")
                try await terminal.shows("bob: Hello from bob!")
            }
            for process in [first, second] { process.signal(SIGKILL) }
        }
    }
}
