// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization

/// A child process that cannot outlive this process.
///
/// Each child has a thread that spawns it and waits for its end. The kernel sends the parent-death signal when the
/// *thread* that spawned the child ends. A child spawned on a thread of a pool could therefore be killed at any moment,
/// when the pool retires the thread. For this reason swift-subprocess and Foundation's `Process` are not used. A
/// closure-scoped API is also unsuitable, because a server outlives any closure.
///
/// The child leads its own process group. Ctrl-C at the terminal reaches only this process, which stops the children in
/// order.
public final class ChildProcess: Sendable {
    /// The exit status of a child.
    public struct Exit: Sendable, Equatable {
        /// The returned status, or 128 plus the number of the signal that ended the child, as in shells.
        public let status: Int32
        /// The signal that ended the child, if any.
        public let signal: Int32?
        /// The captured output; empty if the output was not captured.
        public let output: String

        /// True if the child returned 0.
        public var isSuccess: Bool {
            status == 0
        }
    }

    private struct State {
        var exit: Exit?
        var waiting: [UInt64: CheckedContinuation<Exit?, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    /// The process id. After the child's end the system may reuse it for another process; use ``signal(_:)``.
    public let pid: Int32
    private let state = Mutex(State())

    private init(pid: Int32) {
        self.pid = pid
    }

    /// Starts the process.
    /// - Returns: The running child. If the program cannot be executed, the child ends at once with status 126 or 127.
    /// - Throws: ``LocalServerError`` `missingProgram` or `spawnFailed`.
    public static func start(_ launch: Launch) async throws -> ChildProcess {
        let words = try launch.commandLine()
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
    ///   - launch: The program. Its output is captured unless `launch` specifies otherwise.
    ///   - timeout: The time after which the program is killed.
    /// - Throws: ``LocalServerError`` `timedOut`, and the errors of ``start(_:)``.
    public static func run(_ launch: Launch, timeout: Duration = .seconds(60)) async throws -> Exit {
        var launch = launch
        if launch.output == .discard { launch.output = .capture(limit: 65_536) }
        let child = try await start(launch)
        if let exit = await child.exit(within: timeout) { return exit }
        child.signal(SIGKILL)
        throw LocalServerError(.timedOut, "\(launch.executable) did not end within \(timeout)")
    }

    /// True until the child has ended.
    public var isRunning: Bool {
        state.withLock { $0.exit == nil }
    }

    /// The exit status; nil while the child runs.
    public var exit: Exit? {
        state.withLock { $0.exit }
    }

    /// Sends a signal, unless the child has ended. This is safe because the process id is released to the system only
    /// under the same lock.
    public func signal(_ number: Int32) {
        state.withLock { state in
            if state.exit == nil { _ = kill(pid, number) }
        }
    }

    /// Waits for the child's end.
    /// - Returns: The exit status; nil if the waiting task was cancelled first.
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

    /// Waits for the child's end, with a timeout.
    /// - Returns: The exit status; nil if the child still runs after `limit` or the task was cancelled.
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

    /// Asks the child to end, and kills it if it still runs after `patience`.
    /// - Parameters:
    ///   - number: The first signal; default `SIGTERM`.
    ///   - patience: The time until `SIGKILL`.
    @discardableResult
    public func stop(_ number: Int32? = nil, patience: Duration = .seconds(20)) async -> Exit? {
        signal(number ?? SIGTERM)
        // Wait in a separate task, because the stopping task is often cancelled already and the child must still be
        // reaped.
        let ending = Task { [self] in
            if let exit = await exit(within: patience) { return exit as Exit? }
            signal(SIGKILL)
            return await waitForExit()
        }
        return await ending.value
    }

    /// Waits for the child on the thread that spawned it, and resumes all waiters.
    private func reap(output: String) {
        var info = siginfo_t()
        // Wait without reaping, so that the process id stays reserved until the lock is held.
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
    /// Decodes a status of `waitpid`.
    init(waitStatus: Int32, output: String) {
        let signal = waitStatus & 0x7f
        self.signal = signal == 0 ? nil : signal
        self.status = signal == 0 ? (waitStatus >> 8) & 0xff : 128 + signal
        self.output = output
    }
}

/// A wait for a child to become ready.
enum Readiness {
    /// Polls until the child is ready, starting with short pauses.
    /// - Parameters:
    ///   - child: The child. The wait ends when it exits.
    ///   - limit: The maximum wait.
    ///   - question: Returns true if the child is ready.
    /// - Returns: True if the child became ready.
    /// - Throws: `CancellationError`, after stopping the child.
    static func poll(
        _ child: ChildProcess, limit: Duration, until question: @Sendable () async -> Bool
    ) async throws -> Bool {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: limit)
        var pause = Duration.milliseconds(5)
        while child.isRunning, clock.now < end {
            if await question() { return true }
            do {
                try await clock.sleep(for: pause)
            } catch {
                await child.stop(patience: .seconds(5))
                throw error
            }
            pause = min(pause * 2, .milliseconds(80))
        }
        return false
    }
}

/// The end of a log file.
public enum LogTail {
    /// Returns the last lines of a file, limited to its last 16 KiB. Empty if the file is unreadable.
    public static func last(_ count: Int, of path: String) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else { return "" }
        defer { try? file.close() }
        let size = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: size > 16_384 ? size - 16_384 : 0)
        let bytes = (try? file.readToEnd()) ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(count).joined(separator: "\n")
    }

    /// Returns the beginning of a crash report in a log: the reason and the stack of the thread that crashed, at most
    /// 60 lines. nil if there is none.
    public static func crash(in path: String) -> String? {
        let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
        guard let start = lines.firstIndex(where: { $0.contains("Fatal error") || $0.contains("Program crashed") })
        else { return nil }
        return lines[start...].prefix(60).joined(separator: "\n")
    }
}
