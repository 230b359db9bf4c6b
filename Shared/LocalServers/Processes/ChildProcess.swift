// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A child process of ours that cannot outlive us.
///
/// Each child has a thread that makes it and then waits for its end. This is why neither swift-subprocess nor Foundation's `Process` is used here:
/// the kernel sends a parent-death signal when the *thread* that made the child ends, so a child made on a pool's thread, which may retire while
/// the process lives on, would be struck at any moment; and a server's life is not the length of a closure.
///
/// The child leads a process group of its own: Ctrl-C at the terminal reaches us alone, and we stop the children in order.
public final class ChildProcess: Sendable {
    /// How a child ended.
    public struct Exit: Sendable, Equatable {
        /// The status it returned, or 128 plus the number of the signal that ended it, as shells count.
        public let status: Int32
        /// The signal that ended it, if one did.
        public let signal: Int32?
        /// What it wrote, if that was captured.
        public let output: String

        /// Whether it returned 0.
        public var isSuccess: Bool {
            status == 0
        }
    }

    private struct State {
        var exit: Exit?
        var waiting: [UInt64: CheckedContinuation<Exit?, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    /// Its process id. It may belong to another process once the child has ended; use ``signal(_:)``.
    public let pid: Int32
    private let state = Mutex(State())

    private init(pid: Int32) {
        self.pid = pid
    }

    /// Makes the process.
    /// - Returns: the running child; that the program could be executed is known only when it does not end with status 126 or 127 at once.
    /// - Throws: ``LocalServerError`` `missingProgram` or `spawnFailed`.
    public static func start(_ launch: Launch) async throws -> ChildProcess {
        let words = try launch.words()
        return try await withCheckedThrowingContinuation { continuation in
            startThread {
                let spawned: Spawn
                do {
                    spawned = try Spawn(words: words, launch: launch)
                } catch {
                    return continuation.resume(throwing: error)
                }
                let child = ChildProcess(pid: spawned.pid)
                continuation.resume(returning: child)
                child.reap(output: spawned.readOutput())
            }
        }
    }

    /// Runs a program to its end.
    /// - Parameters:
    ///   - launch: what to run; its output is captured unless it says otherwise.
    ///   - timeout: after this long the program is killed.
    /// - Throws: ``LocalServerError`` `timedOut`, and what ``start(_:)`` throws.
    public static func run(_ launch: Launch, timeout: Duration = .seconds(60)) async throws -> Exit {
        var launch = launch
        if launch.output == .discard { launch.output = .capture(limit: 65_536) }
        let child = try await start(launch)
        if let exit = await child.exit(within: timeout) { return exit }
        child.signal(SIGKILL)
        throw LocalServerError(.timedOut, "\(launch.executable) did not end within \(timeout)")
    }

    /// Whether it has not ended yet.
    public var isRunning: Bool {
        state.withLock { $0.exit == nil }
    }

    /// How it ended; nil while it runs.
    public var exit: Exit? {
        state.withLock { $0.exit }
    }

    /// Sends a signal, unless the child has ended. The lock is what makes this safe: the id is given back to the system only under it.
    public func signal(_ number: Int32) {
        state.withLock { state in
            if state.exit == nil { _ = kill(pid, number) }
        }
    }

    /// Waits for the end.
    /// - Returns: how the child ended; nil if the waiting task was cancelled before.
    public func waitForExit() async -> Exit? {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let already: Exit?? = state.withLock { state in
                    if let exit = state.exit { return .some(exit) }
                    if Task.isCancelled { return .some(nil) }
                    state.waiting[id] = continuation
                    return nil
                }
                if let already { continuation.resume(returning: already) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(returning: nil)
        }
    }

    /// Waits for the end, but not for ever.
    /// - Returns: how the child ended; nil if it still runs after `limit`, or the task was cancelled.
    public func exit(within limit: Duration) async -> Exit? {
        await withTaskGroup(of: Exit?.self) { group in
            group.addTask { await self.waitForExit() }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first ?? exit
        }
    }

    /// Asks the child to end, and kills it if it has not after `patience`.
    /// - Parameters:
    ///   - number: the polite signal; by default `SIGTERM`.
    ///   - patience: how long it may take.
    @discardableResult
    public func stop(_ number: Int32? = nil, patience: Duration = .seconds(20)) async -> Exit? {
        signal(number ?? SIGTERM)
        // A task of its own: a child must be waited for also when the task that stops it has been cancelled, which is when things are stopped.
        let ending = Task { [self] in
            if let exit = await exit(within: patience) { return exit as Exit? }
            signal(SIGKILL)
            return await waitForExit()
        }
        return await ending.value
    }

    /// Waits for the child on the thread that made it, and tells all who wait.
    private func reap(output: String) {
        var info = siginfo_t()
        // Not reaped yet: the id stays the child's until the lock is held.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        let (exit, waiting) = state.withLock { state -> (Exit, [CheckedContinuation<Exit?, Never>]) in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) == -1, errno == EINTR {}
            let exit = Exit(waitStatus: status, output: output)
            state.exit = exit
            defer { state.waiting = [:] }
            return (exit, Array(state.waiting.values))
        }
        for continuation in waiting { continuation.resume(returning: exit) }
    }
}

extension ChildProcess.Exit {
    /// Takes apart what `waitpid` reports.
    init(waitStatus: Int32, output: String) {
        let signal = waitStatus & 0x7f
        self.signal = signal == 0 ? nil : signal
        self.status = signal == 0 ? (waitStatus >> 8) & 0xff : 128 + signal
        self.output = output
    }
}
