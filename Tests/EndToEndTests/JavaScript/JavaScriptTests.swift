// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    /// The tests of the JavaScript client and of the console's modules, run by Node.
    @Suite("the JavaScript client", .enabled(if: Node.path != nil, "\(Node.comment)"))
    struct JavaScriptTests {
        private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        static let tests = root.appending(path: "Clients/JavaScript/test").path(percentEncoded: false)
        private static let console = root.appending(path: "Services/Console/Web.test").path(percentEncoded: false)
        private static let demo = root.appending(path: "Examples/Demo/demo.test.js").path(percentEncoded: false)

        /// Runs test files, one after the other, and reports the end of Node's output if one fails.
        func run(
            _ files: [String], environment: [String: String] = [:], timeout: Duration = .seconds(240)
        ) async throws {
            let launch = Launch(
                try #require(Node.path), arguments: ["--test", "--test-concurrency=1"] + files,
                environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }, directory: Self.tests,
                output: .capture(limit: 1 << 20))
            let exit = try await ChildProcess.run(launch, timeout: timeout)
            #expect(exit.isSuccess, "\(exit.output.suffix(6000))")
        }

        @Test("all tests without a server pass")
        func units() async throws {
            let names = [
                "clients", "guide", "metadata", "overlay", "packets", "queue", "size", "storage", "sync", "typing",
            ]
            try await run(names.map { "\(Self.tests)/\($0).test.js" })
        }

        @Test("all tests of the console's modules pass")
        func consoleModules() async throws {
            try await run(Self.testFiles(in: Self.console))
        }

        /// Returns the paths of the test files in a directory.
        private static func testFiles(in directory: String) throws -> [String] {
            let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            return names.filter { $0.hasSuffix(".test.js") }.map { "\(directory)/\($0)" }
        }

        /// Runs `strata dev`, whose content URLs Node and Chromium can resolve.
        /// - Parameter body: receives the program, the base URL, and the address of the demo page.
        func withSystem(
            hasConsole: Bool = false, _ body: (StrataProgram, String, String) async throws -> Void
        ) async throws {
            let program = try StrataProgram("javascript")
            let ports = try LoopbackPort.free(3)
            let url = "http://localhost:\(ports[0])"
            let log = program.directory + "/dev.log"
            let words = [
                "dev", "--http-port", "\(ports[0])", "--https-port", "\(ports[1])", "--public-url", url,
                "--console-port", "\(ports[2])",
            ]
            let dev = try await ChildProcess.start(
                Launch(
                    try Executables.find("strata"), arguments: words,
                    environment: [
                        "PATH": "/usr/bin:/bin", "STRATA_HOME": program.directory + "/home",
                        "STRATA_CONSOLE": "\(hasConsole)",
                    ],
                    directory: program.directory, deathSignal: .terminate, output: .append(to: log)))
            var address = ""
            try await eventually("the address is printed: \(LogTail.last(20, of: log))") {
                let words = (try? String(contentsOfFile: log, encoding: .utf8))?.split(whereSeparator: \.isWhitespace)
                address = words?.first { $0.contains("/demo/#") }.map(String.init) ?? ""
                return !address.isEmpty || !dev.isRunning
            }
            try await body(program, url, address)
            await dev.stop()
        }

        @Test("all tests pass against real processes", .long, .timeLimit(.minutes(5)))
        func all() async throws {
            try await withSystem { program, url, _ in
                let app = try await Self.makeApp("JavaScript", by: program)
                let files = try Self.testFiles(in: Self.tests)
                try await run(files, environment: ["STRATA_URL": url, "STRATA_APP": app, "HOME": program.directory])
            }
        }

        @Test(
            "two users chat on the demo page, whose address strata dev prints", .long,
            .enabled(if: (try? Programs.find("chromium")) != nil), .timeLimit(.minutes(5)))
        func demoPage() async throws {
            try await withSystem { program, _, address in
                try await run([Self.demo], environment: ["DEMO_URL": address, "HOME": program.directory])
            }
        }

        @Test(
            "operators use every screen of the console in a browser", .long,
            .enabled(if: (try? Programs.find("chromium")) != nil), .timeLimit(.minutes(10)))
        func consoleScreens() async throws {
            try await withSystem(hasConsole: true) { program, url, _ in
                let environment = [
                    "STRATA_URL": url, "STRATA_APP": try await Self.makeApp("Harbour Ferries", by: program),
                    "STRATA_HOME": program.directory + "/home", "STRATA_PROGRAM": try Executables.find("strata"),
                    "PSQL": try Programs.findPostgres("psql"), "HOME": program.directory,
                ]
                try await run(
                    Self.testFiles(in: Self.console + "/browser"), environment: environment, timeout: .seconds(540))
            }
        }

        /// Creates an app and returns the path of the file that describes it.
        private static func makeApp(_ name: String, by program: StrataProgram) async throws -> String {
            let created = try await program.run(["app", "create", "--name", name, "--json"])
            let file = program.directory + "/app.json"
            try created.output.write(toFile: file, atomically: true, encoding: .utf8)
            return file
        }
    }
}
