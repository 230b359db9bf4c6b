// SPDX-License-Identifier: Apache-2.0

/// How large a world is and what goes wrong in it. Drawn from the seed, so that each seed is hard in its own way: faults that hide each other in one
/// meet alone in another.
struct FeedScenario {
    /// What is left undone, to show that the simulation would notice. The fan-out and its registries are the real ones: what surrounds them lies to them.
    enum Sabotage: String, CaseIterable, Sendable {
        /// No log is ever read because of a gap.
        case noRepair
        /// Heads are never compared.
        case noHeads
        /// A socket joins wherever it stands.
        case noAttachRule
        /// What a catch-up has brought is sent again by the fan-out.
        case noSkip
        /// Under pressure a change is left out, and the connection goes on.
        case durablesDropped
        /// Under pressure nothing happens at all.
        case noBound
        /// Packets carry the present time although a catch-up still owes something.
        case noFloor
        /// The same while a gap is open.
        case noGapFloor
        /// Packets carry the present time although heads could not be compared for long.
        case noStampLimit
        /// An entry of a user's own log that comes before a socket has told where the sequence starts is forgotten.
        case earlyEntriesDropped
        /// A catch-up whose place another one has taken goes on with what it had begun.
        case staleCatchUps
        /// A replay is answered before the joins that waited behind it limit the time that may be shown.
        case answerBeforeJoins
        /// A client whose replay has failed may rest on its socket for ever.
        case noReplayPatience
        /// Changes that were read from the log are told with the numbers known before them.
        case staleNumbers
        /// They are told without numbers, and so it stays.
        case noNumbersAfterRepair
        /// A client that only listens is sent packets that carry the present time.
        case noUnaskedStamp
        /// Gateways take the time from their own clocks.
        case wallClock
        /// A catch-up attaches its socket without asking how far the fan-out is, and without reading what has moved.
        case notReadAgain
        /// A conversation that the user has deleted from their devices is not shown when it comes back.
        case notShownAgain
        /// What the channel does not take of a catch-up is never sent.
        case unsentForgotten
        /// A conversation that cannot be shown is not looked at again.
        case setAsideForgotten
        /// The counts that a catch-up changed are not told at its end.
        case noSummaries
        /// A socket joins a conversation that the user has deleted from their devices as if they had not.
        case hiddenForgotten
        /// A message that a block hides from users is told to them all the same.
        case blocksForgotten
    }

    var sabotage: Sabotage?
    /// Nothing that is published is lost, and no call fails: then everything must come without heads, which are never compared.
    var isReliable = false
    /// Messages are read and deleted, and packets carry counts.
    var hasNumbers = true
    /// Of a thousand clients, so many ask for nothing on their first connection, or late.
    var listeners = 0

    var conversations = 4
    var users = 4
    var gateways = 2
    var loopsPerGateway = 2
    var clientsPerUser = 1
    /// Virtual microseconds in which things happen; then it is quiet.
    var duration: Int64 = 120_000_000
    var quiet: Int64 = 90_000_000
    /// Mean time between two of anything users do.
    var pace: Int64 = 120_000
    /// Of a thousand things users do, so many add or remove a user, add to an own log, or are signals; the others are messages.
    var membershipShare = 40
    var ownShare = 60
    var signalShare = 150
    /// The same for deletions of a conversation from a user's devices, and for what brings it back.
    var hideShare = 0
    /// Of a thousand messages, so many are hidden from some of the others by a block.
    var blockShare = 0
    /// Of a thousand looks at conversations, so many find one that cannot be shown.
    var unshowable = 0
    /// Of a thousand publications.
    var lost = 10
    var doubled = 10
    var slow = 20
    /// Mean time between two faults.
    var faultPace: Int64 = 4_000_000
    /// How long a fault lasts at most.
    var longestFault: Int64 = 8_000_000
    /// Of a thousand calls, so many fail on their own.
    var failingCalls = 10
    /// Bytes a socket may have waiting beyond what its channel takes.
    var backlogBound = 12_000
    var channelHighMark = 4000
    var channelLowMark = 2000
    var pageSize = 8
    /// How many logs a catch-up reads together: fewer than there are conversations.
    var logsReadTogether = 2
    /// How many conversations are looked up at a time.
    var viewsTogether = 3
    /// The wall clock of a gateway is off by as much as that, either way.
    var skew: Int64 = 600_000_000
    /// Of a thousand turns of a loop, so many are long.
    var stalls = 1
    /// Of a thousand connections, so many are not read at first, for as long as a fault may last.
    var slowStarts = 0
    /// Which of ``FeedWorld``'s faults there are.
    var faults = 0...7
    /// True if each client keeps the ``PacketLedger`` of the fault tests, whose faults are violations.
    var hasLedgers = false

