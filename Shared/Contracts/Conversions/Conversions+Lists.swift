// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel

extension ProtoPageEnd {
    /// Creates the end of a page.
    /// - Parameter lastID: the id of the page's last object; nil if the page is the last one.
    public init(lastID: Data?) {
        self.init()
        if let lastID { self.lastID = lastID }
    }
}

extension LoadedConversation {
    /// Creates a loaded conversation. The view's last message is the first message; it is sent only once.
    ///
    /// - Throws: ``ContractViolation`` unless all ids have 16 bytes.
    public init(_ proto: ProtoLoadConversationsResponse.Item) throws(ContractViolation) {
        let view = try ConversationView(proto.view)
        var messages = view.lastMessage.map { [$0] } ?? []
        for message in proto.earlier { messages.append(try StrataModel.Message(message)) }
        self.init(view: view, messages: messages, isTruncated: proto.isCut)
    }
}
