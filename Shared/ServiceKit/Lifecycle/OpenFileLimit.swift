// SPDX-License-Identifier: Apache-2.0

import Logging

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How many files, sockets among them, this process may have open, and what of that is for its clients.
///
/// A process that has none left cannot even answer who asks how it is. So servers take fewer connections than there are descriptors, and refuse what is
/// more while there are still some for the database, for Redis, for other services and for those who look after it.
public enum OpenFileLimit {
    /// The soft limit, which counts, and the hard one, up to which it may be raised; nil if the system does not tell.
    static var current: (soft: UInt64, hard: UInt64)? {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        return (UInt64(limit.rlim_cur), UInt64(limit.rlim_max))
    }

    /// Raises the soft limit to the hard one, and says what it is. The soft one is 1024 on most systems, for programs that use `select`; ours do not.
    static func raise(_ logger: Logger) {
        guard let (soft, hard) = current else { return }
        var limit = rlimit(rlim_cur: rlim_t(hard), rlim_max: rlim_t(hard))
        if soft < hard, setrlimit(resource, &limit) != 0 {
            logger.warning("the limit of open files cannot be raised", metadata: ["process.max_fds": "\(soft)", "errno": "\(errno)"])
        }
        logger.info("open files are limited", metadata: ["process.max_fds": "\(current?.soft ?? soft)", "connections": "\(connections)"])
    }

    /// Connections that may be open at once; the rest of the descriptors is kept for everything else.
    public static var connections: Int { connections(of: current?.soft ?? 1024) }

    /// - Parameter limit: of open files.
    static func connections(of limit: UInt64) -> Int {
        let limit = Int(min(limit, 1 << 30))
        return max(1, limit - min(max(limit / 8, 64), 1024))
    }

    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}
