// SPDX-License-Identifier: Apache-2.0
import NIOCore
package import StrataModel
import StrataWire

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

/// Blocks of users with sockets on this loop. A message lists the users from whom a block hides it. Typing and presence
/// are not stored, so they are filtered here.
extension LoopRegistry {
    package func knowsBlocks(of key: UserKey) -> Bool { userSockets[key]?.knowsBlocks ?? false }

    /// Stores the user's blocks as read from the service.
    package func blocksRead(_ blocks: BlockedUsers, of key: UserKey) {
        userSockets[key]?.knowsBlocks = true
        changeBlocks(of: key) { $0.replace(by: blocks) }
    }

    /// Applies an entry of the user's own log. Entries that do not concern blocks are ignored.
    package func blocksChanged(_ change: UserChange, of key: UserKey) {
        changeBlocks(of: key) { $0.apply(change) }
    }

    private func changeBlocks(of key: UserKey, by change: (inout BlockedUsers) -> Void) {
        guard let user = userSockets[key] else { return }
        let before = user.blocks
        change(&user.blocks)
        guard user.blocks != before else { return }
        for socket in user.sockets { socket.registration.blocks = user.blocks }
        let (earlier, now) = (before.users, user.blocks.users)
        for other in now.subtracting(earlier) { showOffline(other, to: user) }
        for other in earlier.subtracting(now) { showAgain(other, to: key) }
    }

    /// Shows `other` as offline to the user, because blocked users do not see each other's presence.
    private func showOffline(_ other: UserID, to user: UserSockets) {
        let tail = output.renderer.presenceChanged(other, to: Presence(status: .offline, lastSeenAt: nil))
        let stamp = stamp()
        for socket in user.sockets where watches(other, socket) {
            socket.sendEphemeral(tail, presenceOf: other, stamp: stamp)
        }
    }

    private func showAgain(_ other: UserID, to key: UserKey) {
        guard userSockets[key]?.sockets.contains(where: { watches(other, $0) }) == true else { return }
        services.presence(of: other, for: key, on: loop)
            .whenSuccess { presence in
                guard let presence, let user = self.userSockets[key], !user.blocks.contains(other) else { return }
                let tail = self.output.renderer.presenceChanged(other, to: presence.forOthers)
                let stamp = self.stamp()
                for socket in user.sockets where self.watches(other, socket) {
                    socket.sendEphemeral(tail, presenceOf: other, stamp: stamp)
                }
            }
    }

    private func watches(_ other: UserID, _ socket: any RegisteredSocket) -> Bool {
        socket.registration.watched.contains(UserKey(app: socket.registration.key.app, user: other))
    }
}
