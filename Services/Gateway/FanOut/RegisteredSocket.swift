// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import StrataModel
package import StrataWire

/// What the fan-out needs of a socket, whatever the socket is a connection of. All of it is called on the loop of the socket's registry.
package protocol RegisteredSocket: AnyObject, Sendable {
    /// What the registry keeps of this socket.
    var registration: Registration { get }
    /// Which conversations the socket is about to join, and which it has left.
    var membership: Membership { get }
    /// Whether a create of a conversation has not been answered. Which conversation the answer shows is not known before: a distinct one may exist.
    var isCreatingConversation: Bool { get }

    /// A change that was handed on: the answer to the request that caused it goes first, if this socket owes one.
    func deliver(_ delivery: Delivery, as rendering: Rendering, values: ReaderValues, stamp: Stamp)
    /// Packets that are no change of a conversation. They may not be dropped either.
    func send(_ rendering: Rendering, values: ReaderValues, stamp: Stamp)
    /// A packet that may be dropped.
    /// - Parameter user: whose presence it tells; nil of typing.
    func sendEphemeral(_ tail: PacketTail, presenceOf user: UserID?, stamp: Stamp)
    /// The user has come to a conversation or has left one.
    func membershipChanged(_ event: MembershipEvent)
    func end(_ reason: RegisteredSocketEnd)
    /// The turn of the loop is over: what was collected for the socket leaves.
    /// - Returns: bytes that the channel was given.
    func flush() -> Int
    /// Once a second.
    /// - Parameter turn: counts the seconds.
    func upkeep(turn: Int)
}

/// What happened to a user in a conversation, as the user's socket is told by the registry.
package enum MembershipEvent {
    /// The socket is in the conversation no more.
    case left(ConversationID, LeaveRecord)
    /// A conversation that the socket has left may be joined again.
    case canRejoin
    /// The conversation is to be read again, from after this position, and joined.
    case returns(ConversationID, after: Position)
    /// The user takes part in the conversation since `position`. It may be told more than once.
    case added(ConversationID, at: Position)
}

/// Why the fan-out ends a connection.
package enum RegisteredSocketEnd {
    /// The client is to come back, here or elsewhere, and to replay.
    case goingAway
    case sessionEnded
}

/// What a registry needs of the gateway's services.
package protocol RegistryServices: Sendable {
    /// The name of a user, if it came by lately.
    func knownIdentity(of key: UserKey) -> BasicIdentity?
    func remember(_ identity: BasicIdentity, in app: AppID)
    /// Asks for a user's name, and remembers it; nil if it cannot be asked for.
    func identity(of key: UserKey, on loop: any EventLoop) -> EventLoopFuture<BasicIdentity?>
    /// The present status of another user, for this one; nil if it cannot be asked for.
    func presence(of user: UserID, for key: UserKey, on loop: any EventLoop) -> EventLoopFuture<Presence?>
    /// A session has ended; nil: all sessions of the user.
    func sessionEnded(_ key: UserKey, tokenDigest: [UInt8]?)
}
