// SPDX-License-Identifier: Apache-2.0
import NIOCore
package import StrataModel
import StrataWire

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
