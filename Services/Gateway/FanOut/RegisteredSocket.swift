// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import StrataModel
package import StrataWire

/// A socket as seen by the fan-out, independent of its transport. All members are called on the loop of the socket's
/// registry.
package protocol RegisteredSocket: AnyObject, Sendable {
    var registration: Registration { get }
    /// The conversations that the socket is about to join and those that it has left.
    var membership: Membership { get }
    /// True if a request to create a conversation has not been answered. Until then the conversation's identity is
    /// unknown, because a distinct one may already exist.
    var isCreatingConversation: Bool { get }

    /// Sends a change. If this socket made the request that caused it, the answer is sent first.
    func deliver(_ delivery: Delivery, as rendering: Rendering, values: ReaderValues, stamp: Stamp)
    /// Sends packets that are not changes of a conversation and must not be dropped.
    func send(_ rendering: Rendering, values: ReaderValues, stamp: Stamp)
    /// Sends a packet that may be dropped.
    /// - Parameter user: the user whose presence it describes. nil for typing.
    func sendEphemeral(_ tail: PacketTail, presenceOf user: UserID?, stamp: Stamp)
    func membershipChanged(_ event: MembershipEvent)
    func end(_ reason: RegisteredSocketEnd)
    /// Writes the packets collected during the event-loop turn.
    /// - Returns: the number of bytes written to the channel.
    func flush() -> Int
    /// Runs periodic work. Called once a second.
    /// - Parameter turn: the number of seconds so far.
    func upkeep(turn: Int)
}

/// A change of a user's membership in a conversation, reported by the registry to a socket of the user.
package enum MembershipEvent {
    /// The socket has left the conversation.
    case left(ConversationID, LeaveRecord)
    /// The socket may join conversations that it has left.
    case canRejoin
    /// The conversation must be read after this position and joined again.
    case returns(ConversationID, after: Position)
    /// The user was added to the conversation at `position`. Reports can be repeated.
    case added(ConversationID, at: Position)
}

/// The reason why the fan-out closes a connection.
package enum RegisteredSocketEnd {
    /// The client must reconnect, here or elsewhere, and replay.
    case goingAway
    case sessionEnded
}

/// The services of the gateway as seen by a registry.
package protocol RegistryServices: Sendable {
    /// Returns a user's identity if it is cached.
    func knownIdentity(of key: UserKey) -> BasicIdentity?
    func remember(_ identity: BasicIdentity, in app: AppID)
    /// Fetches and caches a user's identity. nil if it cannot be fetched.
    func identity(of key: UserKey, on loop: any EventLoop) -> EventLoopFuture<BasicIdentity?>
    /// Fetches a user's present status as visible to another user, `key`. nil if it cannot be fetched.
    func presence(of user: UserID, for key: UserKey, on loop: any EventLoop) -> EventLoopFuture<Presence?>
    /// Handles the end of a session. A nil digest means all sessions of the user.
    func sessionEnded(_ key: UserKey, tokenDigest: [UInt8]?)
}

/// A registry's state for one socket: its conversations and its position in the user's own log.
///
/// Only the registry changes it, on its loop. `@unchecked Sendable` relies on this.
package final class Registration: @unchecked Sendable {
    package let key: UserKey
    package let version: WireVersion
    let tokenDigest: [UInt8]
    /// The time at which the socket opened, by the monotonic clock.
    package let since: NIODeadline

    /// The conversations that the socket is in, sorted by id.
    private(set) var conversations: [LoopRegistry.LocalConversation] = []
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
    package func isIn(_ id: ConversationID) -> Bool { place(of: id).isIn }

    /// Returns the loop's position in a conversation that the socket is in.
    package func position(in id: ConversationID) -> Position? {
        let place = place(of: id)
        return place.isIn ? conversations[place.index].last : nil
    }

    func insert(_ conversation: LoopRegistry.LocalConversation) {
        let place = place(of: conversation.id)
        if !place.isIn { conversations.insert(conversation, at: place.index) }
    }

    func remove(_ id: ConversationID) {
        let place = place(of: id)
        if place.isIn { conversations.remove(at: place.index) }
    }

    func removeConversations() { conversations = [] }

    /// Returns the index of the conversation, or where to insert it. A catch-up attaches thousands of conversations in
    /// the order of their ids, so that each is appended.
    private func place(of id: ConversationID) -> (index: Int, isIn: Bool) {
        var (low, high) = (0, conversations.count)
        while low < high {
            let middle = (low + high) / 2
            if conversations[middle].id.rawValue < id.rawValue { low = middle + 1 } else { high = middle }
        }
        return (low, low < conversations.count && conversations[low].id == id)
    }

    /// The time of the first deferred entry of the user's own log.
    package var firstDeferredChangeTime: Timestamp? { deferredUserChanges.first?.createdAt }
}
