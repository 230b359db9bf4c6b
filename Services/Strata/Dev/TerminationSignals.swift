// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// The wishes of the terminal and of `kill` that we end: Ctrl-C, `TERM`, and a terminal that goes away.
package struct TerminationSignals: Sendable {
    /// One element for each signal that arrives.
    package let stream: AsyncStream<Int32>

    /// From now on these signals do not end the process, and neither does writing to a pipe that has no reader.
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

    /// Whether the process that started us had it ignored, as `nohup` does.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// `@unchecked Sendable`: a dispatch source may be cancelled from any thread, and nothing else is done with it here.
    private struct Kept: @unchecked Sendable {
        let source: any DispatchSourceSignal
    }
}
