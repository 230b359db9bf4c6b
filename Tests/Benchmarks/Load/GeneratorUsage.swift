// SPDX-License-Identifier: Apache-2.0

/// The CPU time and the lag of one event loop of the generator during a measurement.
struct LoopUsage: Codable, Equatable, Sendable {
    /// CPU time of the loop's thread, in seconds.
    var processorTime: Double
    /// Time during which the thread could run and had no processor, in seconds.
    var waiting: Double
    /// The delays of timers and of scheduled operations.
    var lag: LatencySummary?
}

/// The generator's own part of a measurement.
struct GeneratorUsage: Codable, Equatable, Sendable {
    /// The length of the measurement in seconds.
    var seconds: Double
    /// CPU time of the whole generator process, in seconds.
    var processorTime: Double
    var loops: [LoopUsage]

    /// The highest share of a processor that a loop used, 0 to 1.
    var share: Double { (loops.map(\.processorTime).max() ?? 0) / max(seconds, .leastNonzeroMagnitude) }
    /// The highest 99th percentile of a loop's lag, in milliseconds.
    var lag: Double { loops.compactMap { $0.lag?.p99 }.max() ?? 0 }
}

/// The bounds beyond which a measurement describes the generator rather than the system.
struct SaturationBounds: Sendable {
    /// The maximum share of a processor for each loop, 0 to 1, default 0.8. A busier loop queues packets.
    var share = 0.8
    /// The maximum 99th percentile of the lag in milliseconds, default 5. It counts at a fixed rate only, because there
    /// a late generator sends in bursts. A closed loop that is late merely offers less load.
    var lag = 5.0

    /// Returns the reason why the figures are invalid; nil if they are valid.
    /// - Parameter isFixedRate: True if operations had due times.
    func problem(_ usage: GeneratorUsage, isFixedRate: Bool) -> String? {
        if usage.share > share {
            return "the generator was saturated: a loop used \(percent(usage.share)) of a processor, the bound is "
                + "\(percent(share)) (more loops: --loops)"
        }
        if isFixedRate, usage.lag > lag {
            let waiting = usage.loops.reduce(0) { $0 + $1.waiting } / max(usage.seconds, .leastNonzeroMagnitude)
            return "the generator was late: the lag's p99 is \(Report.text(usage.lag)) ms, the bound is "
                + "\(Report.text(lag)) ms (its loops waited \(percent(waiting)) of the time for a processor)"
        }
        return nil
    }

    private func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}
