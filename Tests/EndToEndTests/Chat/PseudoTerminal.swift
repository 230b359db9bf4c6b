// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import Synchronization
import TestCluster

@testable import ChatExample

/// A pseudo-terminal that runs a program, sends key presses and reads the screen.
final class PseudoTerminal: Sendable {
    private let master: Int32
    private let slave: Int32
    private let path: String
    private let received = Received()

    init(columns: Int = 100, rows: Int = 24) throws {
        var (master, slave) = (Int32(-1), Int32(-1))
        var window = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&master, &slave, nil, nil, &window) == 0, let name = ttyname(slave) else {
            throw KitProblem("there is no pseudo-terminal")
        }
        (self.master, self.slave, path) = (master, slave, String(cString: name))
        Thread { [received, master] in
            received.fill(from: master)
            close(master)
        }
        .start()
    }

    /// The reading thread ends when the last program closes the terminal.
    deinit { close(slave) }

    /// Starts a program with this terminal as its input and output.
    func start(
        _ program: String, _ words: [String], environment: [String: String], directory: String? = nil
    ) async throws -> ChildProcess {
        let shell = ["-c", "exec \"$@\" <\(path) >\(path) 2>&1", "sh", program]
        return try await ChildProcess.start(
            Launch(
                "/bin/sh", arguments: shell + words, environment: environment, directory: directory, deathSignal: .kill)
        )
    }

    func press(_ keys: String) {
        let bytes = Array(keys.utf8)
        _ = write(master, bytes, bytes.count)
    }

    /// Resizes the window. The test must send the program the signal for it.
    func resize(columns: Int, rows: Int) {
        var window = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &window)
    }

    /// The terminal's mode flags, in the order input, output, control, local; see `termios`.
    var settings: [UInt32] {
        var settings = termios()
        tcgetattr(slave, &settings)
        return [settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag]
    }

    var output: String { received.text }

    var lines: [String] { received.lines }

    func shows(_ text: String, fileID: String = #fileID, line: Int = #line) async throws {
        try await wait("\(fileID):\(line): “\(text)” is on the screen") { lines in lines.contains { $0.contains(text) }
        }
    }

    func showsNoLonger(_ text: String) async throws {
        try await wait("“\(text)” is gone from the screen") { lines in !lines.contains { $0.contains(text) } }
    }

    private func wait(_ what: String, _ condition: ([String]) -> Bool) async throws {
        let deadline = Waiting.deadline
        while !condition(lines) {
            guard .now < deadline else {
                throw KitProblem("\(what) did not happen; the screen:\n\(lines.joined(separator: "\n"))")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

private final class Received: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// The cached screen; nil after new output. Waiters read it often.
        var lines: [String]?
    }

    private let state = Mutex(State())

    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    var lines: [String] {
        state.withLock { state in
            let lines = state.lines ?? VirtualScreen(String(decoding: state.bytes, as: UTF8.self)).lines
            state.lines = lines
            return lines
        }
    }

    /// Reads until no process has the terminal open.
    func fill(from descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return }
            state.withLock { state in
                state.bytes += buffer.prefix(count)
                state.lines = nil
            }
        }
    }
}

/// A screen that interprets the escape sequences that the example Chat uses.
struct VirtualScreen {
    private var cells: [Int: [Int: Character]] = [:]
    private var (row, column) = (0, 0)

    init(_ output: String) {
        var rest = Substring(output)
        while let character = rest.popFirst() {
            guard character == "\u{1B}" else {
                put(character)
                continue
            }
            guard rest.popFirst() == "[" else { continue }
            let parameters = rest.prefix { !$0.isLetter }
            rest = rest.dropFirst(parameters.count)
            obey(rest.popFirst(), parameters.split(separator: ";").compactMap { Int($0) })
        }
    }

    private mutating func put(_ character: Character) {
        cells[row, default: [:]][column] = character
        column += character.terminalWidth
    }

    private mutating func obey(_ command: Character?, _ numbers: [Int]) {
        switch command {
        case "H": (row, column) = ((numbers.first ?? 1) - 1, (numbers.last ?? 1) - 1)
        case "G": column = (numbers.first ?? 1) - 1
        case "K": cells[row] = nil
        case "J": cells = [:]
        default: break
        }
    }

    /// The lines from the top to the last one that is not empty.
    var lines: [String] {
        (0...(cells.keys.max() ?? 0))
            .map { row in
                let line = cells[row] ?? [:]
                var text = ""
                var column = 0
                while column <= line.keys.max() ?? -1 {
                    text.append(line[column] ?? " ")
                    column += max(line[column]?.terminalWidth ?? 1, 1)
                }
                return text
            }
    }
}
