// SPDX-License-Identifier: Apache-2.0

import CMalloc
import NIOPosix
import ServiceLifecycle

/// Gives free memory back to the system.
///
/// After thousands of clients have come at once, each with a catch-up, glibc keeps as much free memory as was ever in use between what is left:
/// 20 KB for each idle connection (docs/benchmarks.md). It gives that back only when asked.
struct MemoryTrimmer: Service {
    /// Between two looks.
    static let period = Duration.seconds(10)
    /// Free bytes from which on it is worth the milliseconds.
    static let worthwhile = 16 << 20

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.period)
                // It walks the heap under its locks: not on a thread others wait for.
                _ = try await NIOThreadPool.singleton.runIfActive { Self.trim(above: Self.worthwhile) }
            }
        }
    }

    /// Gives back whole free pages if there are more than `limit` free bytes.
    /// - Returns: whether there were.
    @discardableResult
    static func trim(above limit: Int) -> Bool {
        let info = mallinfo2()
        guard info.fordblks > limit else { return false }
        _ = malloc_trim(0)
        return true
    }
}
