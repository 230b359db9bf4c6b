// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import Synchronization

/// The directories of this test process. They are removed at its exit. Those of killed test processes are removed by
/// the next one.
public enum TestDirectory {
    private struct State {
        var root: String?
        var made = 0
        var servers: [Int32] = []
    }

    private static let state = Mutex(State())
    private static let prefix = "strata-test-"

    /// Creates an empty directory that servers running as another user can reach.
    /// - Parameter name: The purpose; a number is appended.
    public static func make(_ name: String) throws -> String {
        let path = try state.withLock { state in
            let root = try state.root ?? makeRoot()
            state.root = root
            state.made += 1
            return "\(root)/\(name)-\(state.made)"
        }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }

    /// Registers a server that must end before the directories are removed.
    static func endAtExit(_ pid: Int32) {
        state.withLock { $0.servers.append(pid) }
    }

    private static func makeRoot() throws -> String {
        let base = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        removeStale(in: base)
        let path = "\(base)/\(prefix)\(getpid())"
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
        atexit { TestDirectory.removeAtExit() }
        return path
    }

    private static func removeStale(in base: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
        for name in names where name.hasPrefix(prefix) {
            guard let pid = Int32(name.dropFirst(prefix.count)), Glibc.kill(pid, 0) != 0, errno == ESRCH else {
                continue
            }
            try? FileManager.default.removeItem(atPath: "\(base)/\(name)")
        }
    }

    /// Ends the servers and removes the directories.
    ///
    /// The servers' data is not kept, so they quit without writing it. The system may have reused the process id of a
    /// stopped server, so only children of this process receive the signal.
    private static func removeAtExit() {
        let (root, servers) = state.withLock { ($0.root, $0.servers) }
        for pid in servers where isChild(pid) { _ = Glibc.kill(pid, SIGQUIT) }
        for _ in 0..<100 where servers.contains(where: isChild) { usleep(20_000) }
        if let root { try? FileManager.default.removeItem(atPath: root) }
    }

    private static func isChild(_ pid: Int32) -> Bool {
        var info = siginfo_t()
        return waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0
    }
}
