// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalServers

/// The check of PostgreSQL or Redis: the version, the versions that are tested, and the newer version that apt knows.
struct ServerCheck: Sendable {
    let subject: String
    /// The products that serve as this server. The one whose name is in the output of `--version` applies; the first,
    /// if none is.
    let products: [ServerVersions]
    /// The package to install if there is no server.
    let package: String

    /// Finds the server's program, and judges it.
    func examine(_ find: () throws -> String) async -> DoctorCheck {
        switch await InstalledProgram.find(find) {
        case .failure(let fault): fault.check(subject, package: package)
        case .success(let found): judge(found, update: await .find(for: found.path))
        }
    }

    /// Judges a server by its version and the update of its package.
    func judge(_ found: InstalledProgram, update: PackageUpdate) -> DoctorCheck {
        let product = products.first { found.output.contains($0.product) } ?? products[0]
        let oldest = product.supported.first ?? 0
        guard found.version.major >= oldest else { return found.isTooOld(subject, minimum: oldest) }
        let name = product.product == subject ? "" : product.product + " "
        var finding = "\(name)\(found.version.text), \(found.path); \(product.summary)"
        var remedies: [String] = []
        if !product.tested.contains(found.version.major) {
            if !product.tested.isEmpty { finding += ", not with \(found.version.major)" }
            remedies.append("Use a version that is tested.")
        }
        switch update {
        case .unknown: finding += "; updates: unknown"
        case .none: finding += "; no update known to apt"
        case .available(let package, let version, let isSecurity):
            finding += "; \(isSecurity ? "security update" : "update") known to apt: \(version)"
            remedies.append("apt-get install --only-upgrade \(package)")
        }
        return remedies.isEmpty
            ? .fine(subject, finding: finding)
            : .notice(subject, finding: finding, remedy: remedies.joined(separator: " "))
    }
}

/// The major versions of a server that Strata supports. `scripts/check_version.py` compares them with the documents.
struct ServerVersions: Equatable, Sendable {
    /// The product's name in the output of `--version`.
    let product: String
    let supported: [Int]
    /// The major versions on which `scripts/test-versions.sh` has passed.
    let tested: [Int]

    static let postgres = ServerVersions(product: "PostgreSQL", supported: [15, 16, 17, 18], tested: [15, 17])
    static let redis = ServerVersions(product: "Redis", supported: [7, 8], tested: [7, 8])
    static let valkey = ServerVersions(product: "Valkey", supported: [8, 9], tested: [])

    /// `tested with 15, 17`, or `not tested`.
    var summary: String {
        tested.isEmpty ? "not tested" : "tested with " + tested.map(String.init).joined(separator: ", ")
    }
}

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
