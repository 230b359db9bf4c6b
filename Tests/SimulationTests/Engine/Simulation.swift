// SPDX-License-Identifier: Apache-2.0
import NIOCore
import SeededRandom
import StrataModel
import TestSupport

/// A world without I/O: a virtual clock, what will happen at which time, and a seeded generator that decides all that is open.
///
/// The same seed gives the same run, on every machine and in every process: nothing here may depend on the order of a `Set` or `Dictionary`.
/// A run is confined to the thread that runs the seed, which is what makes `@unchecked Sendable` true.
final class Simulation: @unchecked Sendable {
    /// What an event was, for the trace of a failing run; text is made only then.
    struct Label {
        var what: StaticString
        var a = -1
        var b = -1
        var c: Int64 = -1
    }

    /// How many of the last events are kept.
    private static let traceLength = 60

    let seed: UInt64
    var random: SeededGenerator
    /// Microseconds.
    private(set) var now: Int64 = Simulation.start
    private(set) var steps = 0
    /// Promises that were broken: the first few.
    private(set) var violations: [String] = []
    private var events = EventHeap()
    private var planned = 0
    private var trace: [(time: Int64, label: Label)] = []
    private var traceNext = 0
    /// Of a thousand turns of a ``VirtualEventLoop``, so many are long.
    var stalls = 1
    /// On which loop the present event happens; nil: outside of all of them.
    weak var runningLoop: VirtualEventLoop?
    /// Is told everything that happens.
    var follow: ((String) -> Void)?

    /// Any time will do; this one makes traces easy to read.
    static let start: Int64 = 1_800_000_000_000_000

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        trace.reserveCapacity(Self.traceLength)
    }

    /// `delay` in microseconds from now.
    func after(_ delay: Int64, _ label: Label, _ body: @escaping () -> Void) {
        at(now + max(0, delay), label, body)
    }

    func at(_ time: Int64, _ label: Label, _ body: @escaping () -> Void) {
        planned += 1
        events.insert(EventHeap.Event(time: max(time, now), number: planned, label: label, body: body))
    }

    /// Lets things happen until `end`, or until a promise is broken.
    func run(until end: Int64) {
        while violations.isEmpty, let time = events.nextTime, time <= end, let next = events.removeFirst() {
            now = next.time
            steps += 1
            note(next.label)
            next.body()
        }
        now = max(now, end)
    }

    /// The clock that never jumps.
    var deadline: NIODeadline { .uptimeNanoseconds(UInt64(now) * 1000) }

    /// Lets everything happen that is still planned, whatever promise was broken: NIO allows no promise to be dropped.
    func drain() {
        while let next = events.removeFirst() {
            now = next.time
            next.body()
        }
    }

    /// Puts something into the trace that is not an event of its own.
    func note(_ label: Label) {
        if let follow { follow(Self.text(now, label)) }
        if trace.count < Self.traceLength { trace.append((now, label)) } else { trace[traceNext] = (now, label) }
        traceNext = (traceNext + 1) % Self.traceLength
    }

    func violated(_ text: @autoclosure () -> String) {
        guard violations.count < 5 else { return }
        violations.append("at \(Self.text(now)): \(text())")
    }

    /// The last events, oldest first.
    var lastEvents: [String] {
        let ordered = trace.count < Self.traceLength ? trace : Array(trace[traceNext...] + trace[..<traceNext])
        return ordered.map { Self.text($0.time, $0.label) }
    }

    private static func text(_ time: Int64, _ label: Label) -> String {
        let numbers = [label.a, label.b].filter { $0 >= 0 }.map(String.init) + (label.c >= 0 ? [String(label.c)] : [])
        return "\(text(time)) \(label.what) \(numbers.joined(separator: " "))"
    }

    private static func text(_ time: Int64) -> String {
        let micros = time - start
        let fraction = String(micros % 1_000_000)
        return "\(micros / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)s"
    }

    // MARK: Chance

    func chance(_ perMille: Int) -> Bool { perMille > 0 && Int(truncatingIfNeeded: random.next() % 1000) < perMille }
    func int(_ range: ClosedRange<Int>) -> Int { range.lowerBound + Int(random.next() % UInt64(range.count)) }
    /// Microseconds between these.
    func span(_ range: ClosedRange<Int64>) -> Int64 { range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1)) }
}

extension Simulation.Label: ExpressibleByStringLiteral {
    init(stringLiteral value: StaticString) { self.init(what: value) }
}

extension Timestamp {
    init(_ microseconds: Int64) { self.init(microseconds: microseconds) }
}
