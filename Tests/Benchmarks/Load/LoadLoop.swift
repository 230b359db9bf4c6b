// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import NIOCore
import NIOPosix

/// An event loop of the generator, with its account of CPU time and lag. It is confined to its event loop.
final class LoadLoop: @unchecked Sendable {
    let eventLoop: any EventLoop
    /// The interval of the timer that measures the lag.
    private static let heartbeat = TimeAmount.milliseconds(10)
    /// The maximum number of operations in one turn of the loop, so that a late schedule does not keep the loop from
    /// reading.
    private static let operationsPerTurn = 64

    private(set) var latencies = LatencyHistogram()
    /// The latencies of answers to requests over REST.
    private(set) var answers = LatencyHistogram()
    private var lags = LatencyHistogram()
    /// The number of the measurement. Timers of an earlier one end.
    private var measurement = 0
    private var processorTime = 0.0
    private var waiting = 0.0

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// The time in nanoseconds.
    static var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    /// Begins a measurement.
    func begin() {
        latencies = LatencyHistogram()
        answers = LatencyHistogram()
        lags = LatencyHistogram()
        (processorTime, waiting) = (Self.processorTime(), Self.waiting())
        measurement += 1
        beat(at: NIODeadline.now() + Self.heartbeat, of: measurement)
    }

    /// Ends a measurement.
    func end() -> LoopUsage {
        measurement += 1
        return LoopUsage(
            processorTime: Self.processorTime() - processorTime, waiting: Self.waiting() - waiting, lag: lags.summary)
    }

    func recordLatency(since due: UInt64) { latencies.record(nanoseconds: Self.now &- due) }
    func recordAnswer(since due: UInt64) { answers.record(nanoseconds: Self.now &- due) }

    /// Performs operations at a fixed rate.
    /// - Parameters:
    ///   - perform: Receives the number of each operation and the time at which it was due.
    func run(_ schedule: FixedRateSchedule, perform: @escaping (_ operation: Int, _ due: UInt64) -> Void) {
        var schedule = schedule
        let now = Self.now
        for operation in schedule.takeDue(at: now, atMost: Self.operationsPerTurn) {
            let due = schedule.dueTime(of: operation)
            lags.record(nanoseconds: now - due)
            perform(operation, due)
        }
        guard let next = schedule.nextDue else { return }
        eventLoop.assumeIsolated()
            .scheduleTask(deadline: NIODeadline.uptimeNanoseconds(next)) { [schedule] in
                self.run(schedule, perform: perform)
            }
    }

    private func beat(at deadline: NIODeadline, of measurement: Int) {
        eventLoop.assumeIsolated()
            .scheduleTask(deadline: deadline) {
                guard self.measurement == measurement else { return }
                let now = NIODeadline.now()
                self.lags.record(nanoseconds: now.uptimeNanoseconds - deadline.uptimeNanoseconds)
                self.beat(at: now + Self.heartbeat, of: measurement)
            }
    }

    /// The CPU time of the current thread in seconds.
    private static func processorTime() -> Double { GeneratorAccount.processorTime(of: 1) }

    /// The time in seconds during which the current thread could run and had no processor. 0: the kernel does not say.
    private static func waiting() -> Double {
        let text = (try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Double(fields[1]) ?? 0) / 1e9 : 0
    }
}

/// The event loops of the generator.
struct LoadLoops: Sendable {
    let group: MultiThreadedEventLoopGroup
    let all: [LoadLoop]
    /// The niceness of the loops' threads, if this process may choose it. A busy system then does not delay them.
    private static let niceness: Int32 = -10

    /// - Parameter count: The number of loops; nil: one for each two processors, at most four.
    init(_ count: Int?) {
        let chosen = count ?? max(1, min(4, System.coreCount / 2))
        group = MultiThreadedEventLoopGroup(numberOfThreads: chosen)
        all = group.makeIterator().map { LoadLoop($0) }
        // On Linux, 0 is the calling thread.
        for loop in all {
            loop.eventLoop.execute { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness) }
        }
    }

    /// Runs a closure on every loop, and returns the results in the order of the loops.
    func onEach<Value: Sendable>(_ body: @escaping @Sendable (LoadLoop) throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for loop in all { values.append(try await loop.eventLoop.submit { try body(loop) }.get()) }
        return values
    }

    /// Begins the account of a measurement.
    func begin() async throws -> GeneratorAccount {
        _ = try await onEach { $0.begin() }
        return GeneratorAccount(start: LoadLoop.now, processorTime: GeneratorAccount.processorTime)
    }

    /// Ends the account of a measurement.
    func end(_ account: GeneratorAccount) async throws -> GeneratorUsage {
        let loops = try await onEach { $0.end() }
        return GeneratorUsage(
            seconds: Double(LoadLoop.now - account.start) / 1e9,
            processorTime: GeneratorAccount.processorTime - account.processorTime, loops: loops)
    }

    /// Returns the merged latencies of deliveries, and those of answers.
    func latencies() async throws -> (deliveries: LatencyHistogram, answers: LatencyHistogram) {
        var merged = (deliveries: LatencyHistogram(), answers: LatencyHistogram())
        for (deliveries, answers) in try await onEach({ ($0.latencies, $0.answers) }) {
            merged.deliveries.merge(deliveries)
            merged.answers.merge(answers)
        }
        return merged
    }
}

/// The begin of a measurement of the generator itself.
struct GeneratorAccount: Sendable {
    let start: UInt64
    let processorTime: Double

    /// The CPU time of this process in seconds.
    static var processorTime: Double { processorTime(of: 0) }

    /// The CPU time in seconds.
    /// - Parameter owner: 0 for this process, 1 for the current thread: `RUSAGE_SELF` and `RUSAGE_THREAD`.
    fileprivate static func processorTime(of owner: Int32) -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(owner), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
