// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import Testing

/// Tests of `scripts/chat.sh` with stand-ins for `strata` and the example.
@Suite("scripts/chat.sh")
struct ChatScriptTests {
    private struct Machine {
        let directory: String

        /// Creates the stand-ins, and the description of a running system.
        init(_ directory: String) throws {
            self.directory = directory
            for name in ["bin", "home/keys"] {
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
            }
            try write("ChatExample", "printf '%s\\n' \"$@\"")
            // The pause lets two calls overlap.
            try write(
                "strata",
                """
                echo "$*" >>\(directory)/calls
                sleep 0.3
                echo '{"app":"THIS","name":"Chat"}' >\(directory)/home/keys/this.json
                echo '{"app": "THIS"}'
                """)
            try #"{"httpsURLs": ["https://one", "https://two"], "certificate": "/a b/ca.pem"}"#
                .write(
                    toFile: state, atomically: false, encoding: .utf8)
            try #"{"app":"OTHER","name":"My app"}"#
                .write(
                    toFile: directory + "/home/keys/other.json", atomically: false, encoding: .utf8)
        }

        var state: String { directory + "/home/state.json" }

        /// The calls of `strata`, one a line.
        var calls: String? { try? String(contentsOfFile: directory + "/calls", encoding: .utf8) }

        private func write(_ name: String, _ body: String) throws {
            let path = "\(directory)/bin/\(name)"
            try "#!/bin/bash\n\(body)\n".write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }

        func chat(_ words: String...) async throws -> (status: Int32, output: [String]) {
            let script = URL(filePath: #filePath).appending(path: "../../../../scripts/chat.sh").standardized.path
            let environment = ["PATH": "/usr/bin:/bin", "STRATA_HOME": directory + "/home"]
            let exit = try await ChildProcess.run(
                Launch(
                    try Programs.find("bash"), arguments: [script, directory + "/bin"] + words,
                    environment: environment))
            return (exit.status, exit.output.split(separator: "\n").map(String.init))
        }

        func words(of user: String) -> [String] {
            [
                "--app", "THIS", "--user", user, "--url", "https://one", "--ca", "/a b/ca.pem", "--directory",
                directory + "/home/chat",
            ]
        }
    }

    @Test("two users who start at once share one app, which later calls find")
    func app() async throws {
        try await withTemporaryDirectory { directory in
            let machine = try Machine(directory)
            async let alice = machine.chat("alice")
            async let bob = machine.chat("bob b")
            #expect(try await alice.output == machine.words(of: "alice"))
            #expect(try await bob.output == machine.words(of: "bob b"))
            #expect(
                try await machine.chat("carol", "--display-name", "C").output
                    == machine.words(of: "carol") + ["--display-name", "C"])
            #expect(machine.calls == "app create --name Chat --json\n")
        }
    }

    @Test("without a system or a user the script says what to type, and creates nothing")
    func missing() async throws {
        try await withTemporaryDirectory { directory in
            let machine = try Machine(directory)
            let nobody = try await machine.chat("")
            #expect(nobody.status == 64)
            #expect(nobody.output == ["Say who you are: make chat USER=alice"])
            try FileManager.default.removeItem(atPath: machine.state)
            let alone = try await machine.chat("alice")
            #expect(alone.status == 69)
            #expect(
                alone.output == ["No system runs in \(directory)/home. Start one in another terminal: make run"])
            #expect(machine.calls == nil)
        }
    }
}
