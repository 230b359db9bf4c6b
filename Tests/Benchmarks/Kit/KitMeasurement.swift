// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The task of a process that uses StrataKit, with its parameters. The process receives it as one line of JSON.
struct KitTask: Codable, Sendable {
    enum Kind: String, Codable, Sendable {
        /// Signs in and synchronizes into an empty store.
        case coldSync
        /// Connects with an existing store and fetches the missed changes.
        case catchUp
        /// Queues messages while offline, then connects and sends them.
        case sendQueue
        /// Shows the newest messages of a conversation while more arrive.
        case liveQuery
        /// Fills the store with more data than any server here has.
        case fillStore
        /// Opens the large store and shows the first screen.
        case firstScreen
    }

    var kind: Kind
    var app: String
    var server: URL
    /// The private key that signs identity tokens.
    var privateKey: String
    var provider: UUID
    var key: UUID
    var user: String
    /// The directory of the store.
    var folder: URL
    /// The number of messages to send, to receive, or to write.
    var messages = 0
    var conversations = 0
    var conversation = ""
    /// The session token of the same user, for a socket that is independent of StrataKit.
    var token = ""
    var gatewayPort = 0
}

/// The measurement of a process, which prints it as one line of JSON.
struct KitMeasurement: Codable, Sendable {
    /// The wall clock time.
    var seconds = 0.0
    /// The CPU time of the whole process.
    var processorSeconds = 0.0
    var contextSwitches = 0
    /// The growth of the resident memory to its peak, in bytes.
    var memoryGrowth = 0
    var conversations = 0
    var messages = 0
    /// The delays of the single items, in seconds.
    var delays: [Double] = []
    /// Remarks, such as failures.
    var remarks: [String] = []

    var medianDelay: Double { delays.isEmpty ? 0 : delays.sorted()[delays.count / 2] }
    var delay99: Double { delays.isEmpty ? 0 : delays.sorted()[delays.count * 99 / 100] }
}

struct ProcessUsage: Sendable {
    let processorSeconds: Double
    let contextSwitches: Int
    let resident: Int
    let greatestResident: Int

    static func now() -> ProcessUsage {
        var usage = rusage()
        getrusage(__rusage_who_t(0), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func bytes(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            return (line?.split(separator: " ").dropLast().last).flatMap { Int($0) }.map { $0 * 1024 } ?? 0
        }
        return ProcessUsage(
            processorSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            contextSwitches: Int(usage.ru_nvcsw + usage.ru_nivcsw),
            resident: bytes("VmRSS:"), greatestResident: bytes("VmHWM:"))
    }

    func since(_ start: ProcessUsage, _ begun: ContinuousClock.Instant) -> KitMeasurement {
        KitMeasurement(
            seconds: (ContinuousClock.now - begun) / .seconds(1),
            processorSeconds: processorSeconds - start.processorSeconds,
            contextSwitches: contextSwitches - start.contextSwitches, memoryGrowth: greatestResident - start.resident)
    }
}
