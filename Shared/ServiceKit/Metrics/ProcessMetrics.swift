// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetKit
import RPC

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The operating system's metrics of this process, read on each request.
enum ProcessMetrics {
    /// Returns CPU, memory, descriptors, threads and start time under the standard names of Prometheus clients.
    /// Unreadable values are omitted.
    static func text() -> String {
        var text = ""
        if let stat = stat() {
            let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
            text.metric(
                "process_cpu_seconds_total", type: "counter", value: (stat.userTicks + stat.systemTicks) / ticks)
            text.metric("process_threads", type: "gauge", value: stat.threads)
            text.metric("process_virtual_memory_bytes", type: "gauge", value: stat.virtualBytes)
            text.metric(
                "process_resident_memory_bytes", type: "gauge",
                value: stat.residentPages * Double(sysconf(Int32(_SC_PAGESIZE))))
            if let boot = bootTime() {
                text.metric("process_start_time_seconds", type: "gauge", value: boot + stat.startTicks / ticks)
            }
        }
        if let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            // Reading the directory uses one descriptor.
            text.metric("process_open_fds", type: "gauge", value: Double(max(0, descriptors - 1)))
        }
        if let limits = OpenFileLimit.current {
            text.metric("process_max_fds", type: "gauge", value: Double(limits.soft))
        }
        return text
    }

    private struct Stat {
        var userTicks, systemTicks, threads, startTicks, virtualBytes, residentPages: Double
    }

    /// Reads `/proc/self/stat`. The second field is the command in parentheses and may contain anything, so fields are
    /// counted from its end.
    private static func stat() -> Stat? {
        guard let line = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let end = line.lastIndex(of: ")")
        else { return nil }
        let fields = line[line.index(after: end)...].split(separator: " ").map { Double($0) ?? 0 }
        guard fields.count > 21 else { return nil }
        return Stat(
            userTicks: fields[11], systemTicks: fields[12], threads: fields[17], startTicks: fields[19],
            virtualBytes: fields[20],
            residentPages: fields[21])
    }

    private static func bootTime() -> Double? {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        return text.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
    }
}

extension String {
    fileprivate mutating func metric(_ name: String, type: String, value: Double) {
        append("# TYPE \(name) \(type)\n")
        line(name, labels: "", value: value.prometheus)
    }
}
