// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore
import NetKit

/// Adds an accept guard to listeners of HTTP servers.
public enum ListenerGuard {
    /// Keeps the listener through a time without descriptors or memory, and counts in `strata_process_accept_failures_total{listener="…"}` what it could not accept.
    /// - Parameters:
    ///   - name: tells the listeners of one process apart, in the log and in the metric.
    ///   - reserve: how many of the descriptors that the process may have are not for connections of this listener.
    public static func add(_ name: String, reserve: Int = 32, to channel: any Channel, logger: Logger) async {
        let failures = Counter(label: "strata_process_accept_failures_total", dimensions: [("listener", name)])
        // The listener may be gone already; it needs no guard then.
        try? await channel.eventLoop
            .submit {
                try AcceptGuard.add(name, reserve: reserve, to: channel, logger: logger) { failures.increment() }
            }
            .get()
    }
}
