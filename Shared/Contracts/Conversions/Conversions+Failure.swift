// SPDX-License-Identifier: Apache-2.0
public import StrataModel
import SwiftProtobuf

extension Failure {
    /// The refusal as the service decided it.
    ///
    /// A code this version does not know becomes `internal_server_error`; an object that cannot be read is left out, and the refusal stands.
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
    /// The payload of an application error of the RPC: code, message, and the detail if there is one.
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
