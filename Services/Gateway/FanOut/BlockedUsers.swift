// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// A user's blocks in both directions: a snapshot from the service, updated by entries of the user's own log.
///
/// A catch-up and the fan-out can both deliver the log, so an older entry can arrive after a newer one. The newest
/// entry for each user and direction wins.
package struct BlockedUsers: Sendable, Equatable {
    private enum Direction: Hashable { case own, other }

    private struct Key: Hashable {
        let user: UserID
        let direction: Direction
    }

    private var blocked: Set<UserID> = []
    private var blockedBy: Set<UserID> = []
    /// The position in the user's own log up to which the snapshot includes all entries.
    private var readUpTo = Position.zero
    private var changedAt: [Key: Position] = [:]

    package init() {}

    /// - Parameter position: the position in the user's own log up to which both lists include all entries.
    package init(blocked: some Sequence<UserID>, blockedBy: some Sequence<UserID>, position: Position) {
        self.blocked = Set(blocked)
        self.blockedBy = Set(blockedBy)
        readUpTo = position
    }

    /// Returns true if either user has blocked the other.
    package func contains(_ user: UserID) -> Bool {
        (!blocked.isEmpty && blocked.contains(user)) || (!blockedBy.isEmpty && blockedBy.contains(user))
    }

    package var users: Set<UserID> { blocked.union(blockedBy) }

    /// Replaces the snapshot with a newer one. Log entries newer than that snapshot are kept.
    package mutating func replace(by read: BlockedUsers) {
        guard read.readUpTo >= readUpTo else { return }
        var new = read
        for (key, position) in changedAt where position > read.readUpTo {
            let isBlocked = key.direction == .own ? blocked.contains(key.user) : blockedBy.contains(key.user)
            new.set(key, to: isBlocked, at: position)
        }
        self = new
    }

    /// Applies an entry of the user's own log. Entries that do not concern blocks are ignored.
    package mutating func apply(_ change: UserChange) {
        guard change.position > readUpTo else { return }
        switch change.content {
        case .blocksChanged(let blocked, let unblocked):
            for user in blocked { set(Key(user: user, direction: .own), to: true, at: change.position) }
            for user in unblocked { set(Key(user: user, direction: .own), to: false, at: change.position) }
        case .blockedBy(let user, let isBlocked):
            set(Key(user: user, direction: .other), to: isBlocked, at: change.position)
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
