// SPDX-License-Identifier: Apache-2.0

/// The size and the faults of a world. They are drawn from the seed, so that each seed is difficult in a different way:
/// faults that mask each other in one world occur alone in another.
struct FeedScenario {
    /// A rule that is left out, to show that the simulation detects it. The fan-out and its registries are the real
    /// ones; their environment misleads them.
    enum Sabotage: String, CaseIterable, Sendable {
        /// Logs are never read because of a gap.
        case noRepair
        /// Heads are never compared.
        case noHeads
        /// A socket joins at any position.
        case noAttachRule
        /// The fan-out repeats what a catch-up has already sent.
        case noSkip
        /// Under pressure a change is dropped, and the connection continues.
        case durablesDropped
        /// The backlog has no limit.
        case noBound
        /// Packets carry the current time although a catch-up is incomplete.
        case noFloor
        /// Packets carry the current time while a gap is open.
        case noGapFloor
        /// Packets carry the current time although heads could not be compared for a long time.
        case noStampLimit
        /// An entry of a user's own log is dropped if it arrives before a socket has reported the start of the
        /// sequence.
        case earlyEntriesDropped
        /// A catch-up that has been superseded continues.
        case staleCatchUps
        /// A replay is answered before the pending joins limit the time that packets may carry.
        case answerBeforeJoins
        /// A client whose replay failed may stay on its socket indefinitely.
        case noReplayPatience
        /// Changes that were read from the log are sent with the counts known before them.
        case staleNumbers
        /// Changes that were read from the log are sent without counts, and the counts never follow.
        case noNumbersAfterRepair
        /// A client that only listens receives packets that carry the current time.
        case noUnaskedStamp
        /// Gateways take the time from their own clocks.
        case wallClock
        /// A catch-up attaches its socket without checking the position of the fan-out, and without reading the changes
        /// since.
        case notReadAgain
        /// A conversation that the user deleted from their devices is not shown when it is restored.
        case notShownAgain
        /// Packets of a catch-up that the channel does not accept are never sent.
        case unsentForgotten
        /// A conversation that cannot be shown is not retried.
        case setAsideForgotten
        /// The counts that a catch-up changed are not sent at its end.
        case noSummaries
        /// A socket joins a conversation that the user deleted from their devices, as if it were not deleted.
        case hiddenForgotten
        /// A message that a block hides from users is sent to them.
        case blocksForgotten
    }

    var sabotage: Sabotage?
    /// True if no publication is lost and no call fails. Everything must then arrive without the comparison of heads,
    /// which is disabled.
    var isReliable = false
    /// True if messages are read and deleted, and packets carry counts.
    var hasCounts = true
    /// The number of clients, per thousand, that request nothing on their first connection, or late.
    var listeners = 0

    var conversations = 4
    var users = 4
    var gateways = 2
    var loopsPerGateway = 2
    var clientsPerUser = 1
    /// The duration of the active phase, in virtual microseconds. A quiet phase follows.
    var duration: Int64 = 120_000_000
    var quiet: Int64 = 90_000_000
    /// The mean time between two actions of users.
    var pace: Int64 = 120_000
    /// The shares of user actions, per thousand: adding or removing a user, an entry in an own log, a signal. The
    /// remaining actions are messages.
    var membershipShare = 40
    var ownShare = 60
    var signalShare = 150
    /// The share of user actions, per thousand, that delete a conversation from a user's devices or restore it.
    var hideShare = 0
    /// The number of messages, per thousand, that a block hides from some of the other users.
    var blockShare = 0
    /// The number of lookups of conversations, per thousand, that find one that cannot be shown.
    var unshowable = 0
    /// The shares of publications, per thousand: lost, doubled, slow.
    var lost = 10
    var doubled = 10
    var slow = 20
    /// The mean time between two faults.
    var faultPace: Int64 = 4_000_000
    var longestFault: Int64 = 8_000_000
    /// The number of calls, per thousand, that fail independently of other faults.
    var failingCalls = 10
    /// The maximum backlog of a socket beyond its channel's buffer, in bytes.
    var backlogBound = 12_000
    var channelHighMark = 4000
    var channelLowMark = 2000
    var pageSize = 8
    /// The number of logs that a catch-up reads together. Less than the number of conversations.
    var logsReadTogether = 2
    /// The number of conversations that are looked up together.
    var viewsTogether = 3
    /// The maximum deviation of a gateway's wall clock in either direction, in microseconds.
    var skew: Int64 = 600_000_000
    /// The number of long turns of a loop, per thousand.
    var stalls = 1
    /// The number of connections, per thousand, that are not read at first, for up to the maximum duration of a fault.
    var slowStarts = 0
    /// The faults of ``FeedWorld`` that can occur.
    var faults = 0...7
    /// True if each client keeps the ``PacketLedger`` of the fault tests, whose faults are violations.
    var hasLedgers = false

