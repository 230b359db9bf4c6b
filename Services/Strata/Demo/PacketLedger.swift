// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient

/// Keeps account of what one client is sent, over all of its connections, and of every promise that is broken: counters 0, 1, 2, … on each
/// connection; the changes of a conversation in order of position, none twice, between one replay and the next. What a replay brings again is no fault.
///
/// A replay may show a conversation as it is now, in the place of its creation: what lies between and is contained in that need not come any more.
package struct PacketLedger: Sendable {
    /// What is to be thought of a packet.
    package enum Verdict: Sendable, Equatable {
        /// Never seen before.
        case new
        /// Known, and sent again by a replay.
        case again
        /// Against the rules.
        case fault
    }

    /// Every broken promise, in words.
    package private(set) var faults: [String] = []
    /// Packets of all connections.
    package private(set) var received = 0
    /// Those that were known already.
    package private(set) var repeated = 0
    /// Where to replay from: the time of the last packet that came in its turn.
    package private(set) var lastTimestamp: String?
    /// The positions seen, of each conversation.
    package private(set) var positions: [String: Set<Int>] = [:]

    /// Up to where what a conversation was shown with contains its metadata and participants.
    private var shown: [String: Int] = [:]
    private var nextCounter = 0
    private var known: Set<String> = []
    /// Since the last replay began.
    private var knownNow: Set<String> = []
    private var lastPosition: [String: Int] = [:]

    package init() {}

    /// A connection is open; nothing has come over it.
    package mutating func connectionOpened() {
        nextCounter = 0
        beginAnew()
    }

    /// Takes in the next packet of the connection.
    package mutating func note(_ packet: ReceivedPacket) -> Verdict {
        received += 1
        let isInTurn = packet.counter == nextCounter
        if !isInTurn { faults.append("counter \(packet.counter.map(String.init) ?? "none") where \(nextCounter) was due") }
        nextCounter = (packet.counter ?? nextCounter) + 1
        if isInTurn, let timestamp = packet.timestamp { lastTimestamp = timestamp }
        // A replay that failed half-way is asked for again, and begins again.
        if packet.type == "response", packet.body["method"].string == "Event.replay", packet.body["success"].bool != true { beginAnew() }
        if packet.isChange("delete", of: "Conversation"), let conversation = packet.objectID { forget(conversation) }
        guard let position = packet.body["position"].int, let conversation = packet.conversationID else { return isInTurn ? .new : .fault }
        return note(packet, conversation: conversation, position: position)
    }

    private mutating func beginAnew() {
        knownNow = []
        lastPosition = [:]
    }

    /// The client has removed all it had of the conversation; should it come back, all of it is new.
    private mutating func forget(_ conversation: String) {
        lastPosition[conversation] = nil
        knownNow = knownNow.filter { !$0.hasPrefix(conversation + "|") }
    }

    private mutating func note(_ packet: ReceivedPacket, conversation: String, position: Int) -> Verdict {
        positions[conversation, default: []].insert(position)
        if packet.isChange("create", of: "Conversation"), let until = packet.data["position"].int {
            shown[conversation] = max(shown[conversation] ?? 0, until)
        }
        let key = Self.key(of: packet, conversation: conversation, position: position)
        let isNew = known.insert(key).inserted
        let last = lastPosition[conversation] ?? 0
        lastPosition[conversation] = max(last, position)
        guard position >= last else {
            faults.append("position \(position) of \(conversation) after position \(last)")
            return .fault
        }
        guard knownNow.insert(key).inserted else {
            faults.append("position \(position) of \(conversation) came twice: \(packet.operation ?? packet.type) \(packet.objectType ?? "")")
            return .fault
        }
        if !isNew { repeated += 1 }
        return isNew ? .new : .again
    }

    /// What tells two packets of one position apart: a message, say, and the update of its conversation.
    private static func key(of packet: ReceivedPacket, conversation: String, position: Int) -> String {
        let properties = (packet.data.array ?? []).map { "\($0["operation"].string ?? "") \($0["property"].string ?? "")" }
        return
            ([conversation, "\(position)", packet.type, packet.operation ?? "", packet.objectType ?? "", packet.objectID ?? ""] + properties)
            .joined(separator: "|")
    }

    /// The positions between 1 and `head` that never came, and are not contained in what came.
    package func missing(of conversation: String, upTo head: Int) -> [Int] {
        let first = (shown[conversation] ?? 0) + 1
        guard head >= first else { return [] }
        let seen = positions[conversation] ?? []
        return (first...head).filter { !seen.contains($0) }
    }

    /// Notes what the connection itself found wrong.
    package mutating func addFaults(_ more: [String]) { faults += more }
}

extension ReceivedPacket {
    /// The conversation a change or an operation is about.
    package var conversationID: String? {
        if objectType == "Conversation" { return objectID }
        return body["conversation"]["id"].string ?? data["conversation"]["id"].string
    }
}
