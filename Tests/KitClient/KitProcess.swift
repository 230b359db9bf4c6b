// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import StrataCommand
import TestCluster

/// A running client, controlled over two named pipes. It ends with this process.
package final class KitProcess: Sendable {
    package enum Next: Sendable {
        case report(KitReport)
        case end
    }

    private struct State {
        var reports: [KitReport] = []
        var isOver = false
    }

    private static let endMark = "end of the process"

    private let child: ChildProcess
    /// The write end of the client's standard input.
    private let input: Int32
    private let state = ObservedState(State())

    /// Starts a client.
    /// - Parameters:
    ///   - place: a unique path; pipes and error output are created beside it.
    ///   - wrapper: arguments before the program.
    package static func start(
        _ library: KitLibrary, _ settings: KitClientSettings, place: String, wrapper: [String] = []
    ) async throws -> KitProcess {
        let (input, output) = (try pipe("\(place).in"), try pipe("\(place).out"))
        let words = String(decoding: try JSONEncoder().encode(settings), as: UTF8.self)
        // The shell opens the pipes and then replaces itself with the program.
        let child = try await ChildProcess.start(
            Launch(
                "/bin/sh",
                arguments: ["-c", "exec \"$@\" <\(place).in >\(place).out", "sh"] + wrapper
                    + (try library.commandLine()),
                environment: ProcessInfo.processInfo.environment.merging([KitClientSettings.variable: words]) { $1 },
                deathSignal: .kill, output: .append(to: "\(place).log")))
        return KitProcess(child, input, output)
    }

    /// Creates a pipe and opens it in both directions. Opening then does not wait for a reader, and the pipe ends only
    /// when this process closes it.
    private static func pipe(_ path: String) throws -> Int32 {
        guard mkfifo(path, 0o600) == 0 else {
            throw LocalServerError(.unusableDirectory, "\(path): \(String(cString: strerror(errno)))")
        }
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw LocalServerError(.unusableDirectory, "\(path): \(String(cString: strerror(errno)))")
        }
        return descriptor
    }

    private init(_ child: ChildProcess, _ input: Int32, _ output: Int32) {
        (self.child, self.input) = (child, input)
        // Reading blocks, so it has its own thread.
        Thread.detachNewThread { [self] in read(output) }
        Task {
            _ = await child.waitForExit()
            // The line feed terminates an incomplete line of the process, which is then ignored.
            KitLines.write(Data("\n\(Self.endMark)\n".utf8), to: output)
        }
    }

    private func read(_ descriptor: Int32) {
        defer { close(descriptor) }
        var rest = Data()
        while let piece = Self.piece(descriptor) {
            rest.append(piece)
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Data(rest[rest.startIndex..<end])
                rest = Data(rest[(end + 1)...])
                if line == Data(Self.endMark.utf8) {
                    close(input)
                    return state.change { $0.isOver = true }
                }
                if let report = try? JSONDecoder().decode(KitReport.self, from: line) {
                    state.change { $0.reports.append(report) }
                }
            }
        }
    }

    /// Reads the available bytes, at least one. `FileHandle` would wait for the requested number.
    private static func piece(_ descriptor: Int32) -> Data? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count: Int
        repeat { count = Glibc.read(descriptor, &bytes, bytes.count) } while count < 0 && errno == EINTR
        return count > 0 ? Data(bytes.prefix(count)) : nil
    }

    private func send(_ command: KitCommand) {
        guard child.isRunning, let line = try? JSONEncoder().encode(command) else { return }
        KitLines.write(line + Data("\n".utf8), to: input)
    }

    /// Sends a command and waits for its last report.
    /// - Parameter note: receives all reports.
    /// - Returns: the last report; nil if the process has ended.
    /// - Throws: ``KitSessionError`` if the process does not answer.
    package func execute(_ command: KitCommand, _ note: (KitReport) -> Void) async throws -> KitReport? {
        send(command)
        while let next = await next(within: Waiting.limit) {
            guard case .report(let report) = next else { return nil }
            note(report)
            switch report {
            case .accepted(command.number, _), .thrown(command.number, _), .state(command.number, _, _): return report
            default: break
            }
        }
        throw KitSessionError("\(command.action) was not answered")
    }

    /// Waits for the next report, or for the end of the process after the last report.
    /// - Returns: nil if the limit is exceeded.
    package func next(within limit: Duration) async -> Next? {
        await state.first(within: limit) { state in
            if !state.reports.isEmpty { return .report(state.reports.removeFirst()) }
            return state.isOver ? .end : nil
        }
    }

    /// Kills the process with SIGKILL. Its earlier reports can still be read.
    package func kill() { child.signal(SIGKILL) }

    package var wasKilled: Bool { child.exit?.signal == SIGKILL }
    /// True if the process has ended by a signal of its own, such as SIGABRT.
    package var hasCrashed: Bool { child.exit?.signal != nil && !wasKilled }
}
