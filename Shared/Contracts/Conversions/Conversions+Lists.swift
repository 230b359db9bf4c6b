// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel

extension ProtoPageEnd {
    /// - Parameter lastID: of the page's last object; nil: nothing comes after the page.
    public init(lastID: Data?) {
        self.init()
        if let lastID { self.lastID = lastID }
    }
}

extension LoadedConversation {
    /// The view's last message is the first of the messages, and travels once.
    ///
    /// - Throws: ``ContractViolation`` unless all ids in it have 16 bytes.
    public init(_ proto: ProtoLoadConversationsResponse.Item) throws(ContractViolation) {
        let view = try ConversationView(proto.view)
        var messages = view.lastMessage.map { [$0] } ?? []
        for message in proto.earlier { messages.append(try StrataModel.Message(message)) }
        self.init(view: view, messages: messages, isCut: proto.isCut)
    }
}
