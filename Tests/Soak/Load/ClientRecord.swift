// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import StrataCommand

/// The record of the packets that one client was sent, for the checker. Packets are added in the order of arrival,
/// however long they were queued.
struct ClientRecord {
    private(set) var ledger = PacketLedger()
    private(set) var views: [String: History.View] = [:]
    /// The texts of all messages that the client received.
    private(set) var texts: Set<String> = []
    /// The metadata values that the client received.
    private(set) var values: Set<String> = []
    /// The users who appear to be typing, by conversation.
    private var typists: [String: Set<String>] = [:]
    private let user: String
    private let recorder: Recorder

    init(of user: String, _ recorder: Recorder) {
        self.user = user
        self.recorder = recorder
    }

    // MARK: Connections

    /// Begins the record of a connection.
    /// - Parameter handshakeBegan: A moment before the start of the handshake.
    mutating func connectionOpened(handshakeBegan: ContinuousClock.Instant) {
        ledger.connectionOpened(handshakeBegan: handshakeBegan)
        beginViewsAnew()
    }

    /// Ends all typing indicators. They are not replayed, so a client clears them when the connection closes.
    mutating func connectionClosed() { for id in typists.keys { forgetTypists(in: id) } }

    private mutating func beginViewsAnew() { for id in views.keys { views[id]?.events.append(.restart) } }

    // MARK: Packets

    /// Adds a packet.
    /// - Returns: The conversation whose messages must be loaded, if there is one.
    mutating func note(_ packet: ReceivedPacket) -> String? {
        let restarts = ledger.restarts
        _ = ledger.note(packet)
        if ledger.restarts > restarts { beginViewsAnew() }
        if packet.isTyping() {
            typing(packet)
            return nil
        }
        guard packet.type == "change" || packet.type == "operation", let id = packet.conversationID,
            let position = packet.body["position"].int
        else {
            if packet.isChange("delete", of: "Conversation"), let id = packet.objectID { append(.removed, to: id) }
            return nil
        }
        if packet.isChange("delete", of: "Conversation") || removesUser(packet) { forgetTypists(in: id) }
        if packet.isChange("create", of: "Message"), let text = packet.data["parts"][0]["body"].string {
            texts.insert(text)
        }
        for operation in packet.data.array ?? [] where operation["property"].string?.hasPrefix("metadata") == true {
            if let value = operation["value"].string { values.insert(value) }
        }
        let properties = (packet.data.array ?? [])
            .map { "\($0["operation"].string ?? "") \($0["property"].string ?? "")" }.joined(separator: " ")
        let what =
            "\(packet.operation ?? packet.type) \(packet.objectType ?? "") \(packet.objectID ?? "") \(properties)"
        append(.received(position: position, what: what), to: id)
        views[id]?.mirror.apply(packet.json)
        guard packet.isChange("create", of: "Conversation") else { return nil }
        // For a user who is added right after a change, this packet is the only one with the changed values.
        values.formUnion(strings(in: packet.data["metadata"]))
        append(.shown(position: packet.data["position"].int ?? 0), to: id)
        return id
    }

    /// Adds a load of a conversation's messages up to a position.
    mutating func listed(_ id: String, upTo position: Int) { append(.listed(position: position), to: id) }

    private mutating func append(_ event: History.View.Event, to id: String) {
        let empty = History.View(user: user, conversation: id)
        views[id, default: empty].events.append(event)
    }

    private func strings(in tree: JSONValue) -> [String] {
        if let string = tree.string { return [string] }
        return (tree.object ?? [:]).values.flatMap { strings(in: $0) }
    }

    /// Returns true if a packet removes the user from the conversation.
    private func removesUser(_ packet: ReceivedPacket) -> Bool {
        (packet.data.array ?? [])
            .contains { $0["operation"].string == "remove" && $0["id"].string == "layer:///identities/\(user)" }
    }

    // MARK: Typing

    private mutating func typing(_ packet: ReceivedPacket) {
        guard let typist = packet.data["sender"]["user_id"].string, let id = packet.objectID,
            let action = packet.data["action"].string
        else {
            return
        }
        note(action, of: typist, in: id)
    }

    private mutating func note(_ action: String, of typist: String, in id: String) {
        if action == "finished" { typists[id]?.remove(typist) } else { typists[id, default: []].insert(typist) }
        recorder.add(
            History.Typing(reader: user, typist: typist, conversation: id, action: action, seconds: recorder.seconds))
    }

    private mutating func forgetTypists(in id: String) {
        for typist in typists[id] ?? [] { note("finished", of: typist, in: id) }
    }
}
