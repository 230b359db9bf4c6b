// SPDX-License-Identifier: Apache-2.0
public import StrataModel

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
