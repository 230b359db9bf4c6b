// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A user of this machine.
public struct SystemUser: Sendable, Equatable {
    /// The name in the user database.
    public let name: String
    /// The numeric user id.
    public let uid: UInt32
    /// The numeric id of the main group.
    public let gid: UInt32

    /// Looks up a user by name; nil if there is none.
    public init?(named name: String) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        self.name = name
        self.uid = entry.pw_uid
        self.gid = entry.pw_gid
    }

    /// True if this process runs as root.
    public static var isRoot: Bool {
        geteuid() == 0
    }

    /// The user PostgreSQL has to run as. PostgreSQL refuses to run as root. nil: this process's user, who is not root.
    /// For root it is `postgres`, or `nobody` if `postgres` does not exist.
    public static var forPostgres: SystemUser? {
        guard isRoot else { return nil }
        return SystemUser(named: "postgres") ?? SystemUser(named: "nobody")
    }
}