    /// - Parameters:
    ///   - isPlain: true for the world that a seed produced before counts and listening clients were introduced.
    ///   - focused: a rule that should matter often.
    ///   - isLate: true for a world in which clients request late, gateways and clients pause for seconds, replays
    ///     fail, and Redis is cut at the same time.
    init(
        _ simulation: Simulation, sabotage: Sabotage? = nil, isReliable: Bool = false, isPlain: Bool = false,
        focused: Sabotage? = nil,
        isLate: Bool = false
    ) {
        self.sabotage = sabotage
        // Repairs of lost publications would mask the violation of these two rules.
        self.isReliable = isReliable || focused == .earlyEntriesDropped || focused == .staleCatchUps
        hasCounts = !isPlain
        conversations = simulation.int(1...5)
        users = simulation.int(2...5)
        gateways = simulation.int(1...3)
        loopsPerGateway = simulation.int(1...2)
        clientsPerUser = simulation.int(1...2)
        pace = [20_000, 60_000, 150_000, 400_000, 2_000_000][simulation.int(0...4)]
        duration = min(400_000_000, max(60_000_000, pace * 1000))
        membershipShare = [0, 20, 80][simulation.int(0...2)]
        lost = [0, 5, 50, 200][simulation.int(0...3)]
        doubled = [0, 10, 50][simulation.int(0...2)]
        slow = [0, 20, 100][simulation.int(0...2)]
        faultPace = [2_000_000, 6_000_000, 20_000_000, .max / 4][simulation.int(0...3)]
        longestFault = [2_000_000, 10_000_000, 50_000_000, 200_000_000][simulation.int(0...3)]
        failingCalls = [0, 10, 100][simulation.int(0...2)]
        pageSize = [2, 8, 64][simulation.int(0...2)]
        if !isPlain {
            listeners = [0, 100, 500][simulation.int(0...2)]
            hideShare = [0, 10, 60][simulation.int(0...2)]
            blockShare = [0, 50, 300][simulation.int(0...2)]
        }
        if self.isReliable {
            (lost, failingCalls) = (0, 0)
            faultPace = min(faultPace, 6_000_000)
            // Only faults of clients keep the network reliable.
            faults = 5...7
        }
        if let focused { focus(focused) }
        if isLate { beLate() }
    }

    private mutating func beLate() {
        hasLedgers = true
        (conversations, users, gateways, clientsPerUser) = (max(2, conversations), max(3, users), 2, 2)
        (listeners, slowStarts, stalls) = (700, 300, 30)
        (pace, duration, lost, failingCalls) = (100_000, 120_000_000, 20, 100)
        (faults, faultPace, longestFault) = (0...8, 1_000_000, 8_000_000)
    }

    /// Adjusts the world so that a rule matters often. In a general world, the relevant states are rare.
    private mutating func focus(_ rule: Sabotage) {
        hideShare = 0
        switch rule {
        case .noAttachRule:
            // High traffic while many clients join, and slow loops.
            (conversations, gateways, loopsPerGateway, clientsPerUser) = (1, 1, 1, 6)
            (pace, duration, stalls) = (20_000, 60_000_000, 50)
            (faults, faultPace) = (6...7, 1_000_000)
        case .noGapFloor:
            // Heads are compared, but the missing changes cannot be read.
            (conversations, lost, failingCalls) = (max(3, conversations), 50, 0)
            (pace, duration) = (150_000, 200_000_000)
            (faults, faultPace, longestFault) = (6...8, 6_000_000, 100_000_000)
        case .noStampLimit:
            // Many losses, and heads cannot be compared for a long time.
            (conversations, lost) = (max(3, conversations), 200)
            (pace, duration) = (150_000, 300_000_000)
            (faults, faultPace, longestFault) = (2...6, 6_000_000, 200_000_000)
        case .answerBeforeJoins:
            // Users join conversations for the first time while replays wait for clients that do not read.
            (conversations, membershipShare, lost, failingCalls) = (40, 60, 0, 0)
            (pace, duration, pageSize) = (150_000, 300_000_000, 8)
            (faults, faultPace, longestFault, slowStarts) = (5...7, 5_000_000, 100_000_000, 700)
        case .earlyEntriesDropped:
            // Catch-ups wait for clients that do not read, and only entries of own logs arrive.
            (conversations, users, gateways, clientsPerUser) = (1, 2, 3, 1)
            (membershipShare, ownShare, lost, failingCalls) = (0, 250, 0, 0)
            (pace, duration, pageSize, channelHighMark, channelLowMark) = (4_000_000, 600_000_000, 1000, 500, 250)
            (faults, faultPace, longestFault, slowStarts) = (6...6, 15_000_000, 8_000_000, 1000)
        case .noUnaskedStamp: listeners = 500
        case .notReadAgain:
            (conversations, gateways, loopsPerGateway, clientsPerUser, membershipShare) = (2, 1, 2, 3, 80)
            (pace, duration, stalls) = (20_000, 60_000_000, 50)
            (faults, faultPace) = (6...7, 1_000_000)
        case .blocksForgotten: blockShare = 300
        case .notShownAgain, .hiddenForgotten:
            (hideShare, membershipShare) = (80, 0)
            (pace, duration) = (150_000, 200_000_000)
            (faults, faultPace) = (6...7, 2_000_000)
        case .setAsideForgotten:
            // Clients keep their connections, because a replay does not contain what could not be shown.
            (conversations, membershipShare, unshowable, faultPace, lost, failingCalls) = (5, 80, 300, .max / 4, 0, 0)
            (hideShare, duration) = (20, 200_000_000)
            (backlogBound, channelHighMark, channelLowMark) = (1 << 30, 1 << 29, 1 << 28)
        case .noSummaries, .unsentForgotten:
            (faults, faultPace, slowStarts) = (5...7, 2_000_000, 300)
        default: break
        }
    }
}
