// SPDX-License-Identifier: Apache-2.0

/// The presence status of one connection, and its sequence of presence requests.
struct SocketPresence {
    /// True if the connection's status counts for its user.
    private(set) var isHeld = false
    private(set) var status = "auto"
    /// The task of the last presence request. The next request waits for it.
    var turn: Task<Void, Never>?

    /// Records the status chosen by the client.
    /// - Parameter isOpen: false if the connection has ended meanwhile. Its status then does not count.
    mutating func chosen(_ status: String, isOpen: Bool) {
        self.status = status
        if isOpen { isHeld = true }
    }

    /// Ends the effect of the status.
    /// - Returns: true if it had an effect before.
    mutating func giveUp() -> Bool {
        defer { isHeld = false }
        return isHeld
    }
}
