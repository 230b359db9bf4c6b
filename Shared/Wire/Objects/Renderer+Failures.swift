// SPDX-License-Identifier: Apache-2.0
public import Model

extension Renderer {
    /// An error object (spec 1.11): the body of a refused REST request, or `data` of a refused request of a socket.
    /// - Parameter reader: whom an object in it is shown to. Nil before anybody signed in, when no failure holds one.
    public func write(_ failure: Failure, for reader: UserID?, version: WireVersion, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("id")
        writer.string(failure.code.id)
        writer.key("code")
        writer.int(failure.code.rawValue)
        writer.key("message")
        writer.string(failure.message)
        writer.key("url")
        writer.string(prefix: errorURL, plain: failure.code.id)
        writer.key("data")
        write(failure.detail, for: reader, version: version, into: &writer)
        writer.endObject()
    }

    private func write(_ detail: Failure.Detail, for reader: UserID?, version: WireVersion, into writer: inout JSONWriter) {
        switch detail {
        case .property(let name): write("property", name, into: &writer)
        case .header(let name): write("header", name, into: &writer)
        case .nonce(let nonce): write("nonce", nonce, into: &writer)
        case .conversation(let view):
            if let reader { return write(view, for: reader, version: version, into: &writer) }
            writer.raw(constant: "{}")
        case .message(let message):
            if let reader { return write(message, for: reader, version: version, into: &writer) }
            writer.raw(constant: "{}")
        case .none: writer.raw(constant: "{}")
        }
    }

    private func write(_ name: StaticString, _ value: String, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key(name)
        writer.string(value)
        writer.endObject()
    }
}
