// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension ServerRenderer {
    /// An error object. An object in it is written as a reading has it.
    public func writeFailure(_ failure: Failure, into writer: inout JSONWriter) {
        renderer.writeFailure(failure, into: &writer) { writer in
            switch failure.detail {
            case .conversation(let view): writeConversation(view, into: &writer)
            case .message(let message): writeMessage(message, form: .read, into: &writer)
            case .none, .property, .header, .nonce, .predecessor:
                renderer.writeDetail(failure.detail, for: nil, version: version.clientVersion, into: &writer)
            }
        }
    }
}
