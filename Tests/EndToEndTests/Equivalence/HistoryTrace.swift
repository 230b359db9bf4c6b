// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestCluster

/// What happened in one history, for the one who looks for a fault: written to a file of the directory that `STRATA_HISTORY_TRACE` names, if it failed.
final class HistoryTrace: Sendable {
    private let directory: String
    private let lines = Mutex<[String]>([])

    /// Nil if no trace was asked for.
    init?() {
        guard let directory = ProcessInfo.processInfo.environment["STRATA_HISTORY_TRACE"] else { return nil }
        self.directory = directory
    }

    func note(_ line: String) { lines.withLock { $0.append(line) } }

    func write(as name: String, failures: [String]) {
        let text = (lines.withLock { $0 } + failures).joined(separator: "\n")
        try? Data(text.utf8).write(to: URL(fileURLWithPath: directory).appending(path: name.replacingOccurrences(of: " ", with: "-")))
    }
}
