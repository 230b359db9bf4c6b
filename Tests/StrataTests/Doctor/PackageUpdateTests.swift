// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import Testing

@testable import StrataCommand

@Suite("the update of a program's package")
struct PackageUpdateTests {
    private static let newer = """
        postgresql-15:
          Installed: 15.18-0+deb12u1
          Candidate: 15.20-0+deb12u1
          Version table:
             15.20-0+deb12u1 500
                500 http://mirror.example/debian-security bookworm-security/main amd64 Packages
         *** 15.18-0+deb12u1 500
                500 http://mirror.example/debian bookworm/main amd64 Packages
                100 /var/lib/dpkg/status
        """

    @Test("an update is a security update if the security archive has the candidate")
    func security() {
        #expect(
            PackageUpdate(package: "postgresql-15", policy: Self.newer)
                == .available(package: "postgresql-15", version: "15.20-0+deb12u1", isSecurity: true))
    }

    @Test("an update is no security update if only an older version comes from the security archive")
    func ordinary() {
        let policy = """
            redis-server:
              Installed: 5:7.0.15-1~deb12u7
              Candidate: 5:7.0.15-1~deb12u10
              Version table:
                 5:7.0.15-1~deb12u10 500 (phased 10%)
                    500 http://mirror.example/debian bookworm/main amd64 Packages
             *** 5:7.0.15-1~deb12u7 500
                    500 http://mirror.example/debian-security bookworm-security/main amd64 Packages
                    100 /var/lib/dpkg/status
            """
        #expect(
            PackageUpdate(package: "redis-server", policy: policy)
                == .available(package: "redis-server", version: "7.0.15-1~deb12u10", isSecurity: false))
    }

    @Test("no update exists if the candidate is installed")
    func current() {
        let policy = Self.newer.replacing("Installed: 15.18", with: "Installed: 15.20")
        #expect(PackageUpdate(package: "postgresql-15", policy: policy) == .none(package: "postgresql-15"))
    }

    @Test(
        "an update is unknown if apt does not know the package",
        arguments: ["", "x:\n  Installed: (none)\n  Candidate: 1.2\n", "x:\n  Installed: 1.2\n"])
    func notInstalled(policy: String) {
        #expect(PackageUpdate(package: "x", policy: policy) == .unknown)
    }

    @Test("an update is looked up by the package that contains the program")
    func lookUp() async throws {
        // Symbolic links to directories are resolved, because dpkg knows only one path.
        try await withTemporaryDirectory { directory in
            let real = URL(filePath: directory).resolvingSymlinksInPath().path(percentEncoded: false) + "/usr"
            try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: real)
            let update = await PackageUpdate.find(for: directory + "/link/postgres") { program, arguments in
                switch (program, arguments) {
                case ("dpkg-query", ["--search", "\(real)/postgres"]):
                    "diversion by a from: /b\npostgresql-15:amd64: \(real)/postgres\n"
                case ("apt-cache", ["policy", "postgresql-15"]): Self.newer
                default: nil
                }
            }
            #expect(update == .available(package: "postgresql-15", version: "15.20-0+deb12u1", isSecurity: true))
        }
    }

    @Test("an update is unknown without apt")
    func withoutAPT() async {
        #expect(await PackageUpdate.find(for: "/usr/bin/redis-server") { _, _ in nil } == .unknown)
        let dpkgOnly = await PackageUpdate.find(for: "/usr/bin/x") { program, _ in
            program == "dpkg-query" ? "x: /usr/bin/x" : nil
        }
        #expect(dpkgOnly == .unknown)
    }

    @Test("the update agrees with this machine's apt", .enabled(if: (try? Programs.find("apt-cache")) != nil))
    func thisMachine() async throws {
        let apt = try Programs.find("apt-cache")
        guard case .available(let package, _, _) = await PackageUpdate.find(for: apt), package == "apt" else {
            #expect(await PackageUpdate.find(for: apt) == .none(package: "apt"))
            return
        }
    }

    @Test("an update is unknown for a program without a package")
    func ownProgram() async {
        #expect(await PackageUpdate.find(for: CommandLine.arguments[0]) == .unknown)
    }
}
