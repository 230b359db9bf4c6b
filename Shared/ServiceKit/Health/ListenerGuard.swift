// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore
import NetKit

/// A helper that adds an ``AcceptGuard`` to the listeners of HTTP servers.
public enum ListenerGuard {
    /// Adds an accept guard to a listener. Failures to accept are counted in
    /// `strata_process_accept_failures_total{listener="…"}`.
    /// - Parameters:
    ///   - name: The name of the listener in the log and the metric.
    ///   - reserve: The number of the process's descriptors that connections of this listener cannot use.
    public static func add(_ name: String, reserve: Int = 32, to channel: any Channel, logger: Logger) async {
        let failures = Counter(label: "strata_process_accept_failures_total", dimensions: [("listener", name)])
        // The listener may already be closed; then it needs no guard.
        try? await channel.eventLoop
            .submit {
                try AcceptGuard.add(name, reserve: reserve, to: channel, logger: logger) { failures.increment() }
            }
            .get()
    }
}
