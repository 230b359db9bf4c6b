// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient

/// A record of the packets that one client receives over all of its connections, and of the promises they break.
///
/// The checked promises are:
/// - Packets on each connection have the counters 0, 1, 2, …
/// - Between two replays, the changes of a conversation arrive in the order of their positions, each at most once.
///
/// The order of changes restarts:
/// - with each connection;
/// - with the answer to a failed replay, because the client requests it again;
/// - with the first repeated change before the answer to the first replay, if the server may have sent changes before
///   it read the client's request (``Opening``).
///
/// A replay may show the current state of a conversation instead of its creation. Changes that this state contains need
/// not arrive any more.
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

    /// The phase of a connection before its first replay. A socket goes live after ``silence`` without a request
    /// (docs/protocol.md, First load). A later replay repeats the packets that the socket was sent until then.
    private enum Opening: Sendable {
        /// No packet has arrived. The client started the handshake at this moment.
        case waiting(since: ContinuousClock.Instant)
        /// Changes may have been sent before the replay.
        case mayRepeat
        /// Changes must not be repeated.
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
    /// The number of times the order of changes restarted.
    package private(set) var restarts = 0
    /// The timestamp for the next replay: that of the last packet with the expected counter.
    package private(set) var lastTimestamp: String?
    /// The positions seen, of each conversation.
    package private(set) var positions: [String: Set<Int>] = [:]

    /// The position of each conversation up to which its last full representation contains metadata and participants.
    private var shown: [String: Int] = [:]
    private var nextCounter = 0
    private var known: Set<String> = []
    /// The packets since the order restarted.
    private var knownNow: Set<String> = []
    private var lastPosition: [String: Int] = [:]
    private var opening = Opening.settled

    package init() {}

    /// Begins the record of a connection.
    /// - Parameter handshakeBegan: A moment before the start of the handshake. nil: the client requests no replay on
    ///   this connection.
    package mutating func connectionOpened(handshakeBegan: ContinuousClock.Instant?) {
        nextCounter = 0
        opening = handshakeBegan.map { .waiting(since: $0) } ?? .settled
        beginAnew()
    }

    /// Adds the next packet of the connection and returns the verdict.
    package mutating func note(_ packet: ReceivedPacket) -> Verdict {
        received += 1
        let isInTurn = packet.counter == nextCounter
        if !isInTurn {
            faults.append("counter \(packet.counter.map(String.init) ?? "none") where \(nextCounter) was due")
        }
        nextCounter = (packet.counter ?? nextCounter) + 1
        if isInTurn, let timestamp = packet.timestamp { lastTimestamp = timestamp }
        // The server's own timer started after the handshake began. Packets before this timeout answer a request.
        if case .waiting(let since) = opening {
            opening = packet.receivedAt - since >= Self.silence ? .mayRepeat : .settled
        }
        if packet.type == "response" {
            switch packet.body["method"].string {
            case "Event.replay": replayAnswered(packet.body["success"].bool == true)
            // A client that reads its counter first has not requested a replay.
            case "Counter.read": opening = .settled
            default: break
            }
        }
        if packet.isChange("delete", of: "Conversation"), let conversation = packet.objectID { forget(conversation) }
        guard let position = packet.body["position"].int, let conversation = packet.conversationID else {
            return isInTurn ? .new : .fault
        }
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

    /// Removes the order of a conversation that the client has removed. If the conversation returns, all of its changes
    /// count as new.
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
            faults.append(
                "position \(position) of \(conversation) came twice: "
                    + "\(packet.operation ?? packet.type) \(packet.objectType ?? "")"
            )
            return .fault
        }
        if !isNew { repeated += 1 }
        return isNew ? .new : .again
    }

    /// Returns a key that distinguishes packets with the same position, such as a message and the update of its
    /// conversation.
    private static func key(of packet: ReceivedPacket, conversation: String, position: Int) -> String {
        let properties = (packet.data.array ?? [])
            .map { "\($0["operation"].string ?? "") \($0["property"].string ?? "")" }
        return
            ([
                conversation, "\(position)", packet.type, packet.operation ?? "", packet.objectType ?? "",
                packet.objectID ?? "",
            ] + properties)
            .joined(separator: "|")
    }

    /// Returns the positions between 1 and `head` that never came and that no shown conversation contains.
    package func missing(of conversation: String, upTo head: Int) -> [Int] {
        let first = (shown[conversation] ?? 0) + 1
        guard head >= first else { return [] }
        let seen = positions[conversation] ?? []
        return (first...head).filter { !seen.contains($0) }
    }

    /// Adds faults that the connection itself detected.
    package mutating func addFaults(_ more: [String]) { faults += more }
}

extension ReceivedPacket {
    /// The id of the conversation that a change or an operation concerns.
    package var conversationID: String? {
        if objectType == "Conversation" { return objectID }
        return body["conversation"]["id"].string ?? data["conversation"]["id"].string
    }
}
