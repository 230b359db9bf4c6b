// SPDX-License-Identifier: Apache-2.0
import StrataModel

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
