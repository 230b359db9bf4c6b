// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    /// The tests of the JavaScript client, run by Node.
    @Suite("the JavaScript client", .enabled(if: node != nil, "They need Node 20 or newer."))
    struct JavaScriptTests {
        private static let tests = URL(filePath: #filePath)
            .appending(path: "../../../../Clients/JavaScript/test").standardizedFileURL.path(percentEncoded: false)

        /// Runs test files, and reports the end of Node's output if one fails.
        private func run(_ files: [String], environment: [String: String] = [:]) async throws {
            let launch = Launch(
                try #require(node), arguments: ["--test"] + files.map { "\(Self.tests)/\($0)" },
                environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }, directory: Self.tests,
                output: .capture(limit: 1 << 20))
            let exit = try await ChildProcess.run(launch, timeout: .seconds(240))
            #expect(exit.isSuccess, "\(exit.output.suffix(6000))")
        }

        @Test("all tests without a server pass")
        func units() async throws {
            try await run(["metadata", "packets", "queue", "sync", "typing"].map { "\($0).test.js" })
        }

        @Test("all tests pass against real processes", .long, .timeLimit(.minutes(5)))
        func all() async throws {
            try await Cluster.with(Cluster.Size(gateways: 2, conversations: 2)) { cluster in
                let program = try StrataProgram("javascript")
                let created = try await program.run([
                    "app", "create", "--name", "JavaScript", "--database", cluster.databaseURL, "--json",
                ])
                let app = program.directory + "/app.json"
                try created.output.write(toFile: app, atomically: true, encoding: .utf8)
                let files = try FileManager.default.contentsOfDirectory(atPath: Self.tests)
                    .filter { $0.hasSuffix(".test.js") }
                try await run(files.sorted(), environment: ["STRATA_URL": cluster.urls[0], "STRATA_APP": app])
            }
        }
    }
}

/// The path of Node, if it is new enough for the client's tests.
private let node: String? = {
    guard let path = try? Programs.find("node") else { return nil }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: path)
    process.arguments = ["--version"]
    process.standardOutput = output
    guard (try? process.run()) != nil else { return nil }
    process.waitUntilExit()
    let version = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let major = version.dropFirst().split(separator: ".").first.flatMap { Int($0) } ?? 0
    return major >= 20 ? path : nil
}()
