// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Synchronization

/// A metric with one set of labels. It holds its values and renders them as one or more lines.
protocol PrometheusSeries: AnyObject, Sendable {
    /// Appends the lines of the series.
    /// - Parameter labels: Rendered labels without braces; may be empty.
    func write(name: String, labels: String, to text: inout String)
}

final class PrometheusCounter: PrometheusSeries, CounterHandler {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) {
        value.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() {
        value.store(0, ordering: .relaxed)
    }

    func write(name: String, labels: String, to text: inout String) {
        text.line(name, labels: labels, value: String(value.load(ordering: .relaxed)))
    }
}

final class PrometheusFloatCounter: PrometheusSeries, FloatingPointCounterHandler {
    private let value = AtomicDouble()

    func increment(by amount: Double) {
        value.add(amount)
    }

    func reset() {
        value.set(0)
    }

    func write(name: String, labels: String, to text: inout String) {
        text.line(name, labels: labels, value: value.get().prometheus)
    }
}

final class PrometheusGauge: PrometheusSeries, MeterHandler, RecorderHandler {
    private let value = AtomicDouble()

    func set(_ new: Int64) { value.set(Double(new)) }
    func set(_ new: Double) { value.set(new) }
    func increment(by amount: Double) { value.add(amount) }
    func decrement(by amount: Double) { value.add(-amount) }
    func record(_ new: Int64) { value.set(Double(new)) }
    func record(_ new: Double) { value.set(new) }

    func write(name: String, labels: String, to text: inout String) {
        text.line(name, labels: labels, value: value.get().prometheus)
    }
}

/// Counts of values up to each of several bounds, with the sum of the values.
final class PrometheusHistogram: PrometheusSeries, RecorderHandler, TimerHandler {
    /// Bounds from 0.1 ms to 10 s, in seconds.
    static let durations: [Double] = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// Bounds from 1 to 64 million, for counts and sizes.
    static let sizes: [Double] = [
        1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
    ]

    private let bounds: [Double]
    /// One count for each bound, and one for larger values. The counts are not cumulative, so that recording a value
    /// changes only one of them.
    private let counts = InlineArray<24, Atomic<UInt64>> { _ in Atomic(0) }
    private let sum = AtomicDouble()

    /// - Parameter bounds: At most 23 bounds, ascending.
    init(bounds: [Double]) {
        self.bounds = Array(bounds.prefix(23))
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        counts[index(of: value)].wrappingAdd(1, ordering: .relaxed)
        sum.add(value)
    }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1e9)
    }

    /// Returns the index of the first bound that is not less than the value.
    private func index(of value: Double) -> Int {
        var low = 0
        var high = bounds.count
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func write(name: String, labels: String, to text: inout String) {
        var total: UInt64 = 0
        let prefix = labels.isEmpty ? "" : labels + ","
        for (index, bound) in bounds.enumerated() {
            total += counts[index].load(ordering: .relaxed)
            text.line(name + "_bucket", labels: prefix + "le=\"\(bound.prometheus)\"", value: String(total))
        }
        total += counts[bounds.count].load(ordering: .relaxed)
        text.line(name + "_bucket", labels: prefix + "le=\"+Inf\"", value: String(total))
        text.line(name + "_sum", labels: labels, value: sum.get().prometheus)
        text.line(name + "_count", labels: labels, value: String(total))
    }
}

/// A `Double` that threads can change concurrently.
final class AtomicDouble: Sendable {
    private let bits = Atomic<UInt64>(0)

    func get() -> Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (exchanged, current) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = current
        }
    }
}

extension Double {
    /// The number in the Prometheus text format.
    var prometheus: String {
        if isNaN { return "NaN" }
        if isInfinite { return self > 0 ? "+Inf" : "-Inf" }
        if self == rounded(), abs(self) < 1e15 { return String(Int64(self)) }
        return description
    }
}

extension String {
    /// Appends `name{labels} value`.
    mutating func line(_ name: String, labels: String, value: String) {
        append(name)
        if !labels.isEmpty {
            append("{")
            append(labels)
            append("}")
        }
        append(" ")
        append(value)
        append("\n")
    }
}
