// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Glibc
import LocalServers
import NetKit
import RPC

/// The examination of this machine: everything that `strata dev` needs.
struct Doctor: Sendable {
    let home: StrataHome
    let settings: DevSettings
    let binaries: ServiceBinaries

    /// Performs all checks, in the order in which they are shown.
    func examine() async -> [DoctorCheck] {
        let postgres = ServerCheck(subject: "PostgreSQL", products: [.postgres], package: "postgresql")
        let redis = ServerCheck(subject: "Redis", products: [.redis, .valkey], package: "redis-server")
        var checks = [
            await postgres.examine { try Programs.findPostgres("postgres") },
            await program(
                "psql", find: { try Programs.findPostgres("psql") }, atLeast: 15, package: "postgresql-client"),
            await redis.examine { try Programs.findRedis("redis-server") },
            await program("setpriv", find: { try Programs.find("setpriv") }, atLeast: 2, package: "util-linux"),
            services, user, openFiles, homeDirectory, disk,
        ]
        let running = HomeLock.isHeld(home) ? try? RunningState.read(home.state) : nil
        if let running {
            checks.append(
                .fine("system", finding: "runs in \(home.path) (process \(running.pid)), \(running.publicURL)"))
            for process in running.processes { checks.append(await health(process)) }
        } else {
            checks.append(.notice("system", finding: "does not run in \(home.path)", remedy: "\(OwnCommand.name) dev"))
            checks += [
                port(settings.httpPort, subject: "HTTP port", flag: "--http-port"),
                port(settings.httpsPort, subject: "HTTPS port", flag: "--https-port"),
            ]
            checks += settings.consolePort.map { [consolePort($0)] } ?? []
        }
        return checks + [certificate].compactMap { $0 }
    }

    private func program(
        _ subject: String, find: () throws -> String, atLeast minimum: Int, package: String
    ) async -> DoctorCheck {
        switch await InstalledProgram.find(find) {
        case .failure(let fault): fault.check(subject, package: package)
        case .success(let found) where found.version.major < minimum: found.isTooOld(subject, minimum: minimum)
        case .success(let found): .fine(subject, finding: "\(found.version.text), \(found.path)")
        }
    }

    private var services: DoctorCheck {
        let missing = binaries.missing(of: settings.kinds).map(\.rawValue)
        guard missing.isEmpty else {
            return .bad(
                "services", finding: "not in \(binaries.directory): \(missing.joined(separator: ", "))",
                remedy: "swift build")
        }
        return .fine("services", finding: "all in \(binaries.directory)")
    }

    private var user: DoctorCheck {
        guard SystemUser.isRoot else { return .fine("user", finding: "not root; PostgreSQL runs as you") }
        guard let other = SystemUser.forPostgres else {
            return .bad(
                "user", finding: "root, and PostgreSQL needs a user postgres or nobody",
                remedy: "useradd --system postgres")
        }
        return .fine("user", finding: "root; PostgreSQL runs as \(other.name)")
    }

    private var openFiles: DoctorCheck {
        let limit = OpenFileLimit.current?.hard ?? 1024
        guard limit < 8192 else {
            return .fine("open files", finding: limit > 1 << 40 ? "unlimited" : "up to \(limit)")
        }
        return .notice(
            "open files", finding: "at most \(limit), which bounds the number of connections",
            remedy: "ulimit -Hn 65536")
    }

    private var homeDirectory: DoctorCheck {
        var path = home.path
        while !FileManager.default.fileExists(atPath: path), path != "/" {
            path = (path as NSString).deletingLastPathComponent
        }
        guard access(path, W_OK | X_OK) == 0 else {
            return .bad(
                "home", finding: "\(path) cannot be written", remedy: "Set STRATA_HOME to a directory of your own.")
        }
        return .fine("home", finding: home.path + (path == home.path ? "" : " (will be made)"))
    }

    private var disk: DoctorCheck {
        var path = home.path
        while !FileManager.default.fileExists(atPath: path), path != "/" {
            path = (path as NSString).deletingLastPathComponent
        }
        var info = statvfs()
        guard statvfs(path, &info) == 0 else {
            return .notice("disk", finding: "the free space of \(path) is not known")
        }
        let megabytes = UInt64(info.f_bavail) * UInt64(info.f_frsize) / 1_048_576
        guard megabytes >= 512 else {
            return .bad(
                "disk", finding: "\(megabytes) MB free at \(path)",
                remedy: "PostgreSQL needs about 500 MB at first.")
        }
        return .fine("disk", finding: megabytes >= 10_240 ? "\(megabytes / 1024) GB free" : "\(megabytes) MB free")
    }

