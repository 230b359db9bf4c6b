// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import StrataModel

extension SyncEngine {
    /// Sets the user's presence status.
    /// - Returns: false if there is no connection.
    func setPresence(_ choice: PresenceChoice) -> Bool {
        guard machine.isLive, socket != nil else { return false }
        connection.choose(choice)
        sendPresence()
        return true
    }

    /// Sends the user's presence, and requests the presence of users that changed since the last connection.
    /// - Parameter since: the server's time at which the store was up to date; nil: presence is requested for all users
    ///   after the lists are loaded.
    func announcePresence(since: String?) {
        sendRequest("Presence.subscribe", id: "subscription")
        sendPresence()
        sendRequest("Presence.sync", id: "presence", data: ["ids": [.string(me.layerID)]])
        if let since { sendRequest("Presence.sync", id: "presence", data: ["since": .string(since)]) }
    }

    private func sendPresence() {
        let status = JSONValue.string(connection.presence.rawValue)
        sendRequest(
            "Presence.update", id: "status", data: [["operation": "set", "property": "status", "value": status]])
    }

    /// Requests the presence of users who are newly known or followed. The server sends only later changes without a
    /// request.
    func requestPresence(of changes: [ObjectChange]) {
        guard machine.isLive else { return }
        var users =
            changes.compactMap { change -> JSONValue? in
                guard case .identity(let identity) = change.object, let user = identity.userID else { return nil }
                switch change.kind {
                case .create: return .string(user.layerID)
                case .update(let property):
                    return property.name == "followed" && identity.isFollowed ? .string(user.layerID) : nil
                case .delete: return nil
                }
            }[...]
        while !users.isEmpty {
            sendRequest("Presence.sync", id: "presence", data: ["ids": .array(Array(users.prefix(1000)))])
            users = users.dropFirst(1000)
        }
    }
}

extension StoreTransaction {
    /// Sets the user's own presence to offline, because the connection was lost.
    func presenceEnded() throws {
        guard var own = try identity(me), let status = own.presenceStatus, status != PresenceStatus.offline.rawValue
        else { return }
        own.presenceStatus = PresenceStatus.offline.rawValue
        try setIdentity(me, to: own)
    }
}
