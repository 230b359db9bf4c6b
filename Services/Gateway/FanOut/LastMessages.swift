// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// What one loop was handed about the newest message of a conversation, for each user: a message that is hidden from a user is not their newest one.
struct LastMessages {
    private struct Place {
        /// Of the newest message.
        var newest = Position.zero
        /// Of the newest change that told what the last message is.
        var told = Position.zero
    }

    private var common = Place()
    /// Of users from whom the newest messages are hidden.
    private var others: [UserID: Place] = [:]

    /// Where the newest message is that this user may see, as far as the loop was handed any.
    func newest(of user: UserID) -> Position { others.isEmpty ? common.newest : (others[user] ?? common).newest }

    /// Where this user was told last what the last message is.
    func told(to user: UserID) -> Position { others.isEmpty ? common.told : (others[user] ?? common).told }

    mutating func created(at position: Position, hiddenFrom users: [UserID]) {
        if !users.isEmpty || !others.isEmpty { others = kept(for: users) }
        common = Place(newest: position, told: position)
    }

    /// - Parameter users: those from whom the deleted message was hidden.
    mutating func deleted(at position: Position, hiddenFrom users: [UserID]) {
        for user in others.keys where !users.contains(user) { others[user]?.told = position }
        for user in users where others[user] == nil { others[user] = common }
        common.told = position
    }

    private func kept(for users: [UserID]) -> [UserID: Place] {
        Dictionary(users.map { ($0, others[$0] ?? common) }) { first, _ in first }
    }
}
