// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A user of this machine.
public struct SystemUser: Sendable, Equatable {
    /// Name in the user database.
    public let name: String
    /// Numeric user id.
    public let uid: UInt32
    /// Numeric id of the main group.
    public let gid: UInt32

    /// Looks a user up by name; nil if there is none.
    public init?(named name: String) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        self.name = name
        self.uid = entry.pw_uid
        self.gid = entry.pw_gid
    }

    /// Whether this process runs as root.
    public static var isRoot: Bool {
        geteuid() == 0
    }

    /// The user PostgreSQL has to run as: nil (ourselves) unless we are root, which it refuses; then `postgres`, or `nobody` where there is none.
    public static var forPostgres: SystemUser? {
        guard isRoot else { return nil }
        return SystemUser(named: "postgres") ?? SystemUser(named: "nobody")
    }
}
