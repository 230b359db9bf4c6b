// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import StrataCommand

/// Benchmarks of an app built with StrataKit: the first synchronization, a catch-up, sending the queue, and updating
/// screens.
struct KitBench {
    private let system: BenchSystem
    private let group: any EventLoopGroup
    private let home: URL

    /// The number of signed-in users. The first one uses the app, the others write to it.
    private static let users = 201

    enum Step: String, CaseIterable, Sendable { case sync, catchup, queue, live, many, large }

    static func run(_ steps: Set<Step>, group: any EventLoopGroup) async throws -> [String] {
        // The app's session has the default rate limit. The limit of an address is lifted, because all users share one.
        let system = try await BenchSystem(settings: ["STRATA_RATE_LIMIT_SESSION": "200/4000"])
        let home = FileManager.default.temporaryDirectory.appendingPathComponent(
            "strata-kit-bench-\(UUID().uuidString.prefix(8))")
        let bench = KitBench(system: system, group: group, home: home)
        let result: Result<[String], any Error>
        do {
            try await system.signIn(users: users)
            result = .success(try await bench.measure(steps))
        } catch {
            result = .failure(error)
        }
        try await system.stop()
        try? FileManager.default.removeItem(at: home)
        return try result.get()
    }

    private func measure(_ steps: Set<Step>) async throws -> [String] {
        var lines: [String] = []
        if !steps.isDisjoint(with: [.sync, .catchup, .queue, .live]) {
            let chats = try await converse(with: 0, conversations: 1000, messages: 20)
            // Another device receives all messages first, so that they are delivered. Its store is used by later steps.
            _ = try await measure(.coldSync, in: "first")
            if steps.contains(.sync) { lines += try await firstSyncs(messages: 20 * 1000) }
            if steps.contains(.catchup) { lines += try await catchUp(chats) }
            if steps.contains(.queue) { lines += try await queue() }
            if steps.contains(.live) { lines += try await live(chats[0]) }
        }
        if steps.contains(.many) { lines += try await manyConversations() }
        if steps.contains(.large) { lines += try await largeStore() }
        return lines
    }

    // MARK: Measurements

    private func firstSyncs(messages: Int) async throws -> [String] {
        var lines: [String] = []
        for (name, delay) in [("", TimeAmount.zero), (" at a round trip of 80 ms", .milliseconds(40))] {
            let proxy =
                delay == .zero ? nil : try await DelayingProxy.start(to: system.gatewayPort, delay: delay, on: group)
            var runs: [(KitMeasurement, Double)] = []
            for number in 0..<3 {
                let before = system.processorTime()
                let run = try await measure(.coldSync, in: "cold-\(name.count)-\(number)", port: proxy?.port)
                guard run.conversations == 1000, run.messages == messages else {
                    throw BenchProblem("fetched \(run.messages) of \(messages) messages")
                }
                runs.append((run, system.processorTime() - before))
            }
            await proxy?.close()
            let (run, server) = runs.sorted { $0.0.seconds < $1.0.seconds }[1]
            lines.append(
                "kit: first synchronization of 1,000 conversations and \(messages) messages\(name): \(seconds(run.seconds)), CPU \(seconds(run.processorSeconds)) "
                    + "of the app and \(seconds(server)) of all servers, \(run.contextSwitches) context switches, memory grew by \(run.memoryGrowth >> 20) MB"
            )
        }
        return lines
    }

    private func catchUp(_ chats: [Chat]) async throws -> [String] {
        try await write(10, to: chats)
        let before = system.processorTime()
        let run = try await measure(.catchUp, in: "first")
        let server = system.processorTime() - before
        guard run.messages == 30_000 else {
            throw BenchProblem("after the catch-up there are \(run.messages) messages")
        }
        return [
            "kit: catch-up of 10,000 messages: \(seconds(run.seconds)), CPU \(seconds(run.processorSeconds)) of the app and \(seconds(server)) of all servers, "
                + "memory grew by \(run.memoryGrowth >> 20) MB"
        ]
    }

    private func queue() async throws -> [String] {
        let before = system.processorTime()
        let run = try await measure(.sendQueue, in: "first") {
            $0.messages = 1000
            $0.conversations = 20
        }
        let server = system.processorTime() - before
        return [
            "kit: \(run.messages) queued messages in 20 conversations sent: \(seconds(run.seconds)), CPU \(seconds(run.processorSeconds)) of the app and "
                + "\(seconds(server)) of all servers" + remarks(run)
        ]
    }

