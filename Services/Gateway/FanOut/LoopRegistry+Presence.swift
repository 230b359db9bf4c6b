// SPDX-License-Identifier: Apache-2.0
import Contracts
package import StrataModel
import StrataWire

/// The sockets of a loop that watch each user's presence.
struct PresenceWatchers {
    private var sockets: [UserKey: [any RegisteredSocket]] = [:]

    func sockets(watching user: UserKey) -> [any RegisteredSocket] { sockets[user] ?? [] }

    /// - Returns: true if it is the first socket that watches the user.
    mutating func add(_ socket: any RegisteredSocket, of user: UserKey) -> Bool {
        sockets[user, default: []].append(socket)
        return sockets[user]?.count == 1
    }

    /// - Returns: true if it was the last socket that watched the user.
    mutating func remove(_ socket: any RegisteredSocket, of user: UserKey) -> Bool {
        sockets[user]?.removeAll { $0 === socket }
        guard sockets[user]?.isEmpty == true else { return false }
        sockets[user] = nil
        return true
    }
}

extension LoopRegistry {
    /// Subscribes the socket to the presence of `users`.
    package func watch(_ users: [UserKey], by socket: any RegisteredSocket) {
        socket.registration.wantsPresence = true
        addWatched(users, by: socket)
    }

    /// Adds users whom the socket's user has begun to follow, if the socket has subscribed to presence.
    package func watchPresence(of identities: [BasicIdentity], by socket: any RegisteredSocket) {
        let registration = socket.registration
        guard registration.wantsPresence else { return }
        addWatched(identities.map { UserKey(app: registration.key.app, user: $0.userID) }, by: socket)
    }

    private func addWatched(_ users: [UserKey], by socket: any RegisteredSocket) {
        let registration = socket.registration
        var new: [UserKey] = []
        for user in users where registration.watched.insert(user).inserted {
            if watchers.add(socket, of: user) { new.append(user) }
        }
        if !new.isEmpty { fanOut.retainPresence(of: new, for: self) }
    }

    func unwatch(_ user: UserKey, by socket: any RegisteredSocket) {
        guard user != socket.registration.key, socket.registration.watched.remove(user) != nil else { return }
        if watchers.remove(socket, of: user) { fanOut.releasePresence(of: [user], for: self) }
    }

    package func unwatchAll(_ socket: any RegisteredSocket) {
        let registration = socket.registration
        registration.wantsPresence = false
        let released = registration.watched.filter { watchers.remove(socket, of: $0) }
        registration.watched = []
        if !released.isEmpty { fanOut.releasePresence(of: Array(released), for: self) }
    }

    func presenceChanged(_ publication: PresencePublication) {
        let key = UserKey(app: publication.appID, user: publication.user)
        let sockets = watchers.sockets(watching: key)
        guard !sockets.isEmpty else { return }
        let stamp = stamp()
        let shown = output.renderer.presenceChanged(publication.user, to: publication.presence.forOthers)
        let real = output.renderer.presenceChanged(publication.user, to: publication.presence)
        for socket in sockets where !socket.registration.blocks.contains(publication.user) {
            socket.sendEphemeral(
                socket.registration.key == key ? real : shown, presenceOf: publication.user, stamp: stamp)
        }
    }
}
