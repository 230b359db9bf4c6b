// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster

/// Samples the memory and open files of a cluster's processes from `/proc`.
struct ProcessWatch: Sendable {
    struct Sample: Sendable {
        /// Resident memory in bytes.
        let memory: Int
        let sockets: Int
        let files: Int
    }

    private let processes: [ServiceProcess]
    private let pids: [Int32]
    private(set) var samples: [[Sample]] = []

    init(_ processes: [ServiceProcess]) async {
        self.processes = processes
        var pids: [Int32] = []
        for process in processes { pids.append(await process.pid ?? 0) }
        self.pids = pids
    }

    var names: [String] { processes.map(\.name) }

    mutating func take() { samples.append(pids.map(Self.sample)) }

    /// Returns the names of processes that have been replaced since the start.
    func ended() async -> [String] {
        var names: [String] = []
        for (process, pid) in zip(processes, pids) where await process.pid != pid { names.append(process.name) }
        return names
    }

    static func sample(_ pid: Int32) -> Sample {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kilobytes = line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
        let sockets = files.filter { file in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(file)"))?
                .hasPrefix("socket:") ?? false
        }
        return Sample(memory: kilobytes << 10, sockets: sockets.count, files: files.count)
    }

    /// Returns a process's memory growth in bytes over the second half of the samples, by linear regression.
    func growth(of process: Int) -> Double {
        let values = samples.suffix(samples.count / 2).map { Double($0[process].memory) }
        guard values.count > 2 else { return 0 }
        let middle = Double(values.count - 1) / 2
        let mean = values.reduce(0, +) / Double(values.count)
        let (above, below) = values.enumerated()
            .reduce((0.0, 0.0)) { sums, item in
                let distance = Double(item.offset) - middle
                return (sums.0 + distance * (item.element - mean), sums.1 + distance * distance)
            }
        return above / below * Double(values.count - 1)
    }
}