    private func port(_ number: Int, subject: String, flag: String) -> DoctorCheck {
        guard !LoopbackPort.isFree(number, host: settings.host) else {
            return .fine(subject, finding: "\(number) is free")
        }
        let who = PortOwner.listening(on: number).map { " by \($0)" } ?? ""
        return .bad(
            subject, finding: "\(number) is in use\(who)",
            remedy: "Stop that, or start with \(flag) and another number.")
    }

    /// A taken port of the console is no fault, because `strata dev` chooses another one.
    private func consolePort(_ number: Int) -> DoctorCheck {
        guard !LoopbackPort.isFree(number, host: settings.host) else {
            return .fine("console port", finding: "\(number) is free")
        }
        let who = PortOwner.listening(on: number).map { " by \($0)" } ?? ""
        return .notice("console port", finding: "\(number) is in use\(who); the console takes the next free one")
    }

    private func health(_ process: RunningState.Process) async -> DoctorCheck {
        let restarts = process.restarts == 0 ? "" : ", started again \(process.restarts)×"
        guard let adminPort = process.adminPort else {
            guard !InstalledProgram.isReplaced(process: process.pid) else {
                return .notice(
                    process.name, finding: "process \(process.pid) runs a program that has been upgraded since",
                    remedy: "Stop strata dev and start it again.")
            }
            return .fine(process.name, finding: "process \(process.pid)\(restarts)")
        }
        guard await ReadyProbe(adminPort: adminPort).isReady() else {
            return .bad(
                process.name, finding: "process \(process.pid) is not ready\(restarts)",
                remedy: "See \(process.log ?? home.logs).")
        }
        return .fine(process.name, finding: "ready, process \(process.pid)\(restarts)")
    }

    private var certificate: DoctorCheck? {
        guard let end = TLSCertificate.expiry(ofCertificateAt: home.tls + "/certificate.pem") else { return nil }
        let days = Int(end.timeIntervalSinceNow / 86_400)
        return days > 30
            ? .fine("certificate", finding: "valid for \(days) more days")
            : .notice("certificate", finding: "expires in \(days) days", remedy: "The next start creates a new one.")
    }
}

struct DoctorCheck: Codable, Equatable, Sendable {
    enum Verdict: String, Codable, Sendable {
        case fine
        /// The subject works, but the operator should know the finding.
        case notice
        /// Something will not work.
        case bad
    }

    /// The thing that was examined, such as `PostgreSQL`.
    let subject: String
    let verdict: Verdict
    let finding: String
    /// The action or command that fixes the problem, if there is one.
    let remedy: String?

    static func fine(_ subject: String, finding: String) -> DoctorCheck {
        DoctorCheck(subject: subject, verdict: .fine, finding: finding, remedy: nil)
    }

    static func notice(_ subject: String, finding: String, remedy: String? = nil) -> DoctorCheck {
        DoctorCheck(subject: subject, verdict: .notice, finding: finding, remedy: remedy)
    }

    static func bad(_ subject: String, finding: String, remedy: String) -> DoctorCheck {
        DoctorCheck(subject: subject, verdict: .bad, finding: finding, remedy: remedy)
    }

    /// The printed form: a line for the finding, and one for the remedy.
    var text: String {
        let mark =
            switch verdict {
            case .fine: "✓"
            case .notice: "!"
            case .bad: "✗"
            }
        let name = subject.padding(to: 14)
        return "  \(mark) \(name) \(finding)"
            + (remedy.map { "\n" + String(repeating: " ", count: 19) + "→ \($0)" } ?? "")
    }
}

extension String {
    /// Returns the text with spaces appended up to a width.
    func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Reports what is missing on this machine, and how to install it.",
        discussion: "Ends with status 69 if something will not work.")

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let settings = try DevSettings(flags: DevSettings.Flags(), environment: environment)
        let doctor = Doctor(home: StrataHome(environment: environment), settings: settings, binaries: ServiceBinaries())
        let checks = await doctor.examine()
        if json {
            try Console.standard.say(json: checks)
        } else {
            for check in checks { Console.standard.say(check.text) }
        }
        let bad = checks.filter { $0.verdict == .bad }
        guard bad.isEmpty else {
            throw CommandFailure(
                .unavailable,
                """
                \(bad.count == 1 ? "One thing is" : "\(bad.count) things are") missing: \
                \(bad.map(\.subject).joined(separator: ", ")).
                """
            )
        }
    }
}
