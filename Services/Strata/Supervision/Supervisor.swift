// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers

/// Keeps one child process running until it is told to stop.
actor Supervisor {
    /// What happened to the child.
    enum Event: Sendable {
        /// It runs, for the first time or again.
        case started(pid: Int32, restarts: Int)
        /// It ended on its own, and will be started again after a pause.
        case died(ChildProcess.Exit, pause: Duration)
        /// It could not be started, and that will be tried again.
        case startFailed(String, pause: Duration)
    }

    /// `gateway-1`.
    nonisolated let name: String
    private let start: @Sendable () async throws -> ChildProcess
    private let report: @Sendable (Event) -> Void
    private let patience: Duration
    private let stopSignal: Int32
    private var machine: SupervisionStateMachine
    private var child: ChildProcess?
    private var running: Task<Void, Never>?

    /// - Parameters:
    ///   - name: for people.
    ///   - backOff: how long to wait between starts.
    ///   - stopSignal: what asks the child to end.
    ///   - patience: how long it may take to end when it is asked to.
    ///   - start: makes the process.
    ///   - report: hears what happens.
    init(
        name: String, backOff: SupervisionStateMachine.BackOff = .init(), stopSignal: Int32 = SIGTERM, patience: Duration = .seconds(20),
        start: @escaping @Sendable () async throws -> ChildProcess, report: @escaping @Sendable (Event) -> Void
    ) {
        self.name = name
        self.start = start
        self.report = report
        self.patience = patience
        self.stopSignal = stopSignal
        self.machine = SupervisionStateMachine(backOff: backOff)
    }

    /// Begins. ``stop()`` ends what this begins.
    func begin() {
        guard running == nil else { return }
        running = Task { await self.perform(machine.begin()) }
    }

    /// Asks the child to end, kills it if it takes too long, and returns when it is gone and will not come back.
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

    /// How often the child has been started again.
    var restarts: Int {
        machine.restarts
    }

    private func perform(_ first: SupervisionStateMachine.Action) async {
        var action = first
        while true {
            switch action {
            case .start: action = await startChild()
            case .pause(let duration):
                // A cancelled pause ends at once; the machine knows that it was told to stop.
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

    /// Waits for the end of the child in a task that is not cancelled with ours: a child is waited for to the last.
    private func awaitEnd() async -> SupervisionStateMachine.Action {
        guard let child else { return .finish }
        let exit = await Task { await child.waitForExit() }.value
        let action = machine.processEnded(at: .now)
        if case .pause(let pause) = action, let exit { report(.died(exit, pause: pause)) }
        return action
    }
}
