// SPDX-License-Identifier: Apache-2.0

import CMalloc
import NIOPosix
import ServiceLifecycle

/// A service that returns free memory to the system.
///
/// glibc keeps free memory between live allocations and returns it only on request. After a burst of thousands of
/// clients, each with a catch-up, that is 20 KB for each idle connection (docs/benchmarks.md).
struct MemoryTrimmer: Service {
    static let period = Duration.seconds(10)
    /// The number of free bytes above which trimming is worth the milliseconds it takes.
    static let threshold = 16 << 20

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.period)
                // Trimming walks the heap under its locks, so it must not block a thread that others wait for.
                _ = try await NIOThreadPool.singleton.runIfActive { Self.trim(above: Self.threshold) }
            }
        }
    }

    /// Returns whole free pages to the system if more than `limit` bytes are free.
    /// - Returns: True if more than `limit` bytes were free.
    @discardableResult
    static func trim(above limit: Int) -> Bool {
        let info = mallinfo2()
        guard info.fordblks > limit else { return false }
        _ = malloc_trim(0)
        return true
    }
}
