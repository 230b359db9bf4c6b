// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The limit of open file descriptors, sockets included, and the share of it that is available to client connections.
///
/// A process without free descriptors cannot even answer a health check. On Linux, libdispatch reads `/proc` once a
/// second and ends the process if it cannot open a file. Servers therefore accept fewer connections than there are
/// descriptors. They refuse further ones while some descriptors remain for the database, Redis, other services and
/// operators.
public enum OpenFileLimit {
    /// The soft limit, which applies, and the hard limit, up to which it can be raised. nil if the system does not
    /// report them.
    public static var current: (soft: UInt64, hard: UInt64)? {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        return (UInt64(limit.rlim_cur), UInt64(limit.rlim_max))
    }

    /// Raises the soft limit to the hard limit, for this process and its future children.
    ///
    /// The soft limit is 1024 on most systems, for programs that use `select`; ours do not.
    /// - Returns: The `errno` of the system if the limit cannot be raised; otherwise nil.
    @discardableResult
    public static func raise() -> CInt? {
        guard let (soft, hard) = current, soft < hard else { return nil }
        var limit = rlimit(rlim_cur: rlim_t(hard), rlim_max: rlim_t(hard))
        return setrlimit(resource, &limit) == 0 ? nil : errno
    }

    /// Returns true if fewer than `count` descriptors are free. The system assigns the lowest free number, so the
    /// number of a new descriptor shows how many are in use.
    /// - Parameter descriptor: Any open descriptor; it is duplicated for a moment.
    static func hasFewerFree(than count: Int, probing descriptor: CInt) -> Bool {
        guard let limit = current?.soft, limit < Int32.max else { return false }
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard next >= 0 else { return true }
        close(next)
        return Int(limit) - Int(next) < count
    }

    /// The maximum number of open connections. The remaining descriptors are reserved for everything else.
    public static var connections: Int { connections(of: current?.soft ?? 1024) }

    /// Returns the maximum number of connections under a limit of open files.
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
