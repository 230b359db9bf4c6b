// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// The requests of a load.
enum LoadOperation {
    /// Returns the operations of one participant, which take turns.
    /// - Parameters:
    ///   - conversation: The id of the conversation, without its prefix.
    ///   - bytes: The length of a message's text.
    static func templates(
        _ dialect: LoadDialect, conversation: String, token: String, server: LoadAddress, bytes: Int
    ) -> [RequestTemplate] {
        switch dialect {
        case .messages: return [frame(message(conversation, text(bytes)))]
        case .metadata:
            let body = """
                [{"operation":"set","property":"metadata.load.value","value":"\(OperationMark.placeholder)"}]
                """
            let request = RESTRequest.bytes(
                "PATCH", "/conversations/\(conversation)", token: token, body: body, to: server)
            return [RequestTemplate(request)]
        case .typing:
            return ["started", "paused"].map { frame(typing(conversation, $0)) }
        case .broadcast: return [frame(text(bytes))]
        case .xmpp:
            let message = """
                <message xmlns='jabber:client' to='\(conversation)' type='groupchat' id='m'><body>\(text(bytes))</body></message>
                """
            return [frame(message)]
        }
    }

    /// Returns a text with a mark of zeros.
    static func text(_ bytes: Int) -> String {
        OperationMark.placeholder + String(repeating: "x", count: max(0, bytes - OperationMark.byteCount))
    }

    /// Returns a request that sends a message.
    static func message(_ conversation: String, _ text: String) -> String {
        """
        {"type":"request","body":{"request_id":"m","method":"Message.create","object_id":"layer:///conversations/\(conversation)",\
        "data":{"parts":[{"mime_type":"text/plain","body":"\(text)"}]}}}
        """
    }

    private static func typing(_ conversation: String, _ action: String) -> String {
        """
        {"type":"signal","body":{"type":"typing_indicator","object":{"id":"layer:///conversations/\(conversation)"},\
        "data":{"action":"\(action)"}}}
        """
    }

    private static func frame(_ text: String) -> RequestTemplate {
        RequestTemplate(LoadSocket.frame(opcode: .text, Array(text.utf8)))
    }

    /// Returns the frame that ends typing.
    /// - Parameter conversation: The id of the conversation.
    static func finishedTyping(in conversation: String) -> ByteBuffer {
        LoadSocket.frame(opcode: .text, Array(typing(conversation, "finished").utf8))
    }
}
