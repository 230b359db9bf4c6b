// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import TestSupport

/// A file system of its own, in memory, that can be filled to the last byte. Needs root; it goes with this process.
package final class SmallDisk: Sendable {
    /// Where it is mounted.
    package let path: String
    private var ballast: String { path + "/ballast" }

    private init(path: String) { self.path = path }

    /// Whether this machine and user can have one; the reason if not.
    package static let obstacle: String? = {
        guard geteuid() == 0 else { return "needs root" }
        for program in ["mount", "umount", "tail"] where (try? Programs.find(program)) == nil { return "needs the program \(program)" }
        return nil
    }()

    /// - Parameter megabytes: how much it holds.
    package static func mount(megabytes: Int) async throws -> SmallDisk {
        let disk = SmallDisk(path: try TestDirectory.make("disk"))
        let exit = try await ChildProcess.run(
            Launch(
                try Programs.find("mount"), arguments: ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=755", "tmpfs", disk.path],
                output: .capture(limit: 4096)))
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "mount: \(exit.output)") }
        // Unmounts it when this process has gone, however it went.
        _ = try await ChildProcess.start(
            Launch(
                try Programs.find("sh"),
                arguments: ["-c", "tail --pid=\(getpid()) -f /dev/null; umount -l \"$1\"", "sh", disk.path]))
        return disk
    }

    package func unmount() async {
        guard let program = try? Programs.find("umount") else { return }
        _ = try? await ChildProcess.run(Launch(program, arguments: ["-l", path], output: .discard))
    }

    /// Leaves no byte free.
    package func fill() throws {
        let file = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw LocalServerError(.unusableDirectory, "\(ballast): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        _ = lseek(file, 0, SEEK_END)
        // The last pieces become smaller until nothing fits.
        var piece = zeros.count
        while piece > 0 {
            let written = write(file, zeros, piece)
            if written <= 0 { piece /= 4 }
        }
    }

    /// Ends what ``fill()`` began.
    package func free() { unlink(ballast) }
}
