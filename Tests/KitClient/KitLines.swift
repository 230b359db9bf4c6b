// SPDX-License-Identifier: Apache-2.0

package import Foundation
import Glibc
import Synchronization

/// The pipes between a client process and the process that controls it.
package enum KitLines {
    private static let output = Mutex(())

    /// Writes a report to standard output, with as few system calls as possible, so that a killed process has delivered
    /// all its earlier reports.
    static func write(_ report: KitReport) {
        guard var line = try? JSONEncoder().encode(report) else { return }
        line.append(UInt8(ascii: "\n"))
        output.withLock { _ in write(line, to: STDOUT_FILENO) }
    }

    /// Writes all bytes, unless the other end is closed.
    package static func write(_ bytes: Data, to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the commands from standard input. The stream ends with the input.
    static func commands() -> AsyncStream<KitCommand> {
        let (stream, continuation) = AsyncStream.makeStream(of: KitCommand.self)
        // Reading blocks, so it has its own thread.
        Thread.detachNewThread {
            while let line = readLine() {
                if let command = try? JSONDecoder().decode(KitCommand.self, from: Data(line.utf8)) {
                    continuation.yield(command)
                }
            }
            continuation.finish()
        }
        return stream
    }
}
