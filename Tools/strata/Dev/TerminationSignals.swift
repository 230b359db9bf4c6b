// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// The signals that ask this process to end: `SIGINT` (Ctrl-C), `SIGTERM`, and `SIGHUP` (the terminal closed).
package struct TerminationSignals: Sendable {
    /// The signals, one element for each that arrives.
    package let stream: AsyncStream<Int32>

    /// Starts to receive these signals, which then no longer end the process. Writing to a pipe without a reader does
    /// not end it either.
    package init(_ numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP]) {
        signal(SIGPIPE, SIG_IGN)
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.stream = stream
        let queue = DispatchQueue(label: "strata.signals")
        let sources = numbers.filter { !($0 == SIGHUP && Self.isIgnored($0)) }
            .map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler { continuation.yield(number) }
                source.activate()
                return Kept(source: source)
            }
        continuation.onTermination = { _ in
            for kept in sources { kept.source.cancel() }
        }
    }

    /// Returns true if the parent process had the signal ignored, as `nohup` does.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// A wrapper of a dispatch source. It is `@unchecked Sendable` because only `cancel` is called on it, which is
    /// allowed from any thread.
    private struct Kept: @unchecked Sendable {
        let source: any DispatchSourceSignal
    }
}
