// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Returns an identity's `update` packet, for the user and the user's followers.
    /// - Parameter previous: the former identity. If set, only differences are included.
    public func identityUpdated(_ identity: Identity, from previous: Identity? = nil) -> PacketTail {
        identityUpdated(identity, from: previous, at: .none)
    }

    /// Returns a packet with a user's presence for its subscribers. For readers other than the user, pass
    /// ``StrataModel/Presence/forOthers`` (docs/conformance.md §12.8).
    public func presenceChanged(_ user: UserID, to presence: Presence) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .identity(user), at: .none)
        writePresenceOperations(of: presence, into: &packet.writer)
        return packet.finish(.change)
    }

    /// Writes the data of a successful response to `Presence.sync`.
    public func writePresenceChanges(
        _ presenceChanges: [(user: UserID, presence: Presence)], into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("changes")
        writer.beginArray()
        for (user, presence) in presenceChanges {
            writer.beginObject()
            writer.key("operation")
            writer.string(constant: "update")
            writeTarget(.identity(user), into: &writer)
            writer.key("data")
            writePresenceOperations(of: presence, into: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    /// Writes operations for the two leaf paths, because clients do not accept the object as a whole.
    private func writePresenceOperations(of presence: Presence, into writer: inout JSONWriter) {
        writer.beginArray()
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: "set")
        writer.key("property")
        writer.string(constant: "presence.status")
        writer.key("value")
        writer.string(presence.status.rawValue)
        writer.endObject()
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: "set")
        writer.key("property")
        writer.string(constant: "presence.last_seen_at")
        writer.key("value")
        writer.timestamp(presence.lastSeenAt)
        writer.endObject()
        writer.endArray()
    }

    func identityUpdated(
        _ identity: Identity, from previous: Identity? = nil, at place: PacketBuilder.Place
    ) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .identity(identity.basic.userID), at: place)
        packet.writer.beginArray()
        let texts: [(StaticString, KeyPath<Identity, String?>)] = [
            ("display_name", \.basic.displayName), ("avatar_url", \.basic.avatarURL), ("first_name", \.firstName),
            ("last_name", \.lastName),
            ("phone_number", \.phoneNumber), ("email_address", \.emailAddress), ("public_key", \.publicKey),
        ]
        for (property, path) in texts where previous.map({ $0[keyPath: path] != identity[keyPath: path] }) ?? true {
            packet.beginOperation("set", on: property)
            packet.writer.key("value")
            packet.writer.string(identity[keyPath: path])
            packet.endOperation()
        }
        if previous?.kind != identity.kind {
            // Set both names, as in the object.
            for property in ["type", "identity_type"] as [StaticString] {
                packet.beginOperation("set", on: property)
                packet.writer.key("value")
                packet.writer.string(identity.kind.rawValue)
                packet.endOperation()
            }
        }
        if previous?.metadata != identity.metadata {
            packet.beginOperation("set", on: "metadata")
            packet.writer.key("value")
            writeIdentityMetadata(identity.metadata, into: &packet.writer)
            packet.endOperation()
        }
        packet.writer.endArray()
        return packet.finish(.change)
    }
}
