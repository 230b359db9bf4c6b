// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel
import SwiftProtobuf

extension Failure {
    /// Creates the failure that a service returned.
    ///
    /// An unknown code becomes `internal_server_error`. An object that cannot be decoded is omitted; the failure
    /// remains valid.
    public init(_ proto: ProtoFailure) {
        let detail: Detail
        switch proto.detail {
        case .property(let name): detail = .property(name)
        case .header(let name): detail = .header(name)
        case .nonce(let nonce): detail = .nonce(nonce)
        case .conversation(let view): detail = (try? ConversationView(view)).map { .conversation($0) } ?? .none
        case .existingMessage(let message): detail = (try? StrataModel.Message(message)).map { .message($0) } ?? .none
        case nil: detail = .none
        }
        self.init(Code(rawValue: Int(proto.code)) ?? .internalServerError, proto.message, detail: detail)
    }
}

extension ProtoFailure {
    /// Creates the payload of an RPC application error: code, message and an optional detail.
    public init(_ failure: Failure) {
        self.init()
        code = Int32(failure.code.rawValue)
        message = failure.message
        switch failure.detail {
        case .none, .predecessor: break
        case .property(let name): detail = .property(name)
        case .header(let name): detail = .header(name)
        case .nonce(let nonce): detail = .nonce(nonce)
        case .conversation(let view): detail = .conversation(ProtoConversationView(view))
        case .message(let message): detail = .existingMessage(ProtoMessage(message))
        }
    }
}

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
