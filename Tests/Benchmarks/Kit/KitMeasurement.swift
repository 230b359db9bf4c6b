// SPDX-License-Identifier: Apache-2.0
import Foundation

/// What a process that uses StrataKit is to do, and what it needs for that. Handed to it as one line of JSON.
struct KitTask: Codable, Sendable {
    enum Kind: String, Codable, Sendable {
        /// Sign in, and fetch everything into an empty store.
        case coldSync
        /// The same, but with what is in the store already: fetch what was missed.
        case catchUp
        /// Queue messages without a connection, then connect, and send them.
        case sendQueue
        /// Show the newest messages of a conversation while more arrive.
        case liveQuery
        /// Fill the store with more than any server here has.
        case fillStore
        /// Open that store, and show the first screen.
        case firstScreen
    }

    var kind: Kind
    var app: String
    var server: URL
    /// The private key that identity tokens are signed with, and its names.
    var privateKey: String
    var provider: UUID
    var key: UUID
    var user: String
    /// Of the store.
    var folder: URL
    /// Messages to send, to await, or to write.
    var messages = 0
    var conversations = 0
    var conversation = ""
    /// A session of the same user, for a socket beside StrataKit's.
    var token = ""
    var gatewayPort = 0
}

/// What a process measured. Printed by it as one line of JSON.
struct KitMeasurement: Codable, Sendable {
    /// Of the wall clock.
    var seconds = 0.0
    /// Of processor time, of the whole process.
    var processorSeconds = 0.0
    var contextSwitches = 0
    /// By which resident memory grew, at its greatest.
    var memoryGrowth = 0
    var conversations = 0
    var messages = 0
    /// Of each single thing, in seconds.
    var delays: [Double] = []
    /// What else there is to say, such as failures.
    var remarks: [String] = []

    var medianDelay: Double { delays.isEmpty ? 0 : delays.sorted()[delays.count / 2] }
    var greatDelay: Double { delays.isEmpty ? 0 : delays.sorted()[delays.count * 99 / 100] }
}

/// What a process has used so far.
struct ProcessUsage: Sendable {
    let processorSeconds: Double
    let contextSwitches: Int
    let resident: Int
    let greatestResident: Int

    /// Of this process, now.
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
            processorSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime), contextSwitches: Int(usage.ru_nvcsw + usage.ru_nivcsw),
            resident: bytes("VmRSS:"), greatestResident: bytes("VmHWM:"))
    }

    /// What was used since then.
    func since(_ start: ProcessUsage, _ begun: ContinuousClock.Instant) -> KitMeasurement {
        KitMeasurement(
            seconds: (ContinuousClock.now - begun) / .seconds(1), processorSeconds: processorSeconds - start.processorSeconds,
            contextSwitches: contextSwitches - start.contextSwitches, memoryGrowth: greatestResident - start.resident)
    }
}
