// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestTiers
import Testing

/// Tests of `scripts/setup.sh` with stand-ins for apt, dpkg, sudo and the servers. Every command that needs root goes
/// through `sudo`, which only records it.
@Suite("scripts/setup.sh")
struct SetupScriptTests {
    private struct Machine {
        let directory: String
        var environment: [String: String] = [:]

        /// Creates the stand-ins.
        /// - Parameters:
        ///   - offered: The version of PostgreSQL that apt offers. 15.18 is installed.
        ///   - hasFreeSudo: True if sudo needs no password.
        init(_ directory: String, offered: String, hasFreeSudo: Bool = true) throws {
            self.directory = directory
            try write("id", "echo 1000")
            try write("swift", "echo Swift version 6.3.1")
            try write("initdb", "exit 1")
            try write("redis-server", "echo Redis server v=7.0.15 sha=0")
            try write("postgres", "[ -e \(directory)/upgraded ] && echo postgres 15.20 || echo postgres 15.18")
            try write(
                "sudo",
                """
                [ "$1" = -n ] && exit \(hasFreeSudo ? 0 : 1)
                echo "$*" >>\(directory)/root
                [ "$1" = tee ] && cat >/dev/null
                [[ "$*" = *only-upgrade* ]] && touch \(directory)/upgraded
                exit 0
                """)
            try write(
                "dpkg-query",
                #"""
                case "$*" in
                "-S "*/postgres) echo "postgresql-15: $2" ;;
                -S*) exit 1 ;;
                *db:Status*) printf '%s\n' "postgresql-15 installed libpq5" "postgresql-15 installed postgresql-15" "postgresql-15 config-files x" ;;
                *) printf postgresql-15 ;;
                esac
                """#)
            try write("apt-cache", "printf 'postgresql-15:\\n  Installed: 15.18-0\\n  Candidate: \(offered)-0\\n'")
            try write("apt-get", "exit 1")
        }

        private func write(_ name: String, _ body: String) throws {
            let path = "\(directory)/bin/\(name)"
            try FileManager.default.createDirectory(atPath: directory + "/bin", withIntermediateDirectories: true)
            try "#!/bin/bash\n\(body)\n".write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }

        func setUp(_ arguments: String...) async throws -> (output: String, root: [String]) {
            let script = URL(filePath: #filePath).appending(path: "../../../../scripts/setup.sh").standardized.path
            var all = [
                "HOME": directory,
                "PATH": "\(directory)/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")",
            ]
            all.merge(environment) { $1 }
            let exit = try await ChildProcess.run(
                Launch(try Programs.find("bash"), arguments: [script] + arguments, environment: all))
            #expect(exit.isSuccess, "\(exit.output)")
            let root = (try? String(contentsOfFile: directory + "/root", encoding: .utf8)) ?? ""
            // The package lists of the machine that runs this test may be a day old.
            return (exit.output, root.split(separator: "\n").map(String.init).filter { !$0.hasSuffix(" -q update") })
        }
    }

    @Test("the script prints the versions, and needs no root if apt offers nothing newer")
    func current() async throws {
        try await withTemporaryDirectory { directory in
            let (output, root) = try await Machine(directory, offered: "15.18").setUp()
            #expect(
                output == "PostgreSQL 15.18, the newest that apt offers; Redis 7.0.15, not from a package of apt.\n")
            #expect(root.isEmpty)
        }
    }

    @Test("the script upgrades every package of PostgreSQL's source while services are held")
    func upgrade() async throws {
        try await withTemporaryDirectory { directory in
            let (output, root) = try await Machine(directory, offered: "15.20").setUp()
            #expect(output.hasPrefix("Upgrading PostgreSQL to 15.20-0\nPostgreSQL 15.20, the newest that apt offers; "))
            let install = try #require(root.firstIndex { $0.hasSuffix(" --only-upgrade libpq5 postgresql-15") })
            let cluster = "/etc/postgresql-common/createcluster.d/strata-setup.conf"
            #expect(try #require(root.firstIndex(of: "tee " + cluster)) < install)
            #expect(try #require(root.firstIndex(of: "rm -f " + cluster)) > install)
            if !FileManager.default.fileExists(atPath: "/usr/sbin/policy-rc.d") {
                #expect(try #require(root.firstIndex(of: "tee /usr/sbin/policy-rc.d")) < install)
                #expect(try #require(root.firstIndex(of: "rm -f /usr/sbin/policy-rc.d")) > install)
            }
        }
    }

    @Test("the script names the command instead of asking for a password")
    func password() async throws {
        try await withTemporaryDirectory { directory in
            let (output, root) = try await Machine(directory, offered: "15.20", hasFreeSudo: false).setUp()
            let command = "apt-get install --only-upgrade libpq5 postgresql-15"
            #expect(output.hasPrefix("PostgreSQL 15.18, but apt offers 15.20-0; as root run: \(command); "))
            #expect(root.isEmpty)
        }
    }

    @Test("the script leaves a running server alone, except in CI")
    func running() async throws {
        try await withTemporaryDirectory { directory in
            var machine = try Machine(directory, offered: "15.20")
            let server = try await ChildProcess.start(
                Launch(
                    try Programs.find("bash"), arguments: ["-c", "exec -a \(directory)/bin/postgres sleep 60"],
                    deathSignal: .kill))
            try await eventually {
                try String(contentsOfFile: "/proc/\(server.pid)/cmdline", encoding: .utf8).hasPrefix(directory)
            }
            let (output, root) = try await machine.setUp()
            #expect(
                output.contains(
                    "; it runs, so stop it first, and as root run: apt-get install --only-upgrade libpq5 postgresql-15; "
                ))
            #expect(root.isEmpty)

            machine.environment["CI"] = "true"
            #expect(try await machine.setUp().output.hasPrefix("Upgrading PostgreSQL to 15.20-0\n"))
            await server.stop()
        }
    }

    @Test("the script changes nothing with --check")
    func check() async throws {
        try await withTemporaryDirectory { directory in
            let (output, root) = try await Machine(directory, offered: "15.20").setUp("--check")
            #expect(output.isEmpty)
            #expect(root.isEmpty)
        }
    }
}
