// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Writes a basic identity (docs/conformance.md §4.2).
    public func writeBasicIdentity(_ identity: BasicIdentity, into writer: inout JSONWriter) {
        writer.beginObject()
        writeBasics(identity, into: &writer)
        writer.endObject()
    }

    /// Writes a full identity (docs/conformance.md §4.1), with the presence if given.
    public func writeIdentity(_ identity: Identity, presence: Presence? = nil, into writer: inout JSONWriter) {
        writer.beginObject()
        writeBasics(identity.basic, into: &writer)
        writer.key("first_name")
        writer.string(identity.firstName)
        writer.key("last_name")
        writer.string(identity.lastName)
        writer.key("phone_number")
        writer.string(identity.phoneNumber)
        writer.key("email_address")
        writer.string(identity.emailAddress)
        writer.key("public_key")
        writer.string(identity.publicKey)
        // Documentation and client libraries name this member differently.
        writer.key("type")
        writer.string(identity.kind.rawValue)
        writer.key("identity_type")
        writer.string(identity.kind.rawValue)
        writer.key("metadata")
        writeIdentityMetadata(identity.metadata, into: &writer)
        if let presence {
            writer.key("presence")
            writer.beginObject()
            writer.key("status")
            writer.string(presence.status.rawValue)
            writer.key("last_seen_at")
            writer.timestamp(presence.lastSeenAt)
            writer.endObject()
        }
        writer.endObject()
    }

    func writeIdentityMetadata(_ metadata: [String: String], into writer: inout JSONWriter) {
        writer.beginObject()
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            writer.key(escaping: key)
            writer.string(value)
        }
        writer.endObject()
    }

    private func writeBasics(_ identity: BasicIdentity, into writer: inout JSONWriter) {
        let encoded = identity.userID.percentEncoded
        writer.key("id")
        writer.identityID(percentEncoded: encoded)
        writer.key("url")
        writer.string(prefix: identityURL, plain: encoded)
        writer.key("user_id")
        writer.string(identity.userID.rawValue)
        writer.key("display_name")
        writer.string(identity.displayName)
        writer.key("avatar_url")
        writer.string(identity.avatarURL)
    }
}
