// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension ServerRenderer {
    /// Writes an error object. An object in it has the form ``Form/read``. The member `data` is omitted if there are no
    /// details.
    public func writeFailure(_ failure: Failure, into writer: inout JSONWriter) {
        let hasData: Bool = if case .none = failure.detail { false } else { true }
        renderer.writeFailure(failure, hasData: hasData, into: &writer) { writer in
            switch failure.detail {
            case .conversation(let view): writeConversation(view, into: &writer)
            case .message(let message): writeMessage(message, form: .read, into: &writer)
            case .none, .property, .header, .nonce, .predecessor:
                renderer.writeDetail(failure.detail, for: nil, version: version.clientVersion, into: &writer)
            }
        }
    }
}
