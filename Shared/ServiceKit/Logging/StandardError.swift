// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The process's standard error, for whole lines.
public enum StandardError {
    /// The lock that keeps concurrent lines apart. A pipe writes only short lines atomically.
    private static let lock = Mutex(())

    /// Writes a whole line. A line that cannot be written is lost, because logging must not stop a service.
    @Sendable
    public static func write(_ line: [UInt8]) {
        lock.withLock { _ in
            var start = 0
            while start < line.count {
                let count = line.withUnsafeBytes { systemWrite($0[start...]) }
                if count > 0 {
                    start += count
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    private static func systemWrite(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes)
        #if canImport(Glibc)
        return Glibc.write(STDERR_FILENO, rest.baseAddress, rest.count)
        #elseif canImport(Musl)
        return Musl.write(STDERR_FILENO, rest.baseAddress, rest.count)
        #else
        return Darwin.write(STDERR_FILENO, rest.baseAddress, rest.count)
        #endif
    }
}
