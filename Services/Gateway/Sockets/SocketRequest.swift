// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire

/// A request of a client that has not been answered yet.
struct SocketRequest: Sendable {
    /// Counted per socket; with the socket's id it is the origin of the changes this request causes.
    let number: UInt64
    let packet: ClientPacket.Request
    /// Of the frame it came in.
    var bytes = 0

    /// What came with it; without any, an object without members, so that what is missing is named.
    var data: JSONValue { packet.data.isNull ? .object([]) : packet.data }
}

enum SocketAnswer {
    case success((inout JSONWriter) -> Void)
    case done
    case message(Message)
    case conversation(ConversationView)
    case presences([(user: UserID, presence: Presence)])
    case failure(Failure)
}
