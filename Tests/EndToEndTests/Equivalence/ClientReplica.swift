// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// The client-side state of one user. It is built from objects loaded over REST and then changed by packets only, as in
/// a stock client library (docs/conformance.md §12.4, §12.5, §14).
///
/// Objects refer to each other by id, because the libraries share them. Participants and senders are keys of
/// `identities`. A conversation's `last_message` is a key of `messages`.
///
/// Intended deviations from a stock client:
/// - An identity embedded in another object adds an unknown identity. Only Identity packets change a known one.
/// - Presence is not kept.
/// - Answers to own requests add unknown objects and never change known ones. (A stock client merges them. Both give
///   the same result, because an answer comes before the change that its request caused.)
/// - An operation that cannot be applied is an error only in a change that is newer than the client's state. A replay
///   may repeat older changes.
struct ClientReplica: Sendable {
    /// Data that packets do not carry, so that a client must load it.
    enum Need: Hashable, Sendable {
        /// An unknown conversation that was updated.
        case conversation(String)
        /// The messages of a conversation that the user joined after others had written. Earlier messages are not sent
        /// as packets.
        case messages(of: String)
    }

    /// The id of the user's identity.
    let identity: String
    var conversations: [String: JSONValue] = [:]
    var messages: [String: JSONValue] = [:]
    var identities: [String: JSONValue] = [:]
    var announcements: [String: JSONValue] = [:]
    /// The latest position of each conversation, from packets and objects.
    var positions: [String: Int] = [:]
    /// Protocol violations seen so far, as text.
    var faults: [String] = []

    init(identity: String) { self.identity = identity }

    // MARK: Adding objects

    mutating func take(conversation: JSONValue) {
        guard let id = conversation["id"].string else {
            return faults.append("a conversation without an id: \(conversation)")
        }
        var held = conversation
        for participant in conversation["participants"].array ?? [] { take(embedded: participant) }
        held["participants"] = .array((conversation["participants"].array ?? []).map { $0["id"] })
        if conversation["last_message"].object != nil {
            take(message: conversation["last_message"])
            held["last_message"] = conversation["last_message"]["id"]
        }
        conversations[id] = held
        reached(conversation["position"].int, in: id)
    }

    mutating func take(message: JSONValue) {
        guard let id = message["id"].string else { return faults.append("a message without an id: \(message)") }
        var held = message
        held["notification"] = nil
        take(embedded: message["sender"])
        // A sender that is not a user has a name only, and is kept within the message.
        if message["sender"]["id"] != .null { held["sender"] = message["sender"]["id"] }
        messages[id] = held
    }

    private mutating func take(embedded identity: JSONValue) {
        guard let id = identity["id"].string, identities[id] == nil else { return }
        identities[id] = identity
    }

    mutating func replaceMessages(of conversation: String, by list: [JSONValue]) {
        forgetMessages(of: conversation)
        for message in list { take(message: message) }
    }

    mutating func forgetMessages(of conversation: String, upTo position: Int = .max) {
        messages = messages.filter {
            $0.value["conversation"]["id"].string != conversation || ($0.value["position"].int ?? 0) > position
        }
    }

    mutating func reached(_ position: Int?, in conversation: String) {
        if let position { positions[conversation] = max(positions[conversation] ?? 0, position) }
    }

    func isParticipant(in conversation: String) -> Bool {
        conversations[conversation]?["participants"].array?.contains(.string(identity)) ?? false
    }
}
