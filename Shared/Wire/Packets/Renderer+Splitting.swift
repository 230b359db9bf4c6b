// SPDX-License-Identifier: Apache-2.0
import NIOCore
public import StrataModel

/// The splitting of packets that exceed the frame size. The first packet contains as much as fits. Further packets add
/// the rest with repeatable operations.
extension Renderer {
    /// The maximum size of a frame, in bytes, measured as written, escapes included: 4 MiB. A client that refuses
    /// larger frames would reconnect endlessly.
    public static let frameBytes = 4 << 20
    /// The maximum size in bytes of a packet's head, its gap values, and the ends of its arrays and objects.
    static let frameReserve = 4096
    /// The maximum size in bytes of a packet without its message: the object, the position and other operations.
    static let messageReserve = 1024

    /// A conversation that is split into a first portion and the rest.
    struct ConversationPortion {
        var view: ConversationView
        fileprivate var participants: [BasicIdentity] = []
        fileprivate var leaves: [MetadataLeaf] = []
        /// The last message, if its portion lacks some parts.
        fileprivate var message: Message?
    }

    private func bytes(_ body: (inout JSONWriter) -> Void) -> Int {
        var writer = JSONWriter()
        body(&writer)
        return writer.count
    }

    // MARK: Conversations

    /// Returns the conversation without metadata. If it is still too large, it contains only some participants,
    /// including the reader, and some parts of the last message.
    /// - Parameter place: the place of the packets with the portion and the rest.
    func portion(
        of view: ConversationView, for reader: UserID?, version: WireVersion, at place: PacketBuilder.Place
    ) -> ConversationPortion {
        var portion = ConversationPortion(view: view)
        // A client skips changes of a conversation whose position is lower than the one shown, and positions on a
        // socket never decrease. Therefore the portion shows the position of the change, although it may contain later
        // changes. Receiving those again is harmless.
        if case .conversation(let position) = place { portion.view.conversation.position = position }
        portion.leaves = view.conversation.metadata?.leaves ?? []
        portion.view.conversation.metadata = MetadataTree()
        let room = packetBytes - Self.messageReserve
        func size(_ view: ConversationView) -> Int {
            bytes { writeConversation(view, for: reader ?? UserID(trusted: ""), version: version, into: &$0) }
        }
        guard size(portion.view) > room else { return portion }
        if let last = view.lastMessage, let first = self.portion(of: last, version: version, room: room / 2) {
            portion.message = last
            portion.view.lastMessage = first
        }
        var people = view.conversation.participants
        if let own = people.firstIndex(where: { $0.userID == reader }) { people.swapAt(0, own) }
        portion.view.conversation.participants = []
        var left = room - size(portion.view)
        let shown = people.prefix { person in
            left -= bytes { writeBasicIdentity(person, into: &$0) } + 1
            return left >= 0
        }
        portion.view.conversation.participants = Array(shown)
        if view.isParticipant { portion.participants = Array(people.dropFirst(shown.count)) }
        return portion
    }

    /// Returns packets with the rest of the conversation.
    func rest(of portion: ConversationPortion, at place: PacketBuilder.Place) -> [PacketTail] {
        let conversation = portion.view.conversation
        var tails: [PacketTail] = []
        if !portion.participants.isEmpty || !portion.leaves.isEmpty {
            var packets = UpdatePackets(renderer: self, for: .conversation(conversation.id), at: place)
            for identity in portion.participants { packets.addOperation { addParticipant(identity, in: &$0) } }
            for leaf in portion.leaves {
                packets.addOperation {
                    writeMetadataOperation(MetadataEffect(path: leaf.path, value: leaf.value), into: &$0.writer)
                }
            }
            tails = packets.finish()
        }
        if let message = portion.message, let first = portion.view.lastMessage {
            tails += rest(of: message, after: first, at: place)
        }
        return tails
    }

    // MARK: Messages

