// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The position up to which an event loop has received one log, with the rule for sockets that join it there.
///
/// A socket may join only if its catch-up has read at least as far as the loop has received, and as far as the fan-out
/// had delivered when the catch-up asked. The fan-out's later changes reach the loop later, so the socket receives
/// everything after its own position. A change that it already has is skipped (``isNews(_:to:)``). Nothing is lost or
/// duplicated between a catch-up and the fan-out.
struct LogCursor {
    /// The last position received by this loop; zero before the first.
    private(set) var last = Position.zero

    mutating func advance(to position: Position) { last = max(last, position) }

    /// Returns true if a socket that has read up to `position` may join. The cursor then advances to `fanOutLast`.
    /// - Parameter fanOutLast: the last position delivered by the fan-out, requested after the log had been read up to
    ///   `position`.
    mutating func admits(readTo position: Position, fanOutLast: Position) -> Bool {
        guard position >= last, position >= fanOutLast else { return false }
        last = max(last, fanOutLast)
        return true
    }

    /// Returns true if a change must be sent to a socket that had read up to `read` when it joined.
    static func isNews(_ position: Position, to read: Position) -> Bool { read < position }
}

/// The positions of a conversation's newest message, as delivered to one event loop. Users from whom a message is
/// hidden have positions of their own.
struct LastMessages {
    private struct Place {
        /// The position of the newest message.
        var newest = Position.zero
        /// The position of the newest change that determines the last message.
        var lastUpdate = Position.zero
    }

    private var common = Place()
    /// The positions of users from whom the newest messages are hidden.
    private var others: [UserID: Place] = [:]

    /// Returns the position of the newest message visible to the user, among those delivered to the loop.
    func newest(of user: UserID) -> Position { others.isEmpty ? common.newest : (others[user] ?? common).newest }

    /// Returns the position of the newest change that showed the user a last message.
    func lastUpdate(for user: UserID) -> Position {
        others.isEmpty ? common.lastUpdate : (others[user] ?? common).lastUpdate
    }

    mutating func created(at position: Position, hiddenFrom users: [UserID]) {
        if !users.isEmpty || !others.isEmpty { others = kept(for: users) }
        common = Place(newest: position, lastUpdate: position)
    }

    /// - Parameter users: the users from whom the deleted message was hidden.
    mutating func deleted(at position: Position, hiddenFrom users: [UserID]) {
        for user in others.keys where !users.contains(user) { others[user]?.lastUpdate = position }
        for user in users where others[user] == nil { others[user] = common }
        common.lastUpdate = position
    }

    private func kept(for users: [UserID]) -> [UserID: Place] {
        Dictionary(users.map { ($0, others[$0] ?? common) }) { first, _ in first }
    }
}
