// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire

/// A request of a client that has not been answered yet.
struct SocketRequest: Sendable {
    /// The number of the request on its socket. Together with the socket's id, it is the origin of the changes that the
    /// request causes.
    let number: UInt64
    let packet: ClientPacket.Request
    /// The frame of a request that is queued or in progress. It is parsed when the request runs.
    var frame = ByteBuffer()

    var bytes: Int { frame.readableBytes }
    /// The memory held by the request while it is queued.
    var heldBytes: Int { frame.storageCapacity }

    /// The members of the data known before parsing. Missing data is an object without members, so that validation
    /// reports the missing properties by name.
    var outline: JSONValue { packet.outline.isNull ? .object([]) : packet.outline }

    /// Parses the data. Missing data is an object without members.
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
