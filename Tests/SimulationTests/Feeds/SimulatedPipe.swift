// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The channel and the network between a socket and its client: bytes in order, with two water marks, read only if the client reads.
final class SimulatedPipe {
    /// What a packet says, as far as a client checks it.
    enum Content {
        case change(Int, Position, LogService.Counts?)
        /// The conversation as of `view`, because of the change at `position` or, after a look at it, of none.
        case shown(Int, view: Position, at: Position, LogService.Counts?)
        /// Counts alone, as they are after the change.
        case numbers(Int, at: Position, LogService.Counts)
        case own(Position)
        /// The user has deleted a conversation from their devices, and it is gone from them.
        case ownHidden(Position, Int)
        /// The conversation is back, as of `view`.
        case ownShown(Position, Int, view: Position, LogService.Counts?)
        case signal
        case other
        case replayAnswered(succeeded: Bool)
        /// Not a packet: from here on everything comes from where a replay starts.
        case replayBegins
        case close

        /// True if it tells of something that happens in a conversation.
        var isLive: Bool {
            switch self {
            case .change, .shown, .numbers, .signal: true
            case .own, .ownHidden, .ownShown, .other, .replayAnswered, .replayBegins, .close: false
            }
        }

        var bytes: Int {
            switch self {
            case .change: 400
            case .shown, .ownShown: 900
            case .own, .ownHidden, .numbers: 300
            case .signal, .other, .replayAnswered: 150
            case .replayBegins, .close: 0
            }
        }
    }

    struct Packet {
        let content: Content
        let counter: Int64
        let stamp: Timestamp
        let bytes: Int
    }

    private let world: FeedWorld
    private let client: Int
    private var packets: [Packet] = []
    private var next = 0
    private var pending = 0
    var isEmpty: Bool { next == packets.count }
    private var writtenWhileUnwritable = 0
    private var exempt = 0
    private(set) var isWritable = true
    private(set) var isClosed = false
    private var isClosing = false
    private var isReadPlanned = false
    /// The client takes nothing from the connection.
    var isStopped = false { didSet { planRead() } }
    var becameWritable: () -> Void = {}
    var received: (Packet) -> Void = { _ in }
    var lost: () -> Void = {}

    init(_ world: FeedWorld, of client: Int) {
        self.world = world
        self.client = client
    }

    func write(_ new: [Packet], _ bytes: Int) {
        guard !isClosed else { return }
        if isClosing { world.simulation.violated("something was written behind a close frame") }
        if case .close? = new.last?.content { isClosing = true }
        packets += new
        pending += bytes
        if !isWritable {
            // Whatever nothing waits ahead of, and behind it as much as the bound says.
            if writtenWhileUnwritable == 0 { exempt = bytes }
            writtenWhileUnwritable += bytes
            if writtenWhileUnwritable - exempt > world.scenario.backlogBound {
                world.simulation.violated("\(writtenWhileUnwritable) bytes wait for a client that does not read")
            }
        }
        if pending > world.scenario.channelHighMark { isWritable = false }
        planRead()
    }

    private func planRead() {
        guard !isReadPlanned, !isStopped, !isClosed, next < packets.count else { return }
        isReadPlanned = true
        world.simulation.after(world.simulation.span(200...8000), .init(what: "reads: client", a: client)) { [self] in read() }
    }

    private func read() {
        isReadPlanned = false
        guard !isStopped, !isClosed else { return }
        var taken = 0
        while next < packets.count, taken < 4000, !isClosed {
            let packet = packets[next]
            next += 1
            taken += packet.bytes
            pending -= packet.bytes
            received(packet)
        }
        if next == packets.count {
            packets.removeAll(keepingCapacity: true)
            next = 0
        }
        if !isWritable, pending < world.scenario.channelLowMark {
            isWritable = true
            writtenWhileUnwritable = 0
            becameWritable()
        }
        planRead()
    }

    /// Whatever is under way is lost. Both sides hear of it in their own time.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        packets = []
        lost()
    }
}
