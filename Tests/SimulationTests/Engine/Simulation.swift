// SPDX-License-Identifier: Apache-2.0
import NIOCore
import SeededRandom
import StrataModel
import TestSupport

/// A world without I/O: a virtual clock, an event queue, and a seeded generator for all random decisions.
///
/// The same seed produces the same run on every machine and in every process. Nothing here may depend on the order of a
/// `Set` or `Dictionary`. A run is confined to the thread of its seed, which justifies `@unchecked Sendable`.
final class Simulation: @unchecked Sendable {
    /// The description of an event in the trace of a failing run. Its text is only built on demand.
    struct Label {
        var what: StaticString
        var a = -1
        var b = -1
        var c: Int64 = -1
    }

    /// The number of events in the trace.
    private static let traceLength = 60

    let seed: UInt64
    var random: SeededGenerator
    /// The current virtual time, in microseconds.
    private(set) var now: Int64 = Simulation.start
    private(set) var steps = 0
    /// The first violations of promises.
    private(set) var violations: [String] = []
    private var events = EventHeap()
    private var planned = 0
    private var trace: [(time: Int64, label: Label)] = []
    private var traceNext = 0
    /// The number of long turns of a ``VirtualEventLoop``, per thousand.
    var stalls = 1
    /// The loop of the current event; nil if it runs outside all loops.
    weak var runningLoop: VirtualEventLoop?
    /// Receives a description of every event.
    var follow: ((String) -> Void)?

    /// The initial time. Its value is arbitrary and makes traces readable.
    static let start: Int64 = 1_800_000_000_000_000

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        trace.reserveCapacity(Self.traceLength)
    }

    /// Schedules an event.
    /// - Parameter delay: the time from now, in microseconds.
    func after(_ delay: Int64, _ label: Label, _ body: @escaping () -> Void) {
        at(now + max(0, delay), label, body)
    }

    func at(_ time: Int64, _ label: Label, _ body: @escaping () -> Void) {
        planned += 1
        events.insert(EventHeap.Event(time: max(time, now), number: planned, label: label, body: body))
    }

    /// Executes events until `end`, or until a promise is violated.
    func run(until end: Int64) {
        while violations.isEmpty, let time = events.nextTime, time <= end, let next = events.removeFirst() {
            now = next.time
            steps += 1
            note(next.label)
            next.body()
        }
        now = max(now, end)
    }

    /// The monotonic time.
    var deadline: NIODeadline { .uptimeNanoseconds(UInt64(now) * 1000) }

    /// Executes all remaining events, regardless of violations, because NIO does not allow promises to be dropped.
    func drain() {
        while let next = events.removeFirst() {
            now = next.time
            next.body()
        }
    }

    /// Adds an entry to the trace that is not an event.
    func note(_ label: Label) {
        if let follow { follow(Self.text(now, label)) }
        if trace.count < Self.traceLength { trace.append((now, label)) } else { trace[traceNext] = (now, label) }
        traceNext = (traceNext + 1) % Self.traceLength
    }

    func violated(_ text: @autoclosure () -> String) {
        guard violations.count < 5 else { return }
        violations.append("at \(Self.text(now)): \(text())")
    }

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
    /// Returns a random time in this range, in microseconds.
    func span(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }
}

extension Simulation.Label: ExpressibleByStringLiteral {
    init(stringLiteral value: StaticString) { self.init(what: value) }
}

extension Timestamp {
    init(_ microseconds: Int64) { self.init(microseconds: microseconds) }
}
