// SPDX-License-Identifier: Apache-2.0
import Dispatch
import NIOCore

/// An event loop in virtual time: what it is given to do it does in that order, each a little later, and now and then one thing takes long.
///
/// A run of the simulation is confined to the thread that runs the seed, which is what makes `@unchecked Sendable` true.
final class VirtualEventLoop: EventLoop, @unchecked Sendable {
    /// A task that is due at a time, as far as it has not been cancelled.
    private final class Timer: @unchecked Sendable {
        var isCancelled = false
    }

    /// Now and then a loop is busy for so long.
    private static let stall: Int64 = 40_000

    /// For the trace.
    private let number: Int
    private let simulation: Simulation
    /// When the last of what waits is done.
    private var free: Int64 = 0

    init(_ number: Int, _ simulation: Simulation) {
        self.number = number
        self.simulation = simulation
    }

    var inEventLoop: Bool { simulation.runningLoop === self }
    var now: NIODeadline { simulation.deadline }

    func execute(_ task: @escaping @Sendable () -> Void) { execute(.init(what: "task of loop", a: number), task) }

    /// The same for what simulated parts do on the loop, with what the trace says of it.
    func execute(_ label: Simulation.Label, _ body: @escaping () -> Void) {
        let delay = simulation.chance(simulation.stalls) ? Self.stall : simulation.span(0...63)
        // No two tasks of a loop happen at the same time.
        free = max(free + 1, simulation.now + delay)
        simulation.at(free, label) { [self] in run(body) }
    }

    @discardableResult
    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        let timer = Timer()
        let label = Simulation.Label(what: "timer of loop", a: number)
        simulation.at((Int64(deadline.uptimeNanoseconds) + 999) / 1000, label) { [self] in
            // A loop that is busy gets to its timers later.
            if simulation.now < free { simulation.at(free, label) { [self] in fire(timer, promise, task) } } else { fire(timer, promise, task) }
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

    /// Nothing runs beside the simulation that would have to be ended.
    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) { queue.async { callback(nil) } }
}
