// SPDX-License-Identifier: Apache-2.0

import KitClient
import ProtocolClient
import SeededRandom
import StrataKit
import TestCluster

/// One random history: devices perform random operations over unreliable connections. In the end all devices, and fresh
/// ones of the same users, must hold the same state.
struct KitHistory {
    let seed: UInt64
    private let app: TestApp
    /// The libraries of the devices, in turn.
    private let libraries: [KitLibrary]
    private var random: SeededGenerator
    private var devices: [KitHistoryDevice] = []
    private var conversations: [String] = []
    private var sent: [(message: String, conversation: String)] = []
    /// The conversations in which something was deleted, so that a message may be missing.
    private var deletedIn: Set<String> = []
    /// The distinct conversations by their first participants. The server keeps the first one created of each set.
    private var distinct: [Set<String>: Set<String>] = [:]
    private var operations = 0
    private var trace: [String] = []

    init(seed: UInt64, app: TestApp, libraries: [KitLibrary]) {
        (self.seed, self.app, self.libraries) = (seed, app, libraries)
        random = SeededGenerator(seed: seed)
    }

    private func name(_ number: Int) -> String {
        "\(["ana", "ben", "cleo"][number % 3])-\(seed)" + (libraries.count > 1 ? "-both" : "")
    }

    /// Carries out the history.
    /// - Returns: The problems found, as text, and the number of operations.
    mutating func run() async throws -> (problems: [String], operations: Int) {
        for number in 0..<Int.random(in: 2...4, using: &random) {
            let library = libraries[number % libraries.count]
            devices.append(try await KitHistoryDevice(name(number), library, of: app, via: number % 2))
        }
        try await carryOut(creation(devices[0], isDistinct: true), on: devices[0])
        for _ in 0..<Int.random(in: 6...14, using: &random) {
            for device in devices { await step(device) }
            // The random pause lets some operations end before the next one and others overlap with it.
            if Bool.random(using: &random) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...25, using: &random)))
            }
        }
        for device in devices { try await device.comeBack() }
        var problems = await differences()
        if problems.isEmpty {
            for (number, user) in Set(devices.map(\.name)).sorted().enumerated() {
                let library = libraries[number % libraries.count]
                devices.append(try await KitHistoryDevice(user, library, of: app, via: number % 2))
            }
            problems = await differences()
        }
        problems += try await faults()
        for device in devices { await device.close() }
        if !problems.isEmpty { print("history \(seed):\n  " + trace.joined(separator: "\n  ")) }
        return (problems.map { "seed \(seed): \($0)" }, operations)
    }

    // MARK: Steps

    /// Performs a random operation. A refusal by the library is no problem, because the device may not know a
    /// conversation any more.
    private mutating func step(_ device: KitHistoryDevice) async {
        operations += 1
        let kind = Int.random(in: 0..<100, using: &random)
        trace.append("\(operations) \(device.name) \(device.library.rawValue)")
        do {
            switch kind {
            case 77..<84: try await note("toggles the connection") { try await device.toggle() }
            case 84..<89: try await note("is cut") { device.proxy.cut() }
            case 89..<95: try await note("loses answers") { device.proxy.loseAnswers() }
            case 95..<98: try await note("restarts") { try await device.restart() }
            case 98...:
                let pause = Int.random(in: 1...30, using: &random)
                try await note("pauses") { try await Task.sleep(for: .milliseconds(pause)) }
            default: try await carryOut(action(kind, of: device), on: device)
            }
            trace[trace.count - 1] += ", done"
        } catch {
            trace[trace.count - 1] += ", \(error)"
        }
    }

    private mutating func note(_ what: String, _ body: () async throws -> Void) async throws {
        trace[trace.count - 1] += " \(what)"
        try await body()
    }

    private mutating func action(_ kind: Int, of device: KitHistoryDevice) -> KitCommand.Action {
        let id = conversations.randomElement(using: &random) ?? ""
        let (text, index) = ("\(device.name) \(operations)", Int.random(in: 0..<1000, using: &random))
        switch kind {
        case 0..<31: return .send(conversation: id, text: text)
        case 31..<34: return .edit(conversation: id, index: index, text: text)
        case 34..<50: return metadataChange(in: id)
        case 50..<58:
            let user = name(Int.random(in: 0..<3, using: &random))
            return .toggle(conversation: id, user: user, leaves: Int.random(in: 0..<4, using: &random) == 0)
        case 58..<66:
            return Bool.random(using: &random) ? .readAll(conversation: id) : .readOne(conversation: id, index: index)
        case 66..<70: return .deleteOne(conversation: id, index: index, mode: mode())
        case 70..<73:
            let leaves = Int.random(in: 0..<4, using: &random) == 0
            return leaves ? .leave(conversation: id) : .deleteConversation(conversation: id, mode: mode())
        default: return creation(device, isDistinct: Bool.random(using: &random))
        }
    }

    private mutating func mode() -> DeletionMode { Bool.random(using: &random) ? .myDevices : .allParticipants }

    private mutating func metadataChange(in id: String) -> KitCommand.Action {
        let path = ["a", "b", "b.c", "d.e.f"].randomElement(using: &random) ?? "a"
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .unset(conversation: id, path: path)
        case 1: return .replace(conversation: id, metadata: ["a": "\(operations)", "g.h": "1"])
        case 2: return .merge(conversation: id, metadata: ["g.h": "\(operations)"])
        default: return .set(conversation: id, path: path, value: "\(operations)")
        }
    }

    private mutating func creation(_ device: KitHistoryDevice, isDistinct: Bool) -> KitCommand.Action {
        let other = name(Int.random(in: 0..<3, using: &random))
        let others = other == device.name ? (0..<3).map { name($0) } : [other]
        return .create(
            others: others, isDistinct: isDistinct, metadata: ["made": "\(operations)"],
            text: "\(device.name) \(operations)")
    }

    private mutating func carryOut(_ action: KitCommand.Action, on device: KitHistoryDevice) async throws {
        if !trace.isEmpty { trace[trace.count - 1] += " \(action)" }
        let objects = try await device.execute(action)
        if !trace.isEmpty { trace[trace.count - 1] += " \(objects)" }
        switch action {
        case .create(let others, let isDistinct, _, _):
            conversations += objects.prefix(1)
            sent += objects.dropFirst().map { (message: $0, conversation: objects[0]) }
            if isDistinct { distinct[Set(others + [device.name]), default: []].insert(objects[0]) }
        case .send(let id, _): sent += objects.map { (message: $0, conversation: id) }
        case .deleteOne(let id, _, _), .deleteConversation(let id, _), .leave(let id): deletedIn.insert(id)
        default: break
        }
    }

    // MARK: Final comparison

    private func differences() async -> [String] {
        var found: [String] = []
        for device in devices { found += await differences(of: device) }
        return found
    }

    /// Waits until the device holds the state that the server shows its user.
    /// - Returns: The remaining differences at the deadline.
    private func differences(of device: KitHistoryDevice) async -> [String] {
        let deadline = ContinuousClock.now + .seconds(30)
        var (found, pause) = (["changes are pending"], Duration.milliseconds(20))
        do {
            let user = try await app.signIn(device.name)
            repeat {
                let (pending, objects) = try await device.state()
                // Loading the server's state is expensive. Wait until no change of the device is pending.
                found = pending > 0 ? ["\(pending) changes are pending"] : []
                if found.isEmpty { found = try await KitComparison.differences(of: objects, from: user) }
                if found.isEmpty { return [] }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(1))
            } while ContinuousClock.now < deadline
        } catch {
            found.append("\(error)")
        }
        return found.map { "\(device.name) \(device.library.rawValue): \($0)" }
    }

    /// Returns the messages that were sent, are missing, and were not reported as failed, and those that arrived twice.
    private func faults() async throws -> [String] {
        var (found, faults): (Set<String>, [String]) = ([], [])
        for device in devices {
            let objects = try await device.state().objects
            found.formUnion(objects.compactMap { $0["id"].string })
            let twice = Dictionary(grouping: objects.compactMap { $0["text"].string }) { $0 }.filter { $1.count > 1 }
            faults += twice.keys.sorted().map { "\(device.name): \($0) arrived twice" }
        }
        for device in devices { found.formUnion(device.refused) }
        let deleted = distinct.values.filter { !$0.isDisjoint(with: deletedIn) }.reduce(deletedIn) { $0.union($1) }
        let lost = sent.filter { !found.contains($0.message) && !deleted.contains($0.conversation) }
        return faults + lost.map { "\($0.message) in \($0.conversation) is lost" }
    }
}
