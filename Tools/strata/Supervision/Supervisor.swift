// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers

/// A supervisor that keeps one child process running until it is stopped.
actor Supervisor {
    enum Event: Sendable {
        /// The child runs, for the first time or after a restart.
        case started(pid: Int32, restarts: Int)
        /// The child ended without a request, and will be restarted after a pause.
        case died(ChildProcess.Exit, pause: Duration)
        /// The child could not be started; the start will be retried after a pause.
        case startFailed(String, pause: Duration)
    }

    /// The child's name, `gateway-1` for example.
    nonisolated let name: String
    private let start: @Sendable () async throws -> ChildProcess
    private let report: @Sendable (Event) -> Void
    private let patience: Duration
    private let stopSignal: Int32
    private var machine: SupervisionStateMachine
    private var child: ChildProcess?
    private var running: Task<Void, Never>?

    /// - Parameters:
    ///   - backOff: The pauses between restarts.
    ///   - stopSignal: The signal that asks the child to end.
    ///   - patience: The time until the child is killed after the signal.
    ///   - report: Called with each event.
    init(
        name: String, backOff: SupervisionStateMachine.BackOff = .init(), stopSignal: Int32 = SIGTERM,
        patience: Duration = .seconds(20),
        start: @escaping @Sendable () async throws -> ChildProcess, report: @escaping @Sendable (Event) -> Void
    ) {
        self.name = name
        self.start = start
        self.report = report
        self.patience = patience
        self.stopSignal = stopSignal
        self.machine = SupervisionStateMachine(backOff: backOff)
    }

    /// Starts the supervision, which ``stop()`` ends.
    func begin() {
        guard running == nil else { return }
        running = Task { await self.perform(machine.begin()) }
    }

    /// Asks the child to end, kills it after `patience`, and returns when it has ended for good.
    func stop() async {
        let action = machine.stopRequested()
        running?.cancel()
        if action == .stopChild { await child?.stop(stopSignal, patience: patience) }
        await running?.value
    }

    /// The child's process id, while it runs.
    var pid: Int32? {
        child.flatMap { $0.isRunning ? $0.pid : nil }
    }

    var restarts: Int {
        machine.restarts
    }

    private func perform(_ first: SupervisionStateMachine.Action) async {
        var action = first
        while true {
            switch action {
            case .start: action = await startChild()
            case .pause(let duration):
                // A cancelled pause ends at once; the state machine knows about the stop request.
                try? await Task.sleep(for: duration)
                action = machine.pauseElapsed()
            case .stopChild:
                await child?.stop(stopSignal, patience: patience)
                action = await awaitEnd()
            case .nothing: action = await awaitEnd()
            case .finish: return
            }
        }
    }

    private func startChild() async -> SupervisionStateMachine.Action {
        do {
            let child = try await start()
            self.child = child
            let action = machine.started(at: .now)
            report(.started(pid: child.pid, restarts: machine.restarts))
            return action
        } catch {
            let action = machine.startFailed()
            if case .pause(let pause) = action { report(.startFailed("\(error)", pause: pause)) }
            return action
        }
    }

    /// Waits for the child's end in an unstructured task. The wait must not be cancelled with this task, because the
    /// child must be reaped.
    private func awaitEnd() async -> SupervisionStateMachine.Action {
        guard let child else { return .finish }
        let exit = await Task { await child.waitForExit() }.value
        let action = machine.processEnded(at: .now)
        if case .pause(let pause) = action, let exit { report(.died(exit, pause: pause)) }
        return action
    }
}
