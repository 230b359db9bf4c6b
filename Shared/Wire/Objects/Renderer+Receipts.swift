// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Writes the response to receipts of several messages: the messages that the user does not see in the
    /// conversation.
    public func writeIgnoredMessages(_ messages: [MessageID], into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("ignored")
        writer.beginArray()
        for message in messages { writer.messageID(message) }
        writer.endArray()
        writer.endObject()
    }
}
