// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestTiers
import Testing

@testable import StrataCommand

@Suite("the doctor")
struct DoctorTests {
    @Test(
        "the doctor extracts a version from a program's output",
        arguments: [
            ("postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)", "15.13", 15),
            ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64", "7.0.15", 7),
            ("setpriv from util-linux 2.38.1", "2.38.1", 2),
            ("psql (PostgreSQL) 16beta1", "16", 16),
        ])
    func versions(output: String, text: String, major: Int) {
        let version = ProgramVersion(in: output)
        #expect(version?.text == text)
        #expect(version?.major == major)
    }

    @Test("the doctor finds no version in other output")
    func noVersion() {
        #expect(ProgramVersion(in: "command not found") == nil)
        #expect(ProgramVersion(in: "") == nil)
    }

    @Test("the doctor names missing programs and how to install them")
    func missing() async throws {
        try await withTemporaryDirectory { directory in
            let home = StrataHome(environment: ["STRATA_HOME": directory + "/home"])
            let settings = try DevSettings(flags: .init(), environment: [:])
            let checks = await Doctor(home: home, settings: settings, binaries: ServiceBinaries(directory: directory))
                .examine()
            let services = try #require(checks.first { $0.subject == "services" })
            #expect(services.verdict == .bad)
            #expect(services.finding.contains("conversations, metadata, presence, webhooks, gateway, console"))
            #expect(services.remedy == "swift build")
            for name in ["psql", "setpriv", "home", "disk"] {
                #expect(checks.first { $0.subject == name }?.verdict == .fine, "\(name)")
            }
            // A newer version that apt offers is only a notice.
            for name in ["PostgreSQL", "Redis"] {
                let check = try #require(checks.first { $0.subject == name })
                #expect(check.verdict != .bad)
                #expect(check.finding.contains("tested"))
            }
            // A taken port of the console is only a notice, because strata dev chooses another one.
            let port = try #require(checks.first { $0.subject == "console port" })
            #expect(port.verdict != .bad && port.finding.hasPrefix("\(DevSettings.defaultConsolePort) is "))
            #expect(checks.first { $0.subject == "system" }?.verdict == .notice)
            #expect(checks.allSatisfy { $0.verdict != .bad || $0.remedy != nil })
        }
    }

    @Test("the doctor detects a process whose program has been replaced")
    func replaced() async throws {
        try await withTemporaryDirectory { directory in
            let program = directory + "/sleep"
            try FileManager.default.copyItem(
                atPath: URL(filePath: try Programs.find("sleep")).resolvingSymlinksInPath().path, toPath: program)
            let child = try await ChildProcess.start(Launch(program, arguments: ["60"]))
            try await eventually {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(child.pid)/exe").hasSuffix("/sleep")
            }
            #expect(!InstalledProgram.isReplaced(process: child.pid))
            try FileManager.default.removeItem(atPath: program)
            #expect(InstalledProgram.isReplaced(process: child.pid))
            await child.stop()
        }
    }
}
