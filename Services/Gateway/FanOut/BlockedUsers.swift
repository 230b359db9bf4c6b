// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// With whom a user has a block, as a gateway knows it: what was read once, and what the user's own log has said since.
///
/// The log may be told by two sources at once, a catch-up and the fan-out, so that an older entry may come after a newer one; of each user the newest counts.
package struct BlockedUsers: Sendable, Equatable {
    private enum Direction: Hashable { case own, other }

    private struct Key: Hashable {
        let user: UserID
        let direction: Direction
    }

    private var blocked: Set<UserID> = []
    private var blockedBy: Set<UserID> = []
    /// The user's own log up to here is contained in what was read.
    private var readUpTo = Position.zero
    private var changedAt: [Key: Position] = [:]

    package init() {}

    /// - Parameter position: up to which the user's own log is contained in them.
    package init(blocked: some Sequence<UserID>, blockedBy: some Sequence<UserID>, position: Position) {
        self.blocked = Set(blocked)
        self.blockedBy = Set(blockedBy)
        readUpTo = position
    }

    /// Whether one of the two has blocked the other.
    package func contains(_ user: UserID) -> Bool { (!blocked.isEmpty && blocked.contains(user)) || (!blockedBy.isEmpty && blockedBy.contains(user)) }

    package var users: Set<UserID> { blocked.union(blockedBy) }

    /// They were read once more. Entries of the log that are newer than that stay.
    package mutating func replace(by read: BlockedUsers) {
        guard read.readUpTo >= readUpTo else { return }
        var new = read
        for (key, position) in changedAt where position > read.readUpTo {
            let isBlocked = key.direction == .own ? blocked.contains(key.user) : blockedBy.contains(key.user)
            new.set(key, to: isBlocked, at: position)
        }
        self = new
    }

    /// An entry of the user's own log; all that are about no block change nothing.
    package mutating func apply(_ change: UserChange) {
        guard change.position > readUpTo else { return }
        switch change.content {
        case .blocksChanged(let blocked, let unblocked):
            for user in blocked { set(Key(user: user, direction: .own), to: true, at: change.position) }
            for user in unblocked { set(Key(user: user, direction: .own), to: false, at: change.position) }
        case .blockedBy(let user, let isBlocked): set(Key(user: user, direction: .other), to: isBlocked, at: change.position)
        default: break
        }
    }

    private mutating func set(_ key: Key, to isBlocked: Bool, at position: Position) {
        guard position > changedAt[key] ?? .zero else { return }
        changedAt[key] = position
        switch (key.direction, isBlocked) {
        case (.own, true): blocked.insert(key.user)
        case (.own, false): blocked.remove(key.user)
        case (.other, true): blockedBy.insert(key.user)
        case (.other, false): blockedBy.remove(key.user)
        }
    }
}
