// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// What the client of one user holds: built from what it loaded over REST, then changed by packets only, as a stock client library does
/// (docs/conformance.md §12.4, §12.5, §14).
///
/// Objects refer to each other by id, as they do in the libraries, where they are shared: participants and senders are names of `identities`, a
/// conversation's `last_message` is the name of one of `messages`.
///
/// Where it is not quite a stock client, on purpose:
/// - Identities embedded in other objects make themselves known, but change one that is known by Identity packets only.
/// - Presence is not kept.
/// - Answers to its own requests make objects known that were not; they never change one. (A stock client merges them; that they come before the
///   change they caused is what makes both the same.)
/// - An operation that cannot be applied is an error only in a change that is newer than what is held; a replay may bring back older ones.
struct ClientReplica: Sendable {
    /// What the packets alone cannot tell, so that a client loads it.
    enum Need: Hashable, Sendable {
        /// An update of a conversation that is not known.
        case conversation(String)
        /// The user came to the conversation after others had written: earlier messages are not sent as packets.
        case messages(of: String)
    }

    /// Of the user.
    let identity: String
    var conversations: [String: JSONValue] = [:]
    var messages: [String: JSONValue] = [:]
    var identities: [String: JSONValue] = [:]
    var announcements: [String: JSONValue] = [:]
    /// The last position that a packet or an object of each conversation told.
    var positions: [String: Int] = [:]
    /// What should not have happened, in words.
    var faults: [String] = []

    init(identity: String) { self.identity = identity }

    // MARK: Taking in objects

    mutating func take(conversation: JSONValue) {
        guard let id = conversation["id"].string else { return faults.append("a conversation without an id: \(conversation)") }
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
        // One that is no user has a name only, and is part of the message.
        if message["sender"]["id"] != .null { held["sender"] = message["sender"]["id"] }
        messages[id] = held
    }

    private mutating func take(embedded identity: JSONValue) {
        guard let id = identity["id"].string, identities[id] == nil else { return }
        identities[id] = identity
    }

    /// The list as it was loaded, in the place of what was held.
    mutating func replaceMessages(of conversation: String, by list: [JSONValue]) {
        forgetMessages(of: conversation)
        for message in list { take(message: message) }
    }

    mutating func forgetMessages(of conversation: String, upTo position: Int = .max) {
        messages = messages.filter { $0.value["conversation"]["id"].string != conversation || ($0.value["position"].int ?? 0) > position }
    }

    mutating func reached(_ position: Int?, in conversation: String) {
        if let position { positions[conversation] = max(positions[conversation] ?? 0, position) }
    }

    /// Whether the user takes part in it, as far as the client knows.
    func isParticipant(in conversation: String) -> Bool {
        conversations[conversation]?["participants"].array?.contains(.string(identity)) ?? false
    }
}
