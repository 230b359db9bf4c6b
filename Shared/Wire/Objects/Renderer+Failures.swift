// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Writes an error object (docs/conformance.md §1.11): the body of a refused REST request, or `data` of a refused
    /// socket request.
    /// - Parameter reader: the user for whom an object in the failure is written. Nil before sign-in, when failures
    ///   contain no object.
    public func writeFailure(
        _ failure: Failure, for reader: UserID?, version: WireVersion, into writer: inout JSONWriter
    ) {
        writeFailure(failure, into: &writer) { writeDetail(failure.detail, for: reader, version: version, into: &$0) }
    }

    /// Writes an error object with custom data.
    /// - Parameters:
    ///   - hasData: true to include the member `data`.
    ///   - writeData: writes the value of `data`.
    func writeFailure(
        _ failure: Failure, hasData: Bool = true, into writer: inout JSONWriter, writeData: (inout JSONWriter) -> Void
    ) {
        writer.beginObject()
        writer.key("id")
        writer.string(failure.code.id)
        writer.key("code")
        writer.int(failure.code.rawValue)
        writer.key("message")
        writer.string(failure.message)
        writer.key("url")
        writer.string(prefix: errorURL, plain: failure.code.id)
        if hasData {
            writer.key("data")
            writeData(&writer)
        }
        writer.endObject()
    }

    func writeDetail(_ detail: Failure.Detail, for reader: UserID?, version: WireVersion, into writer: inout JSONWriter)
    {
        switch detail {
        case .property(let name): writeMember("property", value: name, into: &writer)
        case .header(let name): writeMember("header", value: name, into: &writer)
        case .nonce(let nonce): writeMember("nonce", value: nonce, into: &writer)
        case .predecessor(let requestID): writeMember("request_id", value: requestID, into: &writer)
        case .conversation(let view):
            if let reader { return writeConversation(view, for: reader, version: version, into: &writer) }
            writer.raw(constant: "{}")
        case .message(let message):
            if let reader { return writeMessage(message, for: reader, version: version, into: &writer) }
            writer.raw(constant: "{}")
        case .none: writer.raw(constant: "{}")
        }
    }

    private func writeMember(_ name: StaticString, value: String, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key(name)
        writer.string(value)
        writer.endObject()
    }
}
