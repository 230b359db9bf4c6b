// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import StrataModel
package import StrataWire

/// A registry's state for one socket: its conversations and its position in the user's own log.
///
/// Only the registry changes it, on its loop. `@unchecked Sendable` relies on this.
package final class Registration: @unchecked Sendable {
    package let key: UserKey
    package let version: WireVersion
    let tokenDigest: [UInt8]
    /// The time at which the socket opened, by the monotonic clock.
    package let since: NIODeadline

    var conversations: [LoopRegistry.LocalConversation] = []
    /// The position up to which entries of the user's own log were sent or deferred. nil while the socket is not
    /// attached.
    package internal(set) var userPosition: Position?
    /// Deferred entries of the user's own log, in order. All entries behind the first wait for it.
    var deferredUserChanges: [UserChange] = []
    /// The users whose presence the socket watches.
    var watched: Set<UserKey> = []
    var wantsPresence = false
    /// The user's blocks. Neither of two users with a block receives the other's typing or presence.
    package internal(set) var blocks = BlockedUsers()

    package init(key: UserKey, version: WireVersion, tokenDigest: [UInt8], since: NIODeadline) {
        self.key = key
        self.version = version
        self.tokenDigest = tokenDigest
        self.since = since
    }

    /// Returns true if the socket receives the changes of this conversation.
    package func isIn(_ id: ConversationID) -> Bool { conversations.contains { $0.id == id } }

    /// Returns the loop's position in a conversation that the socket is in.
    package func position(in id: ConversationID) -> Position? { conversations.first { $0.id == id }?.last }

    /// The time of the first deferred entry of the user's own log.
    package var firstDeferredChangeTime: Timestamp? { deferredUserChanges.first?.createdAt }
}