    private func live(_ chat: Chat) async throws -> [String] {
        try await write(200, to: [chat])
        let run = try await measure(.liveQuery, in: "first") {
            $0.messages = 200
            $0.conversation = "layer:///conversations/\(chat.id)"
            $0.token = system.token(0)
        } whenReady: {
            for _ in 0..<200 {
                try await send("T\(DispatchTime.now().uptimeNanoseconds) ", to: chat)
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        return [
            "kit: a live query of \(run.messages) messages is updated after a packet has come: median \(milliseconds(run.medianDelay)), 99 % within "
                + "\(milliseconds(run.delay99)), CPU \(milliseconds(run.processorSeconds / 200)) a message"
        ]
    }

    private func manyConversations() async throws -> [String] {
        _ = try await converse(with: 200, conversations: 5000, messages: 1)
        let run = try await measure(.coldSync, in: "many", user: 200)
        guard run.conversations == 5000 else { throw BenchProblem("fetched \(run.conversations) conversations") }
        let refused = try await metric("strata_gateway_rate_limited_total")
        return [
            "kit: first synchronization of 5,000 conversations: \(seconds(run.seconds)), CPU \(seconds(run.processorSeconds)) of the app, memory grew by "
                + "\(run.memoryGrowth >> 20) MB, requests refused with 429 so far: \(refused)"
        ]
    }

    private func largeStore() async throws -> [String] {
        _ = try await measure(.fillStore, in: "large", user: 199) {
            $0.conversations = 10_000
            $0.messages = 1_000_000
        }
        var runs: [KitMeasurement] = []
        for _ in 0..<5 { runs.append(try await measure(.firstScreen, in: "large", user: 199)) }
        let run = runs.sorted { $0.seconds < $1.seconds }[2]
        return [
            "kit: first screen of a store of 10,000 conversations and \(run.messages) messages: \(milliseconds(run.seconds)), CPU "
                + milliseconds(run.processorSeconds) + remarks(run)
        ]
    }

    private func seconds(_ value: Double) -> String { String(format: "%.2f s", value) }
    private func milliseconds(_ value: Double) -> String { String(format: "%.1f ms", value * 1000) }
    private func remarks(_ run: KitMeasurement) -> String { run.remarks.map { "; \($0)" }.joined() }

    // MARK: Test data

    /// A conversation with the user of the app.
    private struct Chat: Sendable {
        /// The id without the prefix.
        let id: String
        /// The other user, who writes the messages.
        let writer: Int
    }

    private static let writers = 1...100

    private func converse(with user: Int, conversations: Int, messages: Int) async throws -> [Chat] {
        let chats = try await withThrowingTaskGroup(of: [Chat].self) { tasks in
            for writer in Self.writers {
                tasks.addTask {
                    var chats: [Chat] = []
                    for _ in 0..<conversations / Self.writers.count {
                        chats.append(
                            Chat(id: try await system.conversation(of: [user, writer], as: writer), writer: writer))
                    }
                    return chats
                }
            }
            return try await tasks.reduce(into: []) { $0 += $1 }
        }
        try await write(messages, to: chats)
        return chats
    }

    /// Writes `messages` messages to each conversation, in 32 conversations concurrently.
    private func write(_ messages: Int, to chats: [Chat]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, chat) in chats.enumerated() {
                if number >= 32 { try await tasks.next() }
                tasks.addTask { for message in 0..<messages { try await send("message \(message)", to: chat) } }
            }
            try await tasks.waitForAll()
        }
    }

    private func send(_ text: String, to chat: Chat) async throws {
        try await system.post(
            "/conversations/\(chat.id)/messages", as: chat.writer,
            #"{"parts":[{"mime_type":"text/plain","body":"\#(text)"}]}"#)
    }

    // MARK: The measured process

    /// Runs a process and returns its measurement.
    /// - Parameters:
    ///   - store: The name of the store's directory, which later measurements may use again.
    ///   - port: The server's port. nil: that of the gateway.
    ///   - change: Sets further parameters of the task.
    ///   - whenReady: Called when the process is ready.
    private func measure(
        _ kind: KitTask.Kind, in store: String, user: Int = 0, port: Int? = nil,
        _ change: (inout KitTask) -> Void = { _ in },
        whenReady: @Sendable () async throws -> Void = {}
    ) async throws -> KitMeasurement {
        guard let server = URL(string: "http://127.0.0.1:\(port ?? system.gatewayPort)") else {
            throw BenchProblem("there is no such port")
        }
        var task = KitTask(
            kind: kind, app: "layer:///apps/production/\(system.app.id.uuidString.lowercased())", server: server,
            privateKey: system.app.privateKey ?? "",
            provider: system.app.providerID, key: system.app.keyID, user: "u\(user)",
            folder: home.appendingPathComponent(store),
            gatewayPort: system.gatewayPort)
        change(&task)
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = [KitClient.argument, String(decoding: try JSONEncoder().encode(task), as: UTF8.self)]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var result: KitMeasurement?
        for await line in Self.lines(of: output.fileHandleForReading) {
            if line == "ready" {
                try await whenReady()
            } else {
                result = try JSONDecoder().decode(KitMeasurement.self, from: Data(line.utf8))
            }
        }
        process.waitUntilExit()
        guard let result, process.terminationStatus == 0 else {
            throw BenchProblem("\(kind) ended with \(process.terminationStatus)")
        }
        return result
    }

    private static func lines(of handle: FileHandle) -> AsyncStream<String> {
        AsyncStream { continuation in
            Task.detached {
                var rest = Data()
                while true {
                    let data = handle.availableData
                    guard !data.isEmpty else { break }
                    rest += data
                    while let end = rest.firstIndex(of: 10) {
                        continuation.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                        rest = Data(rest[(end + 1)...])
                    }
                }
                continuation.finish()
            }
        }
    }

    /// Returns the sum of one of the gateway's counters.
    private func metric(_ name: String) async throws -> Int {
        let port = system.state.processes.first { $0.service == "gateway" }?.adminPort ?? 0
        let text = try await system.text("http://127.0.0.1:\(port)/metrics")
        let values = text.split(separator: "\n").filter { $0.hasPrefix(name) }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }
        return Int(values.reduce(0, +))
    }
}
