// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers

/// A newer version of a program's package, as far as the package lists of this machine know. Nothing here uses the
/// network.
enum PackageUpdate: Equatable, Sendable {
    /// There is no apt, or the program is not from one of its packages.
    case unknown
    /// The installed version is the newest one.
    case none(package: String)
    /// apt offers another version.
    case available(package: String, version: String, isSecurity: Bool)

    /// A function that runs a program of `PATH` and returns its output, or nil if it cannot be run or fails.
    typealias Ask = @Sendable (_ program: String, _ arguments: [String]) async -> String?

    /// Looks up the update for a program.
    /// - Parameters:
    ///   - path: the program's absolute path.
    ///   - ask: runs `dpkg-query` and `apt-cache`.
    static func find(for path: String, ask: Ask = run) async -> PackageUpdate {
        // dpkg records directories without links: `/usr/bin`, if `/bin` is a link to it.
        let file = URL(filePath: path)
        let directory = file.deletingLastPathComponent().resolvingSymlinksInPath()
        let path = directory.appending(path: file.lastPathComponent).path(percentEncoded: false)
        guard let owner = await ask("dpkg-query", ["--search", path]), let package = package(owning: path, in: owner),
            let policy = await ask("apt-cache", ["policy", package])
        else { return .unknown }
        return PackageUpdate(package: package, policy: policy)
    }

    /// Reads the output of `apt-cache policy`.
    init(package: String, policy: String) {
        let lines = policy.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        func value(_ name: String) -> String? { lines.first { $0.count == 2 && $0[0] == name }?[1] }
        guard let installed = value("Installed:"), let candidate = value("Candidate:"), installed != "(none)",
            candidate != "(none)"
        else {
            self = .unknown
            return
        }
        guard installed != candidate else {
            self = .none(package: package)
            return
        }
        // The sources of a version follow it, each with its priority: `500 http://… bookworm-security/main amd64
        // Packages`.
        let sources = lines.drop { $0.first != candidate }.dropFirst().prefix { $0.count > 2 && $0[0] != "***" }
        let isSecurity = sources.contains { source in source.contains { $0.contains("-security/") } }
        self = .available(
            package: package, version: candidate.split(separator: ":").last.map(String.init) ?? candidate,
            isSecurity: isSecurity)
    }

    /// Returns the package in a line such as `postgresql-15: /usr/lib/postgresql/15/bin/postgres`. The architecture in
    /// a library's line is removed.
    private static func package(owning path: String, in output: String) -> String? {
        output.split(separator: "\n").first { $0.hasSuffix(": \(path)") && !$0.hasPrefix("diversion ") }
            .flatMap { $0.split(whereSeparator: { ":,".contains($0) }).first.map(String.init) }
    }

    private static let run: Ask = { program, arguments in
        guard let path = try? Programs.find(program) else { return nil }
        let launch = Launch(
            path, arguments: arguments, environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"], directory: "/",
            output: .capture(limit: 65_536))
        guard let exit = try? await ChildProcess.run(launch, timeout: .seconds(20)), exit.isSuccess else { return nil }
        return exit.output
    }
}
