// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The received packets and waiting callers of a ``ProtocolSocket``, which protects this state with a lock and performs
/// its actions.
struct SocketInbox {
    typealias Matcher = @Sendable (ReceivedPacket) -> Bool

    enum Waiter {
        case response(requestID: String, CheckedContinuation<ReceivedPacket, any Error>)
        case match(Matcher, CheckedContinuation<ReceivedPacket, any Error>)
        case close(CheckedContinuation<SocketClosure, any Error>)

        func fail(_ error: any Error) {
            switch self {
            case .response(_, let continuation), .match(_, let continuation): continuation.resume(throwing: error)
            case .close(let continuation): continuation.resume(throwing: error)
            }
        }
    }

    /// The maximum number of packets kept; the oldest are removed first. Nil: no history is kept, and packets stay
    /// until they are taken.
    private let historyLimit: Int?
    private(set) var history: [ReceivedPacket] = []
    /// The first protocol violations, at most ``violationLimit``.
    private(set) var violations: [String] = []
    /// The maximum number of violations, because a faulty server can violate the protocol with each packet.
    static let violationLimit = 1000
    private(set) var closure: SocketClosure?
    private(set) var received = 0
    /// The untaken packets, oldest first.
    private var untaken: [ReceivedPacket] = []
    private var waiters: [(id: UInt64, waiter: Waiter)] = []
    private var observers: [UInt64: AsyncStream<ReceivedPacket>.Continuation] = [:]
    private var lastTimestamp: Date?
    /// The number of requested replays whose first old packet has not arrived yet.
    private var replays = 0

    init(historyLimit: Int?) { self.historyLimit = historyLimit.map { max(1, $0) } }

    /// Adds a received text frame.
    /// - Returns: the waiter to resume with the packet, if any, and the observers of all packets.
    mutating func packetReceived(
        _ text: String, at time: ContinuousClock.Instant
    ) -> (taker: Waiter?, packet: ReceivedPacket, observers: Observers) {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: text)
        } catch {
            record("packet \(received) is not JSON")
            json = .null
        }
        let packet = ReceivedPacket(index: received, receivedAt: time, json: json)
        received += 1
        // A client without a history has its own rules for packets that are out of order.
        if historyLimit != nil {
            checkOrder(of: packet)
            history.append(packet)
        }
        trim(&history)
        let taker = takeWaiter(for: packet)
        if taker == nil {
            untaken.append(packet)
            trim(&untaken)
        }
        return (taker, packet, Array(observers.values))
    }

    /// Removes the older half of the packets if they exceed the limit. Removing one at a time would move all others
    /// each time.
    private func trim(_ packets: inout [ReceivedPacket]) {
        guard let historyLimit, packets.count > historyLimit else { return }
        packets.removeFirst(max(1, historyLimit / 2))
    }

    var untakenCount: Int { untaken.count }

    mutating func takeUntaken(_ limit: Int) -> [ReceivedPacket] {
        guard untaken.count > limit else {
            defer { untaken = [] }
            return untaken
        }
        defer { untaken.removeFirst(limit) }
        return Array(untaken.prefix(limit))
    }

    typealias Observers = [AsyncStream<ReceivedPacket>.Continuation]

    private mutating func takeWaiter(for packet: ReceivedPacket) -> Waiter? {
        let index = waiters.firstIndex { entry in
            switch entry.waiter {
            case .response(let requestID, _): packet.type == "response" && packet.requestID == requestID
            case .match(let matches, _): matches(packet)
            case .close: false
            }
        }
        return index.map { waiters.remove(at: $0).waiter }
    }

    /// Checks the rules of docs/conformance.md §12.2: counters 0, 1, 2, …; timestamps present, readable, never
    /// decreasing.
    private mutating func checkOrder(of packet: ReceivedPacket) {
        if packet.counter != packet.index {
            record("packet \(packet.index) has the counter \(packet.counter.map(String.init) ?? "none")")
        }
        guard let text = packet.timestamp, let time = Self.date(text) else {
            record("packet \(packet.index) has no readable timestamp")
            return
        }
        if let lastTimestamp, time < lastTimestamp {
            if replays > 0 { replays -= 1 } else { record("packet \(packet.index) goes back in time to \(text)") }
        }
        lastTimestamp = time
    }

    private mutating func record(_ violation: String) {
        if violations.count < Self.violationLimit { violations.append(violation) }
    }

    /// Allows one decrease of the timestamps, because a replay was requested.
    mutating func replayRequested() { replays += 1 }

    /// Records a violation, because servers send only text.
    mutating func binaryReceived() { record("a binary frame after packet \(received)") }

    static func date(_ text: String) -> Date? {
        if let date = try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)) {
            return date
        }
        return try? Date(text, strategy: Date.ISO8601FormatStyle())
    }

    enum Admission {
        /// The requested packet has already arrived.
        case packet(ReceivedPacket)
        case closure(SocketClosure)
        /// The requested packet will not arrive, because the socket has ended.
        case closed
        case waiting
    }

    mutating func addWaiter(_ waiter: Waiter, id: UInt64) -> Admission {
        switch waiter {
        case .match(let matches, _):
            if let index = untaken.firstIndex(where: matches) { return .packet(untaken.remove(at: index)) }
            if closure != nil { return .closed }
        case .response: if closure != nil { return .closed }
        case .close: if let closure { return .closure(closure) }
        }
        waiters.append((id, waiter))
        return .waiting
    }

    mutating func removeWaiter(_ id: UInt64) -> Waiter? {
        waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0).waiter }
    }

    mutating func discardUntaken() { untaken.removeAll() }

    func pending(_ matches: Matcher) -> [ReceivedPacket] { untaken.filter(matches) }

    mutating func addObserver(id: UInt64, yieldingTo observer: AsyncStream<ReceivedPacket>.Continuation) -> Bool {
        guard closure == nil else { return false }
        observers[id] = observer
        return true
    }

    mutating func removeObserver(_ id: UInt64) { observers[id] = nil }

    /// Records the end of the socket. Returns nil if it was already recorded.
    mutating func closed(_ closure: SocketClosure) -> (waiters: [Waiter], observers: Observers)? {
        guard self.closure == nil else { return nil }
        self.closure = closure
        defer {
            waiters = []
            observers = [:]
        }
        return (waiters.map(\.waiter), Array(observers.values))
    }
}

extension SocketInbox.Waiter {
    func succeed(_ packet: ReceivedPacket) {
        switch self {
        case .response(_, let continuation), .match(_, let continuation): continuation.resume(returning: packet)
        case .close(let continuation): continuation.resume(throwing: CancellationError())
        }
    }

    func succeed(_ closure: SocketClosure) {
        switch self {
        case .response(_, let continuation), .match(_, let continuation):
            continuation.resume(throwing: CancellationError())
        case .close(let continuation): continuation.resume(returning: closure)
        }
    }
}
