// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Returns the response to a successful socket request (docs/conformance.md §12.3).
    /// - Parameter data: writes the value of `data`.
    public func response(to requestID: String, method: String, data: (inout JSONWriter) -> Void) -> PacketTail {
        response(to: requestID, method: method, success: true) { writer in
            writer.key("data")
            data(&writer)
        }
    }

    /// Returns the response to a successful socket request without data.
    public func response(to requestID: String, method: String) -> PacketTail {
        response(to: requestID, method: method) { $0.raw(constant: "{}") }
    }

    /// Returns the response to a refused socket request.
    public func response(
        to requestID: String, method: String, failure: Failure, for reader: UserID, version: WireVersion
    ) -> PacketTail {
        response(to: requestID, method: method, success: false) { writer in
            writer.key("data")
            writeFailure(failure, for: reader, version: version, into: &writer)
        }
    }

    private func response(
        to requestID: String, method: String, success: Bool, data: (inout JSONWriter) -> Void
    ) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.writer.beginObject()
        packet.writer.key("request_id")
        packet.writer.string(requestID)
        packet.writer.key("method")
        packet.writer.string(method)
        packet.writer.key("success")
        packet.writer.bool(success)
        data(&packet.writer)
        return packet.finish(.response)
    }
}

extension Renderer {
    /// Returns the signal of a participant's typing state (docs/conformance.md §12.6). Clients require the sender's
    /// identity (docs/conformance.md §17.17).
    public func typing(_ id: ConversationID, sender: BasicIdentity, action: TypingAction) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.writer.beginObject()
        packet.writer.key("type")
        packet.writer.string(constant: "typing_indicator")
        packet.object(.conversation(id))
        packet.writer.key("data")
        packet.writer.beginObject()
        packet.writer.key("sender")
        writeBasicIdentity(sender, into: &packet.writer)
        packet.writer.key("action")
        packet.writer.string(action.rawValue)
        packet.writer.endObject()
        return packet.finish(.signal)
    }
}
