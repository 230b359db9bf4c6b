// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How many files, sockets among them, this process may have open, and what of that is for its clients.
///
/// A process that has none left cannot even answer a health check, and libdispatch on Linux, which reads `/proc` once a second, ends a process in which it cannot
/// open a file. So servers take fewer connections than there are descriptors, and refuse further ones while some are left for the database, for Redis, for other
/// services and for operators.
public enum OpenFileLimit {
    /// The soft limit, which counts, and the hard one, up to which it may be raised; nil if the system does not tell.
    public static var current: (soft: UInt64, hard: UInt64)? {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        return (UInt64(limit.rlim_cur), UInt64(limit.rlim_max))
    }

    /// Raises the soft limit to the hard one, for this process and the children it makes from now on. The soft one is 1024 on most systems, for programs that use
    /// `select`; ours do not.
    /// - Returns: the error of the system if it cannot be raised.
    @discardableResult
    public static func raise() -> CInt? {
        guard let (soft, hard) = current, soft < hard else { return nil }
        var limit = rlimit(rlim_cur: rlim_t(hard), rlim_max: rlim_t(hard))
        return setrlimit(resource, &limit) == 0 ? nil : errno
    }

    /// Whether fewer descriptors than `count` are left. The system gives out the lowest number that is free, so the number of a new one says how many are in use.
    /// - Parameter descriptor: any that is open; it is duplicated for a moment.
    static func isLeft(fewerThan count: Int, askingWith descriptor: CInt) -> Bool {
        guard let limit = current?.soft, limit < Int32.max else { return false }
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard next >= 0 else { return true }
        close(next)
        return Int(limit) - Int(next) < count
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
