// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The packets of a load: how an operation is sent, and which packets are its deliveries.
enum LoadDialect: Sendable {
    /// Strata: messages over sockets. Every participant receives them, the sender too.
    case messages
    /// Strata: patches of metadata over REST. Every participant receives them.
    case metadata
    /// Strata: typing signals over sockets. All participants but the sender receive them.
    /// - Parameter userPrefix: The text before the number in user ids.
    case typing(userPrefix: String)
    /// The broadcaster: text frames.
    /// - Parameter includesSender: True if the sender receives its own frames.
    case broadcast(includesSender: Bool)
    /// XMPP: messages to rooms. Every occupant receives them, the sender too.
    case xmpp

    var includesSender: Bool {
        switch self {
        case .messages, .metadata, .xmpp: true
        case .typing: false
        case .broadcast(let includesSender): includesSender
        }
    }

    /// The meaning of a packet for the load.
    enum Event: Equatable {
        case delivery(OperationMark, position: Int64?)
        /// A typing signal of the user with this number.
        case typing(user: Int, isStarted: Bool)
        case refusal
        /// A packet that is no delivery.
        case other
    }

    /// The offset of the letter that distinguishes the packet types: `{"type":"` precedes it.
    private static let typeOffset = 9
    /// The maximum offset of a packet's body.
    private static let headBytes = 160

    /// Returns the meaning of a packet.
    func read(_ packet: UnsafeRawBufferPointer) -> Event {
        switch self {
        case .broadcast, .xmpp: return OperationMark.find(in: packet).map { .delivery($0, position: nil) } ?? .other
        case .messages, .metadata, .typing: break
        }
        guard packet.count > Self.typeOffset else { return .other }
        switch packet[Self.typeOffset] {
        case UInt8(ascii: "r"):
            return packet.end(of: "\"success\":false", within: 400) == nil ? .other : .refusal
        case UInt8(ascii: "c"): return readChange(packet)
        case UInt8(ascii: "s"): return readSignal(packet)
        default: return .other
        }
    }

    private func readChange(_ packet: UnsafeRawBufferPointer) -> Event {
        guard let operation = packet.end(of: "\"operation\":\"", within: Self.headBytes), operation < packet.count
        else {
            return .other
        }
        let isDelivery: Bool
        switch self {
        case .messages:
            isDelivery =
                packet[operation] == UInt8(ascii: "c")
                && packet.end(of: "\"type\":\"Message\"", from: operation, within: Self.headBytes) != nil
        case .metadata:
            isDelivery =
                packet[operation] == UInt8(ascii: "u")
                && packet.end(of: "\"property\":\"metadata", from: operation, within: 600) != nil
        case .typing, .broadcast, .xmpp: isDelivery = false
        }
        guard isDelivery, let mark = OperationMark.find(in: packet) else { return .other }
        let position = packet.end(of: "\"position\":", from: operation, within: 400)
        return .delivery(mark, position: position.flatMap { packet.number(at: $0) })
    }

    private func readSignal(_ packet: UnsafeRawBufferPointer) -> Event {
        guard case .typing(let userPrefix) = self,
            let user = packet.end(of: "\"user_id\":\""), let action = packet.end(of: "\"action\":\""),
            action < packet.count, let number = packet.number(at: user + userPrefix.utf8.count)
        else { return .other }
        switch packet[action] {
        case UInt8(ascii: "s"): return .typing(user: Int(number), isStarted: true)
        case UInt8(ascii: "p"): return .typing(user: Int(number), isStarted: false)
        // `finished` separates measurements.
        default: return .other
        }
    }
}
