// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire

/// A request of a client that has not been answered yet.
struct SocketRequest: Sendable {
    /// Counted per socket; with the socket's id it is the origin of the changes this request causes.
    let number: UInt64
    let packet: ClientPacket.Request
    /// The frame of a request that waits or is being worked on. It is parsed when the request's turn comes.
    var frame = ByteBuffer()

    var bytes: Int { frame.readableBytes }
    /// The memory that the request takes while it waits.
    var heldBytes: Int { frame.storageCapacity }

    /// The members of the data that are known before it is parsed. A request without data has an object without members, so that what is missing is named.
    var outline: JSONValue { packet.outline.isNull ? .object([]) : packet.outline }

    /// Parses the data; without any it is an object without members.
    func data() throws(Failure) -> JSONValue {
        let data = try ClientPacket.data(in: frame)
        return data.isNull ? .object([]) : data
    }
}

enum SocketAnswer {
    case success((inout JSONWriter) -> Void)
    case done
    case message(Message)
    case conversation(ConversationView)
    case presences([(user: UserID, presence: Presence)])
    case failure(Failure)
}
