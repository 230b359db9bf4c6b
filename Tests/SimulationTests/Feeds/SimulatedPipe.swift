// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The channel and the network between a socket and its client: ordered bytes, high and low watermarks, and a client
/// that may stop reading.
final class SimulatedPipe {
    /// The content of a packet, as far as a client checks it.
    enum Content {
        case change(Int, Position, LogService.Counts?)
        /// The conversation in the state at `view`, because of the change at `position`; without a change if a lookup
        /// caused it.
        case shown(Int, view: Position, at: Position, LogService.Counts?)
        /// Only the counts after the change.
        case numbers(Int, at: Position, LogService.Counts)
        case own(Position)
        /// The user has deleted a conversation from their devices.
        case ownHidden(Position, Int)
        /// The conversation is restored, in the state at `view`.
        case ownShown(Position, Int, view: Position, LogService.Counts?)
        case signal
        case other
        case replayAnswered(succeeded: Bool)
        /// Not a packet: a marker after which packets belong to a replay.
        case replayBegins
        case close

        /// True for packets about events in a conversation.
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
    /// True if the client does not read.
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
            // The first write is exempt from the bound, which applies to what is queued behind it.
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
        world.simulation.after(world.simulation.span(200...8000), .init(what: "reads: client", a: client)) { [self] in
            read()
        }
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

    /// Closes the connection and drops everything in transit. Both sides notice it later.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        packets = []
        lost()
    }
}
