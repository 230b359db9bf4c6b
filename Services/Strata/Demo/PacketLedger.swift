// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient

/// An account of the packets that one client receives over all of its connections, and of the promises they break: counters 0, 1, 2, … on each
/// connection; the changes of a conversation in order of position, none twice, between one replay and the next.
///
/// The order of changes begins anew:
/// - with each connection;
/// - with the answer to a replay that failed, because the client asks for it again;
/// - with the first change that comes again before the first replay is answered, if the server may have sent changes before it read the client's
///   request (``Opening``).
///
/// A replay may show a conversation as it is now instead of its creation. Changes that this view contains need not come any more.
package struct PacketLedger: Sendable {
    /// The verdict on an incoming packet.
    package enum Verdict: Sendable, Equatable {
        /// A packet that has not been seen before.
        case new
        /// A known packet that a replay sends again.
        case again
        /// A packet that breaks a promise.
        case fault
    }

    /// The part of a connection before its first replay. A socket goes live after ``silence`` without a request (docs/protocol.md, First load), and a
    /// replay that is asked for later repeats what the socket was sent until then.
    private enum Opening: Sendable {
        /// No packet has come. The client asked for the connection at this moment.
        case waiting(since: ContinuousClock.Instant)
        /// Changes may have been sent ahead of the replay.
        case mayRepeat
        /// Changes must not come again.
        case settled
    }

    /// The time after which a socket goes live without a request: 2 s (docs/protocol.md).
    private static let silence = Duration.seconds(2)

    /// Descriptions of all broken promises.
    package private(set) var faults: [String] = []
    /// The number of packets of all connections.
    package private(set) var received = 0
    /// The number of packets that were known already.
    package private(set) var repeated = 0
    /// The number of times the order of changes began anew.
    package private(set) var restarts = 0
    /// The time to replay from: that of the last packet with the expected counter.
    package private(set) var lastTimestamp: String?
    /// The positions seen, of each conversation.
    package private(set) var positions: [String: Set<Int>] = [:]

    /// Up to where what a conversation was shown with contains its metadata and participants.
    private var shown: [String: Int] = [:]
    private var nextCounter = 0
    private var known: Set<String> = []
    /// The packets since the order began anew.
    private var knownNow: Set<String> = []
    private var lastPosition: [String: Int] = [:]
    private var opening = Opening.settled

    package init() {}

    /// Begins the account of a connection.
    /// - Parameter handshakeBegan: a moment before the client asked for the connection; nil: the client asks for no replay on it.
    package mutating func connectionOpened(handshakeBegan: ContinuousClock.Instant?) {
        nextCounter = 0
        opening = handshakeBegan.map { .waiting(since: $0) } ?? .settled
        beginAnew()
    }

    /// Adds the next packet of the connection.
    package mutating func note(_ packet: ReceivedPacket) -> Verdict {
        received += 1
        let isInTurn = packet.counter == nextCounter
        if !isInTurn { faults.append("counter \(packet.counter.map(String.init) ?? "none") where \(nextCounter) was due") }
        nextCounter = (packet.counter ?? nextCounter) + 1
        if isInTurn, let timestamp = packet.timestamp { lastTimestamp = timestamp }
        // The server's own timer started later than the handshake. Earlier packets answer a request.
        if case .waiting(let since) = opening { opening = packet.receivedAt - since >= Self.silence ? .mayRepeat : .settled }
        if packet.type == "response" {
            switch packet.body["method"].string {
            case "Event.replay": replayAnswered(packet.body["success"].bool == true)
            // A client that asks for its counter has asked for no replay.
            case "Counter.read": opening = .settled
            default: break
            }
        }
        if packet.isChange("delete", of: "Conversation"), let conversation = packet.objectID { forget(conversation) }
        guard let position = packet.body["position"].int, let conversation = packet.conversationID else { return isInTurn ? .new : .fault }
        return note(packet, conversation: conversation, position: position)
    }

    private mutating func replayAnswered(_ isSuccess: Bool) {
        opening = .settled
        if !isSuccess { beginAnew() }
    }

    private mutating func beginAnew() {
        restarts += 1
        knownNow = []
        lastPosition = [:]
    }

    /// Forgets the order of a conversation that the client has removed. If the conversation comes back, all of it is new.
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
        if case .mayRepeat = opening, position < lastPosition[conversation] ?? 0 || knownNow.contains(key) {
            opening = .settled
            beginAnew()
        }
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

    /// Returns a key that differs for two packets of one position, such as a message and the update of its conversation.
    private static func key(of packet: ReceivedPacket, conversation: String, position: Int) -> String {
        let properties = (packet.data.array ?? []).map { "\($0["operation"].string ?? "") \($0["property"].string ?? "")" }
        return
            ([conversation, "\(position)", packet.type, packet.operation ?? "", packet.objectType ?? "", packet.objectID ?? ""] + properties)
            .joined(separator: "|")
    }

    /// Returns the positions between 1 and `head` that never came and that no shown conversation contains.
    package func missing(of conversation: String, upTo head: Int) -> [Int] {
        let first = (shown[conversation] ?? 0) + 1
        guard head >= first else { return [] }
        let seen = positions[conversation] ?? []
        return (first...head).filter { !seen.contains($0) }
    }

    /// Adds faults that the connection itself found.
    package mutating func addFaults(_ more: [String]) { faults += more }
}

extension ReceivedPacket {
    /// The conversation that a change or an operation concerns.
    package var conversationID: String? {
        if objectType == "Conversation" { return objectID }
        return body["conversation"]["id"].string ?? data["conversation"]["id"].string
    }
}
