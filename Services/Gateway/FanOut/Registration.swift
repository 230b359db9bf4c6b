// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import StrataModel
package import StrataWire

/// What the registry of a loop keeps of one socket: where it is a member, and how far it was told its user's own log.
///
/// Only the registry changes it, on its loop, which is what makes `@unchecked Sendable` true.
package final class Registration: @unchecked Sendable {
    package let key: UserKey
    package let version: WireVersion
    let tokenDigest: [UInt8]
    /// When the socket opened, by the clock that never jumps.
    package let since: NIODeadline

    var conversations: [LoopRegistry.LocalConversation] = []
    /// Position in the user's own log, up to which its entries were sent or are deferred; nil while not attached.
    package internal(set) var userPosition: Position?
    /// Entries of the user's own log that wait for the conversation they concern; in order, so that all behind the first waits.
    var deferredUserChanges: [UserChange] = []
    /// Of whose presence the socket is told.
    var watched: Set<UserKey> = []
    /// Whether the client has subscribed to presence.
    var wantsPresence = false
    /// With whom the user has a block: neither is told that the other types or comes and goes.
    package internal(set) var blocks = BlockedUsers()

    package init(key: UserKey, version: WireVersion, tokenDigest: [UInt8], since: NIODeadline) {
        self.key = key
        self.version = version
        self.tokenDigest = tokenDigest
        self.since = since
    }

    /// Whether the socket is told what happens in this conversation.
    package func isIn(_ id: ConversationID) -> Bool { conversations.contains { $0.id == id } }

    /// How far the loop was handed a conversation that the socket is in.
    package func position(in id: ConversationID) -> Position? { conversations.first { $0.id == id }?.last }

    /// When the first entry of the user's own log was made that the socket has not been told yet.
    package var owedUserChangeSince: Timestamp? { deferredUserChanges.first?.createdAt }
}
