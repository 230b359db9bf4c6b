// SPDX-License-Identifier: Apache-2.0

/// A check of the numbered operations of one sender at one receiver: 0, 1, 2, … each arrive once, in order.
struct SequenceCheck: Sendable {
    /// The number after the highest one received.
    private(set) var next = 0
    /// Numbers below ``next`` that did not arrive.
    private var missing: Set<Int> = []
    private(set) var duplicates = 0
    private(set) var reordered = 0

    /// Records the arrival of an operation.
    mutating func receive(_ number: Int) {
        if number >= next {
            for skipped in next..<number { missing.insert(skipped) }
            next = number + 1
        } else if missing.remove(number) != nil {
            reordered += 1
        } else {
            duplicates += 1
        }
    }

    /// Returns the number of operations that did not arrive.
    /// - Parameter sent: The number of operations sent.
    func lost(of sent: Int) -> Int { missing.count + max(0, sent - next) }
}

/// The deliveries of one conversation to one receiver.
///
/// Each sender's operations must arrive once and, if the sender sends one after another, in order. The positions of the
/// conversation must increase. The counts cover all senders.
struct DeliveryLedger: Sendable {
    /// The checks by the sender's number in the conversation.
    private var checks: [SequenceCheck]
    private let isOrdered: Bool
    private var lastPosition: Int64 = 0
    private var misplaced = 0
    /// Deliveries of senders that do not exist.
    private var foreign = 0

    /// - Parameters:
    ///   - senders: The number of senders in the conversation.
    ///   - isOrdered: False if a sender's operations may overtake each other, as requests over REST may.
    init(senders: Int, isOrdered: Bool = true) {
        checks = Array(repeating: SequenceCheck(), count: senders)
        self.isOrdered = isOrdered
    }

    /// Records a delivery.
    /// - Parameters:
    ///   - sender: The sender's number in the conversation.
    ///   - number: The operation's number at its sender.
    ///   - position: The position in the conversation; nil if the packet has none.
    mutating func receive(sender: Int, number: Int, position: Int64? = nil) {
        guard checks.indices.contains(sender) else {
            foreign += 1
            return
        }
        checks[sender].receive(number)
        if let position {
            if position <= lastPosition { misplaced += 1 }
            lastPosition = max(lastPosition, position)
        }
    }

    /// Returns the number expected next from a sender.
    func next(from sender: Int) -> Int { checks.indices.contains(sender) ? checks[sender].next : 0 }

    /// Returns the result.
    /// - Parameter sent: The number of operations by sender. Operations that a sender does not receive itself are 0.
    func counts(sent: [Int]) -> DeliveryCounts {
        zip(checks, sent)
            .reduce(into: DeliveryCounts(reordered: misplaced, foreign: foreign)) { counts, pair in
                let lost = pair.0.lost(of: pair.1)
                counts.expected += pair.1
                counts.delivered += pair.1 - lost
                counts.lost += lost
                counts.duplicated += pair.0.duplicates
                if isOrdered { counts.reordered += pair.0.reordered }
            }
    }
}

/// The result of all ledgers of a measurement.
struct DeliveryCounts: Codable, Equatable, Sendable {
    var expected = 0
    var delivered = 0
    var lost = 0
    var duplicated = 0
    /// Deliveries behind a later one of the same sender, or with a position that is not higher than the last one.
    var reordered = 0
    /// Deliveries that belong to no sender of the conversation.
    var foreign = 0

    static func += (left: inout Self, right: Self) {
        left.expected += right.expected
        left.delivered += right.delivered
        left.lost += right.lost
        left.duplicated += right.duplicated
        left.reordered += right.reordered
        left.foreign += right.foreign
    }

    /// The failed check; nil if everything arrived once and in order.
    var problem: String? {
        guard lost + duplicated + reordered + foreign > 0 else { return nil }
        return "of \(expected) deliveries \(lost) were lost, \(duplicated) duplicated, \(reordered) reordered, "
            + "\(foreign) foreign"
    }
}
