// SPDX-License-Identifier: Apache-2.0
import Dispatch
import NIOCore

/// An event loop in virtual time. It executes its tasks in order, each after a short delay, and occasionally stalls.
///
/// A run of the simulation is confined to the thread of its seed, which justifies `@unchecked Sendable`.
final class VirtualEventLoop: EventLoop, @unchecked Sendable {
    private final class Timer: @unchecked Sendable {
        var isCancelled = false
    }

    /// The duration of an occasional stall, in microseconds.
    private static let stall: Int64 = 40_000

    private let number: Int
    private let simulation: Simulation
    /// The time at which all queued tasks are done.
    private var free: Int64 = 0

    init(_ number: Int, _ simulation: Simulation) {
        self.number = number
        self.simulation = simulation
    }

    var inEventLoop: Bool { simulation.runningLoop === self }
    var now: NIODeadline { simulation.deadline }

    func execute(_ task: @escaping @Sendable () -> Void) { execute(.init(what: "task of loop", a: number), task) }

    /// Executes a task of a simulated component, with a label for the trace.
    func execute(_ label: Simulation.Label, _ body: @escaping () -> Void) {
        let delay = simulation.chance(simulation.stalls) ? Self.stall : simulation.span(0...63)
        // Tasks of a loop never have equal times.
        free = max(free + 1, simulation.now + delay)
        simulation.at(free, label) { [self] in run(body) }
    }

    @discardableResult
    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        let timer = Timer()
        let label = Simulation.Label(what: "timer of loop", a: number)
        simulation.at((Int64(deadline.uptimeNanoseconds) + 999) / 1000, label) { [self] in
            // A busy loop fires its timers late.
            if simulation.now < free {
                simulation.at(free, label) { [self] in fire(timer, promise, task) }
            } else {
                fire(timer, promise, task)
            }
        }
        return Scheduled(promise: promise, cancellationTask: { timer.isCancelled = true })
    }

    @discardableResult
    func scheduleTask<T>(in time: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        scheduleTask(deadline: now + time, task)
    }

    private func fire<T>(_ timer: Timer, _ promise: EventLoopPromise<T>, _ task: () throws -> T) {
        guard !timer.isCancelled else { return }
        run {
            do { promise.assumeIsolated().succeed(try task()) } catch { promise.fail(error) }
        }
    }

    private func run(_ body: () -> Void) {
        let outer = simulation.runningLoop
        simulation.runningLoop = self
        body()
        simulation.runningLoop = outer
    }

    /// Calls back immediately, because there is nothing to shut down.
    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(nil) }
    }
}
