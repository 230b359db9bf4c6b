// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The terminal of this process. Until ``restore()``, the chat has the whole screen.
final class TerminalDevice: Sendable {
    enum Event: Sendable {
        case bytes([UInt8])
        case resized
        /// The terminal was closed, or a signal asked this process to end.
        case closed
    }

    /// The events since the initialization.
    let events: AsyncStream<Event>
    private let inbox: AsyncStream<Event>.Continuation
    private let settings: termios
    /// A duplicate of standard output.
    private let screen: Int32
    private let isOurs = Atomic(true)

    /// True if standard input and output are a terminal.
    static var isPresent: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    /// Takes control of the terminal. Keys arrive one at a time and are not echoed. Standard output and standard error
    /// are discarded, because log lines would be written across the screen.
    /// - Throws: ``ChatFailure`` if there is no terminal.
    init() throws {
        var settings = termios()
        guard Self.isPresent, tcgetattr(STDIN_FILENO, &settings) == 0 else {
            throw ChatFailure("Input and output must be a terminal.")
        }
        self.settings = settings
        screen = dup(STDOUT_FILENO)
        (events, inbox) = AsyncStream.makeStream(of: Event.self)
        cfmakeraw(&settings)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        let nowhere = open("/dev/null", O_WRONLY)
        for output in [STDOUT_FILENO, STDERR_FILENO] { dup2(nowhere, output) }
        close(nowhere)
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
        for output in [STDOUT_FILENO, STDERR_FILENO] { dup2(screen, output) }
    }

    /// The size of the window. 80 columns and 24 rows if the terminal does not report it.
    var size: ScreenSize {
        var window = winsize()
        guard ioctl(screen, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return ScreenSize(columns: 80, rows: 24)
        }
        return ScreenSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    /// Writes text unchanged. A closed terminal is detected by reading.
    func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(screen, $0.baseAddress, $0.count) }
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
        let signals: [(number: Int32, event: Event)] = [
            (SIGWINCH, .resized), (SIGINT, .closed), (SIGTERM, .closed), (SIGHUP, .closed),
        ]
        let handlers = signals.map { number, event in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [inbox] in _ = inbox.yield(event) }
            return source
        }
        let sources = Sources(reading: reading, signals: handlers)
        inbox.onTermination = { _ in sources.cancel() }
        reading.activate()
        for handler in handlers { handler.activate() }
    }

    /// The dispatch sources. The type is `@unchecked Sendable` because only `cancel` is called on them, which is
    /// allowed from any thread.
    private struct Sources: @unchecked Sendable {
        let reading: any DispatchSourceRead
        let signals: [any DispatchSourceSignal]

        func cancel() {
            reading.cancel()
            for source in signals { source.cancel() }
        }
    }
}

/// Calls the system's `write`, which the method of the same name would hide.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