    /// Returns the message with as many parts as fit, or nil if all fit. Messages for 2.0 clients are never split,
    /// because these clients do not accept single parts.
    func portion(of message: Message, version: WireVersion, room: Int? = nil) -> Message? {
        guard version == .v3 else { return nil }
        // A cheap upper estimate, because most messages are much smaller than the limit.
        let most = message.parts.reduce(0) {
            $0 + 6 * (($1.body?.utf8.count ?? 0) + $1.mimeType.utf8.count) + Self.messageReserve * 4
        }
        guard most > (room ?? packetBytes) / 2 else { return nil }
        var first = message
        first.parts = []
        let anybody = MessageReader.sender
        var left = (room ?? packetBytes) - Self.messageReserve - (message.notification?.utf8.count ?? 0)
        left -= bytes { _ = writeMessage(first, for: anybody, version: version, into: &$0) { _, _ in } }
        for (index, part) in message.parts.enumerated() {
            left -= bytes { writePart(part, at: index, of: message.id, version: version, into: &$0) } + 1
            guard left >= 0 else { return first }
            first.parts.append(part)
        }
        return nil
    }

    /// Returns packets with the parts that the portion lacks.
    func rest(of message: Message, after portion: Message, at place: PacketBuilder.Place) -> [PacketTail] {
        var packets = UpdatePackets(renderer: self, for: .message(message.id, in: message.conversationID), at: place)
        for index in portion.parts.count..<message.parts.count {
            packets.addOperation { addPart(at: index, of: message, in: &$0) }
        }
        packets.addOperation { setTime("updated_at", to: message.updatedAt, in: &$0) }
        return packets.finish()
    }

    // MARK: Responses

    /// Returns the response to a successful request that created or found a message. If it would be too large, further
    /// packets contain the rest. They have no position, because a response has none.
    public func responses(
        to requestID: String, method: String, message: Message, for reader: UserID, version: WireVersion
    ) -> [PacketTail] {
        let whole = response(to: requestID, method: method) {
            writeMessage(message, for: reader, version: version, into: &$0)
        }
        guard whole.text.readableBytes > packetBytes, let portion = portion(of: message, version: version) else {
            return [whole]
        }
        return [
            response(to: requestID, method: method) { writeMessage(portion, for: reader, version: version, into: &$0) }
        ]
            + rest(of: message, after: portion, at: .none)
    }

    /// Returns the response to a successful request that created or found a conversation, split if it would be too
    /// large.
    public func responses(
        to requestID: String, method: String, view: ConversationView, for reader: UserID, version: WireVersion
    ) -> [PacketTail] {
        let whole = response(to: requestID, method: method) {
            writeConversation(view, for: reader, version: version, into: &$0)
        }
        guard whole.text.readableBytes > packetBytes else { return [whole] }
        let portion = portion(of: view, for: reader, version: version, at: .none)
        return [
            response(to: requestID, method: method) {
                writeConversation(portion.view, for: reader, version: version, into: &$0)
            }
        ]
            + rest(of: portion, at: .none)
    }

    /// Returns the response with users' presences. Presences that do not fit follow as changes.
    public func responses(
        to requestID: String, method: String, presences: [(user: UserID, presence: Presence)]
    ) -> [PacketTail] {
        let whole = response(to: requestID, method: method) { writePresenceChanges(presences, into: &$0) }
        guard whole.text.readableBytes > packetBytes else { return [whole] }
        var left = packetBytes - Self.messageReserve
        let first = presences.prefix { item in
            left -= bytes { writePresenceChanges([item], into: &$0) } + 1
            return left >= 0
        }
        return [response(to: requestID, method: method) { writePresenceChanges(Array(first), into: &$0) }]
            + presences.dropFirst(first.count).map { presenceChanged($0.user, to: $0.presence) }
    }

    /// Returns the response to a refused request, with the conflicting object if there is one, split if it would be too
    /// large.
    public func responses(
        to requestID: String, method: String, failure: Failure, for reader: UserID, version: WireVersion
    ) -> [PacketTail] {
        let whole = response(to: requestID, method: method, failure: failure, for: reader, version: version)
        guard whole.text.readableBytes > packetBytes else { return [whole] }
        var failure = failure
        let further: [PacketTail]
        switch failure.detail {
        case .conversation(let view):
            let portion = portion(of: view, for: reader, version: version, at: .none)
            failure.detail = .conversation(portion.view)
            further = rest(of: portion, at: .none)
        case .message(let message):
            guard let portion = portion(of: message, version: version) else { return [whole] }
            failure.detail = .message(portion)
            further = rest(of: message, after: portion, at: .none)
        case .none, .property, .header, .nonce, .predecessor: return [whole]
        }
        return [response(to: requestID, method: method, failure: failure, for: reader, version: version)] + further
    }
}
