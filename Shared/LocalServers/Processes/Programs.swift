// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A search for the programs that Strata runs.
public enum Programs {
    /// The directories that are searched after `PATH`, because the `PATH` of a minimal environment may lack them.
    private static let usual = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]

    /// Returns the absolute path of a program in `PATH` or a usual directory.
    /// - Parameter path: The directories to search first, in the format of `PATH`, which is the default.
    /// - Throws: ``LocalServerError`` `missingProgram`, which names the Debian package if it is known.
    public static func find(_ name: String, path: String? = nil) throws -> String {
        let directories =
            (path ?? ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init) + usual
        if let found = directories.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile(atPath:))
        {
            return found
        }
        throw missing(name)
    }

    /// Returns the absolute path of a PostgreSQL program.
    ///
    /// The directory of the `postgres` in `PATH` is used if it contains the other programs too. Otherwise the newest
    /// version under `/usr/lib/postgresql` is used, where Debian keeps the server's programs outside of `PATH`.
    public static func findPostgres(_ name: String) throws -> String {
        let server = try? find("postgres")
        // `PATH` may contain a link or a wrapper for a single program.
        let inPath = server.map {
            URL(fileURLWithPath: $0).resolvingSymlinksInPath().deletingLastPathComponent().path(percentEncoded: false)
        }
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let newestFirst = versions.compactMap { Int($0) }.sorted(by: >).map { "\(root)/\($0)/bin" }
        let complete = ([inPath].compactMap { $0 } + newestFirst)
            .first { directory in
                Set(["postgres", "initdb", "psql", name])
                    .allSatisfy { FileManager.default.isExecutableFile(atPath: "\(directory)/\($0)") }
            }
        guard let complete else { throw missing(name) }
        return complete.hasSuffix("/") ? complete + name : "\(complete)/\(name)"
    }

    /// Returns the absolute path of a Redis program or of its Valkey counterpart: `redis-server` or `valkey-server`.
    public static func findRedis(_ name: String) throws -> String {
        guard let found = try? find(name) else {
            let counterpart = name.replacing("redis-", with: "valkey-", maxReplacements: 1)
            return try (try? find(counterpart)) ?? find(name)
        }
        return found
    }

    private static func missing(_ name: String) -> LocalServerError {
        let packages = [
            "postgres": "postgresql", "initdb": "postgresql", "psql": "postgresql-client",
            "redis-server": "redis-server",
            "setpriv": "util-linux",
        ]
        let advice = packages[name].map { "; install it with: apt-get install \($0)" } ?? ""
        return LocalServerError(.missingProgram, "The program \(name) was not found\(advice)")
    }
}
