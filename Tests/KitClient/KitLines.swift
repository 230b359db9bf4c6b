// SPDX-License-Identifier: Apache-2.0

package import Foundation
import Glibc
import Synchronization

/// The lines between a client and the one who drives it.
package enum KitLines {
    private static let output = Mutex(())

    /// Writes a line to standard output, with as few calls as the system lets it: a process that is killed has said all that it said before.
    static func write(_ report: KitReport) {
        guard var line = try? JSONEncoder().encode(report) else { return }
        line.append(UInt8(ascii: "\n"))
        output.withLock { _ in write(line, to: STDOUT_FILENO) }
    }

    /// Writes all of it, if the other end is there.
    package static func write(_ bytes: Data, to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// The commands from standard input; it ends when there can be no more.
    static func commands() -> AsyncStream<KitCommand> {
        let (stream, continuation) = AsyncStream.makeStream(of: KitCommand.self)
        // Reading blocks, so it has a thread of its own.
        Thread.detachNewThread {
            while let line = readLine() {
                if let command = try? JSONDecoder().decode(KitCommand.self, from: Data(line.utf8)) { continuation.yield(command) }
            }
            continuation.finish()
        }
        return stream
    }
}
