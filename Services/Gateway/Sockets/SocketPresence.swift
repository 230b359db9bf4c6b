// SPDX-License-Identifier: Apache-2.0

/// The status that one connection gives its user, and the requests about presence.
struct SocketPresence {
    /// Whether the connection's status counts.
    private(set) var isHeld = false
    private(set) var status = "auto"
    /// The last request about presence: the next one waits for it.
    var turn: Task<Void, Never>?

    /// The client has chosen a status.
    /// - Parameter isOpen: false: the connection has ended meanwhile, and its status does not count.
    mutating func chosen(_ status: String, isOpen: Bool) {
        self.status = status
        if isOpen { isHeld = true }
    }

    /// The status counts no longer.
    /// - Returns: false if it did not before.
    mutating func giveUp() -> Bool {
        defer { isHeld = false }
        return isHeld
    }
}
