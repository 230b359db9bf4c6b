// SPDX-License-Identifier: Apache-2.0
import NIOCore
public import StrataModel

/// Packets that would be too large for a frame, in several. What is told in one packet otherwise is begun with as much as there is room for, and further
/// packets bring the rest, by operations that can be repeated.
extension Renderer {
    /// No frame is larger: a client may refuse larger ones, and one that does would connect again for ever. Measured as it is written, text with its escapes.
    public static let frameBytes = 4 << 20
    /// What a packet may have beside its text: its head, what is written into gaps, and the ends of arrays and objects.
    static let frameReserve = 4096
    /// What there may be around a message in a packet: the object, the position, other operations.
    static let messageReserve = 1024

    /// What of a conversation is told at first, and what later.
    struct ConversationPortion {
        var view: ConversationView
        fileprivate var participants: [BasicIdentity] = []
        fileprivate var leaves: [MetadataLeaf] = []
        /// Of the last message not all parts are there.
        fileprivate var message: Message?
    }

    private func bytes(_ body: (inout JSONWriter) -> Void) -> Int {
        var writer = JSONWriter()
        body(&writer)
        return writer.count
    }

    // MARK: Conversations

    /// A conversation without its metadata; if it is too large all the same, with some of the participants, of whom the reader is one, and with some parts
    /// of the last message.
    /// - Parameter place: of the packet with the portion, and of those with the rest.
    func portion(
        of view: ConversationView, for reader: UserID?, version: WireVersion, at place: PacketBuilder.Place
    ) -> ConversationPortion {
        var portion = ConversationPortion(view: view)
        // A client skips what is told of a conversation with an earlier position than it shows, and positions on a socket never go back: so it shows that of
        // the change, although it may contain later ones. They are not told, and to be told them once more does no harm.
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

    /// What is not in the portion.
    func rest(of portion: ConversationPortion, at place: PacketBuilder.Place) -> [PacketTail] {
        let conversation = portion.view.conversation
        var tails: [PacketTail] = []
        if !portion.participants.isEmpty || !portion.leaves.isEmpty {
            var packets = UpdatePackets(renderer: self, for: .conversation(conversation.id), at: place)
            for identity in portion.participants { packets.addOperation { addParticipant(identity, in: &$0) } }
            for leaf in portion.leaves {
                packets.addOperation { writeMetadataOperation(MetadataEffect(path: leaf.path, value: leaf.value), into: &$0.writer) }
            }
            tails = packets.finish()
        }
        if let message = portion.message, let first = portion.view.lastMessage { tails += rest(of: message, after: first, at: place) }
        return tails
    }

    // MARK: Messages

    /// The message with as many of its parts as there is room for; nil if there is room for all. 2.0 clients can be told no part alone, so to them a message
    /// is always told whole.
    func portion(of message: Message, version: WireVersion, room: Int? = nil) -> Message? {
        guard version == .v3 else { return nil }
        // Most messages are far from it.
        let most = message.parts.reduce(0) { $0 + 6 * (($1.body?.utf8.count ?? 0) + $1.mimeType.utf8.count) + Self.messageReserve * 4 }
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

    /// The parts that are not in the portion.
    func rest(of message: Message, after portion: Message, at place: PacketBuilder.Place) -> [PacketTail] {
        var packets = UpdatePackets(renderer: self, for: .message(message.id, in: message.conversationID), at: place)
        for index in portion.parts.count..<message.parts.count { packets.addOperation { addPart(at: index, of: message, in: &$0) } }
        packets.addOperation { setTime("updated_at", to: message.updatedAt, in: &$0) }
        return packets.finish()
    }

    // MARK: Responses

    /// The answer to a request that was carried out, and has made or found a message. Packets behind it say what one has no room for. They have no position,
    /// since an answer has none.
    public func responses(
        to requestID: String, method: String, message: Message, for reader: UserID, version: WireVersion
    ) -> [PacketTail] {
        let whole = response(to: requestID, method: method) { writeMessage(message, for: reader, version: version, into: &$0) }
        guard whole.text.readableBytes > packetBytes, let portion = portion(of: message, version: version) else { return [whole] }
        return [response(to: requestID, method: method) { writeMessage(portion, for: reader, version: version, into: &$0) }]
            + rest(of: message, after: portion, at: .none)
    }

    /// The same for a conversation.
    public func responses(
        to requestID: String, method: String, view: ConversationView, for reader: UserID, version: WireVersion
    ) -> [PacketTail] {
        let whole = response(to: requestID, method: method) { writeConversation(view, for: reader, version: version, into: &$0) }
        guard whole.text.readableBytes > packetBytes else { return [whole] }
        let portion = portion(of: view, for: reader, version: version, at: .none)
        return [response(to: requestID, method: method) { writeConversation(portion.view, for: reader, version: version, into: &$0) }]
            + rest(of: portion, at: .none)
    }

    /// The same for the statuses of users: those for which there is no room follow as changes.
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

    /// The answer to a request that was refused, with the object that is in the way, if there is one.
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
