// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The terminal of this process, which controls the whole screen until ``restore()``.
final class TerminalDevice: Sendable {
    enum Event: Sendable {
        case bytes([UInt8])
        case resized
        case closed
    }

    /// The events since the initialization.
    let events: AsyncStream<Event>
    private let inbox: AsyncStream<Event>.Continuation
    private let settings: termios
    private let isOurs = Atomic(true)

    /// True if standard input and output are a terminal.
    static var isPresent: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    /// Takes control of the terminal. Keys arrive one at a time and are not echoed.
    /// - Throws: ``CommandFailure`` if there is no terminal.
    init() throws {
        var settings = termios()
        guard Self.isPresent, tcgetattr(STDIN_FILENO, &settings) == 0 else {
            throw CommandFailure(.usage, "This needs a terminal for its input and output.")
        }
        self.settings = settings
        (events, inbox) = AsyncStream.makeStream(of: Event.self)
        cfmakeraw(&settings)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        write(FrameWriter.begin)
        listen()
    }

    deinit { restore() }

    /// Restores the original state of the terminal. A second call does nothing.
    func restore() {
        guard isOurs.exchange(false, ordering: .relaxed) else { return }
        inbox.finish()
        write(FrameWriter.end)
        var settings = settings
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    /// The size of the window. 80 columns and 24 rows if the terminal does not report it.
    var size: ScreenSize {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return ScreenSize(columns: 80, rows: 24)
        }
        return ScreenSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    /// Writes text unchanged. A closed terminal is detected by reading.
    func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(STDOUT_FILENO, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(count, 0))
        }
    }

    private func listen() {
        let queue = DispatchQueue(label: "strata.terminal")
        let reading = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        reading.setEventHandler { [inbox] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count > 0 { return _ = inbox.yield(.bytes(Array(buffer.prefix(count)))) }
            if count == 0 || (errno != EINTR && errno != EAGAIN) { _ = inbox.yield(.closed) }
        }
        signal(SIGWINCH, SIG_IGN)
        let resizing = DispatchSource.makeSignalSource(signal: SIGWINCH, queue: queue)
        resizing.setEventHandler { [inbox] in _ = inbox.yield(.resized) }
        let sources = Sources(reading: reading, resizing: resizing)
        inbox.onTermination = { _ in sources.cancel() }
        reading.activate()
        resizing.activate()
    }

    /// The dispatch sources. The type is `@unchecked Sendable` because only `cancel` is called on them, which is
    /// allowed from any thread.
    private struct Sources: @unchecked Sendable {
        let reading: any DispatchSourceRead
        let resizing: any DispatchSourceSignal

        func cancel() {
            reading.cancel()
            resizing.cancel()
        }
    }
}

/// Calls the system's `write`, which the method of the same name would hide.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