    /// - Parameters:
    ///   - isPlain: the world that a seed meant before there were counts, and clients that only listen.
    ///   - pressed: a rule that is to count often.
    ///   - isLate: a world in which clients ask late, gateways and clients stand still for seconds, replays fail, and Redis is cut meanwhile.
    init(
        _ simulation: Simulation, sabotage: Sabotage? = nil, isReliable: Bool = false, isPlain: Bool = false, pressed: Sabotage? = nil,
        isLate: Bool = false
    ) {
        self.sabotage = sabotage
        // What is lost is read, and that would make good what these two leave undone.
        self.isReliable = isReliable || pressed == .earlyEntriesDropped || pressed == .staleCatchUps
        hasNumbers = !isPlain
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
            // Of what can go wrong, only what clients do leaves the network reliable.
            faults = 5...7
        }
        if let pressed { press(pressed) }
        if isLate { beLate() }
    }

    private mutating func beLate() {
        hasLedgers = true
        (conversations, users, gateways, clientsPerUser) = (max(2, conversations), max(3, users), 2, 2)
        (listeners, slowStarts, stalls) = (700, 300, 30)
        (pace, duration, lost, failingCalls) = (100_000, 120_000_000, 20, 100)
        (faults, faultPace, longestFault) = (0...8, 1_000_000, 8_000_000)
    }

    /// Some rules count only in states that are rare where anything may happen. Here they are not.
    private mutating func press(_ rule: Sabotage) {
        hideShare = 0
        switch rule {
        case .noAttachRule:
            // Much is said while many join, and loops are slow.
            (conversations, gateways, loopsPerGateway, clientsPerUser) = (1, 1, 1, 6)
            (pace, duration, stalls) = (20_000, 60_000_000, 50)
            (faults, faultPace) = (6...7, 1_000_000)
        case .noGapFloor:
            // Heads are compared, but what they show to be missing cannot be read.
            (conversations, lost, failingCalls) = (max(3, conversations), 50, 0)
            (pace, duration) = (150_000, 200_000_000)
            (faults, faultPace, longestFault) = (6...8, 6_000_000, 100_000_000)
        case .noStampLimit:
            // Much is lost, and heads cannot be compared for long.
            (conversations, lost) = (max(3, conversations), 200)
            (pace, duration) = (150_000, 300_000_000)
            (faults, faultPace, longestFault) = (2...6, 6_000_000, 200_000_000)
        case .answerBeforeJoins:
            // Users come to conversations for the first time while replays wait for clients that do not read.
            (conversations, membershipShare, lost, failingCalls) = (40, 60, 0, 0)
            (pace, duration, pageSize) = (150_000, 300_000_000, 8)
            (faults, faultPace, longestFault, slowStarts) = (5...7, 5_000_000, 100_000_000, 700)
        case .earlyEntriesDropped:
            // Catch-ups wait for clients that do not read, while nothing but entries comes that would be a reason to read on.
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
            // Clients that stay where they are: what could not be shown is in no replay.
            (conversations, membershipShare, unshowable, faultPace, lost, failingCalls) = (5, 80, 300, .max / 4, 0, 0)
            (hideShare, duration) = (20, 200_000_000)
            (backlogBound, channelHighMark, channelLowMark) = (1 << 30, 1 << 29, 1 << 28)
        case .noSummaries, .unsentForgotten:
            (faults, faultPace, slowStarts) = (5...7, 2_000_000, 300)
        default: break
        }
    }
}
