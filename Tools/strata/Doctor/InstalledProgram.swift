// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalServers

/// A program of this machine, with the version that it prints.
struct InstalledProgram: Sendable {
    /// The reason why a program cannot be used.
    enum Fault: Error, Equatable {
        /// The program is neither in `PATH` nor in a usual directory.
        case missing
        /// `--version` fails, or prints no version.
        case silent(path: String)

        /// Returns the failed check of the program, with the package that contains it.
        func check(_ subject: String, package: String) -> DoctorCheck {
            switch self {
            case .missing: .bad(subject, finding: "not found", remedy: "apt-get install \(package)")
            case .silent(let path):
                .bad(subject, finding: "\(path) does not report its version", remedy: "apt-get install \(package)")
            }
        }
    }

    let path: String
    let version: ProgramVersion
    /// The whole output of `--version`.
    let output: String

    /// Finds a program and runs it with `--version`.
    static func find(_ find: () throws -> String) async -> Result<InstalledProgram, Fault> {
        guard let path = try? find() else { return .failure(.missing) }
        let launch = Launch(path, arguments: ["--version"], directory: "/")
        guard let answer = try? await ChildProcess.run(launch, timeout: .seconds(10)), answer.isSuccess,
            let version = ProgramVersion(in: answer.output)
        else { return .failure(.silent(path: path)) }
        return .success(InstalledProgram(path: path, version: version, output: answer.output))
    }

    /// Returns the check of a program that is older than the oldest supported version.
    func isTooOld(_ subject: String, minimum: Int) -> DoctorCheck {
        .bad(
            subject, finding: "\(version.text) at \(path) is too old; \(minimum) is needed",
            remedy: "Install a newer one, or put it first in PATH.")
    }

    /// True if the file of a running process was replaced or removed, as an upgrade of its package does. False if that
    /// is not visible to this user.
    static func isReplaced(process pid: Int32) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe"))?.hasSuffix(" (deleted)")
            ?? false
    }
}

/// The version number in the output of a program's `--version`.
struct ProgramVersion: Equatable, Sendable {
    /// The version, `15.13` for example.
    let text: String
    /// The major version, 15 for example.
    let major: Int

    /// Finds the first number with digits and dots in a text such as `postgres (PostgreSQL) 15.13 (Debian …)` or `Redis
    /// server v=7.0.15 sha=…`.
    init?(in output: String) {
        var found = ""
        for character in output {
            if character.isASCII, character.isNumber || (character == "." && !found.isEmpty) {
                found.append(character)
            } else if !found.isEmpty {
                break
            }
        }
        while found.hasSuffix(".") { found.removeLast() }
        guard let major = found.split(separator: ".").first.flatMap({ Int($0) }) else { return nil }
        self.text = found
        self.major = major
    }
}
