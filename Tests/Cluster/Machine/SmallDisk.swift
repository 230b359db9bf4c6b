// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import TestSupport

/// An in-memory file system that can be filled to the last byte. It requires root and ends with this process.
package final class SmallDisk: Sendable {
    /// The mount point.
    package let path: String
    private var ballast: String { path + "/ballast" }

    private init(path: String) { self.path = path }

    /// The reason why this machine or user cannot mount a disk; nil if they can.
    package static let obstacle: String? = {
        guard geteuid() == 0 else { return "needs root" }
        for program in ["mount", "umount", "tail"] where (try? Programs.find(program)) == nil {
            return "needs the program \(program)"
        }
        return nil
    }()

    package static func mount(megabytes: Int) async throws -> SmallDisk {
        let disk = SmallDisk(path: try TestDirectory.make("disk"))
        let exit = try await ChildProcess.run(
            Launch(
                try Programs.find("mount"),
                arguments: ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=755", "tmpfs", disk.path],
                output: .capture(limit: 4096)))
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "mount: \(exit.output)") }
        // This helper unmounts the disk when this process has ended for any reason.
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

    /// Fills the disk completely.
    package func fill() throws {
        let file = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw LocalServerError(.unusableDirectory, "\(ballast): \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        _ = lseek(file, 0, SEEK_END)
        // Write smaller and smaller pieces until nothing fits.
        var piece = zeros.count
        while piece > 0 {
            let written = write(file, zeros, piece)
            if written <= 0 { piece /= 4 }
        }
    }

    /// Frees the space that ``fill()`` used.
    package func free() { unlink(ballast) }
}
