// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A message from the server on a subscribing connection.
enum PushMessage {
    case message(ByteBuffer, channel: ByteBuffer)
    case subscribed(String)
    case unsubscribed(String)
    case pong
    case error(RedisServerError)
}

extension ReplyBuilder {
    /// Parses a complete reply without creating unnecessary values, and resets the builder. Returns nil for an unknown
    /// message.
    mutating func takePush() -> PushMessage? {
        defer { reset() }
        switch elements.first {
        case .simple(let range): return bytesEqual(in: range, text: "PONG") ? .pong : nil
        case .error(let range): return .error(RedisServerError(text: text(range)))
        case .array(count: 2):
            guard elements.count == 3, case .bulk(let kind) = elements[1], bytesEqual(in: kind, text: "pong") else {
                return nil
            }
            return .pong
        case .array(count: 3):
            guard elements.count == 4, case .bulk(let kind) = elements[1], case .bulk(let channel) = elements[2] else {
                return nil
            }
            return push(kind: kind, channel: channel, last: elements[3])
        case nil, .null, .integer, .bulk, .array: return nil
        }
    }

    private func push(kind: Range<Int>, channel: Range<Int>, last: Element) -> PushMessage? {
        if bytesEqual(in: kind, text: "smessage"), case .bulk(let payload) = last {
            return .message(slice(payload), channel: slice(channel))
        }
        if bytesEqual(in: kind, text: "ssubscribe") { return .subscribed(text(channel)) }
        if bytesEqual(in: kind, text: "sunsubscribe") { return .unsubscribed(text(channel)) }
        return nil
    }
}
