// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestCluster

/// The event log of one history, for debugging. A failed history writes it to a file in the directory that
/// `STRATA_HISTORY_TRACE` names.
final class HistoryTrace: Sendable {
    private let directory: String
    private let lines = Mutex<[String]>([])

    /// Returns nil if no trace is requested.
    init?() {
        guard let directory = ProcessInfo.processInfo.environment["STRATA_HISTORY_TRACE"] else { return nil }
        self.directory = directory
    }

    func note(_ line: String) { lines.withLock { $0.append(line) } }

    func write(as name: String, failures: [String]) {
        let text = (lines.withLock { $0 } + failures).joined(separator: "\n")
        try? Data(text.utf8)
            .write(to: URL(fileURLWithPath: directory).appending(path: name.replacingOccurrences(of: " ", with: "-")))
    }
}
