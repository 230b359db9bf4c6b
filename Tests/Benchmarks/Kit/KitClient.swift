// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import NIOPosix
import StrataCommand
import StrataKit

/// An app built with StrataKit that performs one task and measures it. It runs in its own process, so that its memory
/// and CPU time are separate.
struct KitClient {
    let task: KitTask

    /// The argument that selects this mode of the executable.
    static let argument = "kit-bench-client"

    static func run(_ json: String) async throws {
        let task = try JSONDecoder().decode(KitTask.self, from: Data(json.utf8))
        let measurement = try await KitClient(task: task).measure()
        print(String(decoding: try JSONEncoder().encode(measurement), as: UTF8.self))
    }

    private func measure() async throws -> KitMeasurement {
        switch task.kind {
        case .coldSync: try await coldSync()
        case .catchUp: try await catchUp()
        case .sendQueue: try await sendQueue()
        case .liveQuery: try await liveQuery()
        case .fillStore: try await fillStore()
        case .firstScreen: try await firstScreen()
        }
    }

    private func client(_ policy: SyncPolicy = .completeHistory) throws -> StrataClient {
        let logger = Logger(label: "kit") { _ in
            var handler = StreamLogHandler.standardError(label: "kit")
            handler.logLevel = .warning
            return handler
        }
        return try StrataClient(
            appID: task.app,
            options: .init(server: task.server, syncPolicy: policy, directory: task.folder, logger: logger))
    }

    private func signIn(_ client: StrataClient) async throws {
        let nonce = try await client.requestAuthenticationNonce()
        let token = try await IdentityToken(provider: task.provider, key: task.key, user: task.user, nonce: nonce)
            .signed(with: task.privateKey)
        try await client.authenticate(identityToken: token)
    }

    /// Connects, and waits until everything has been fetched and sent. An earlier measurement may have left receipts to
    /// send. The second connection fetches the resulting changes.
    private func settle(_ client: StrataClient) async throws {
        for _ in 0..<2 {
            await client.disconnect()
            let events = client.events
            try await client.connect()
            await finished(events)
            while await client.pendingChangeCount > 0 { try await Task.sleep(for: .milliseconds(20)) }
        }
    }

    private func finished(_ events: AsyncStream<ClientEvent>) async {
        for await event in events { if case .synchronizationFinished = event { return } }
    }

    // MARK: Synchronization

    /// Measures from the sign-in until everything is in the store.
    private func coldSync() async throws -> KitMeasurement {
        let client = try client()
        let events = client.events
        let (start, begun) = (ProcessUsage.now(), ContinuousClock.now)
        try await client.connect()
        try await signIn(client)
        await finished(events)
        return try await counted(ProcessUsage.now().since(start, begun), client)
    }

    /// Measures from the connection until all missed changes are in the store.
    private func catchUp() async throws -> KitMeasurement {
        let client = try client()
        let events = client.events
        let (start, begun) = (ProcessUsage.now(), ContinuousClock.now)
        try await client.connect()
        await finished(events)
        return try await counted(ProcessUsage.now().since(start, begun), client)
    }

    private func counted(_ measurement: KitMeasurement, _ client: StrataClient) async throws -> KitMeasurement {
        var measurement = measurement
        measurement.conversations = try await client.count(Query<Conversation>())
        measurement.messages = try await client.count(Query<Message>())
        await client.close()
        return measurement
    }

    /// Measures from the connection until the queue is empty.
    private func sendQueue() async throws -> KitMeasurement {
        let client = try client()
        try await settle(client)
        await client.disconnect()
        let chats = try await client.execute(
            Query<Conversation>(sortBy: [.ascending(\.createdAt)], limit: task.conversations))
        guard !chats.isEmpty else { throw BenchProblem("there are no conversations to send to") }
        for number in 0..<task.messages {
            try await chats[number % chats.count].send(client.newMessage(parts: [.text("message \(number)")]))
        }
        let queued = await client.pendingChangeCount
        let (start, begun) = (ProcessUsage.now(), ContinuousClock.now)
        try await client.connect()
        while await client.pendingChangeCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
        var measurement = ProcessUsage.now().since(start, begun)
        measurement.messages = queued
        let failed = try await client.count(Query<Message>(where: { $0.isSent == false }))
        if failed > 0 { measurement.remarks.append("\(failed) were not sent") }
        await client.close()
        return measurement
    }

    // MARK: The screen

    /// Measures the delay of a live query of the newest messages while others write.
    ///
    /// A socket of the same user records the arrival of each packet. The difference is StrataKit's own delay.
    private func liveQuery() async throws -> KitMeasurement {
        guard let conversation = ConversationID(parsing: task.conversation) else {
            throw BenchProblem("\(task.conversation) is no conversation")
        }
        let client = try client()
        try await settle(client)
        let query = Query<Message>(where: { $0.conversationID == conversation }, sortBy: [.ascending(\.position)])
        let controller = try await client.queryController(query, paginationWindow: -200)
        try await controller.execute()
        let shown = await controller.count
        let updates = await controller.updates
        let socket = try await LoadSocket.open(
            port: task.gatewayPort, token: task.token, on: MultiThreadedEventLoopGroup.singleton)
        try await Task.sleep(for: .seconds(1))
        _ = try await socket.read { $0.keepsDelays = true }
        // The writer waits for this line.
        print("ready")
        fflush(nil)
        let (start, begun) = (ProcessUsage.now(), ContinuousClock.now)
        var delays: [Double] = []
        for await update in updates {
            let now = DispatchTime.now().uptimeNanoseconds
            for case .insert(let message, _) in update.changes {
                guard let text = message.parts.first?.text, text.hasPrefix("T"),
                    let sent = UInt64(text.dropFirst().prefix { $0.isNumber })
                else {
                    continue
                }
                delays.append(Double(now &- sent) / 1e9)
            }
            if delays.count >= task.messages { break }
        }
        var measurement = ProcessUsage.now().since(start, begun)
        let arrivals = try await socket.read { $0.delays }
        measurement.delays = zip(delays, arrivals).map { $0 - $1 }
        measurement.messages = shown
        socket.close()
        await client.close()
        return measurement
    }

    /// Creates the store by signing in, then writes conversations and messages into its file.
    private func fillStore() async throws -> KitMeasurement {
        let client = try client()
        let events = client.events
        try await client.connect()
        try await signIn(client)
        await finished(events)
        await client.close()
        let (start, begun) = (ProcessUsage.now(), ContinuousClock.now)
        try LargeStore(folder: task.folder, user: task.user)
            .fill(conversations: task.conversations, messages: task.messages)
        return ProcessUsage.now().since(start, begun)
    }

    /// Measures from the creation of the client until the newest conversations are loaded, with their last messages and
    /// unread counts.
    private func firstScreen() async throws -> KitMeasurement {
        let (start, begun) = (ProcessUsage.now(), ContinuousClock.now)
        let client = try client()
        let query = Query<Conversation>(sortBy: [.descending(\.lastMessage.receivedAt)], limit: 20)
        let controller = try await client.queryController(query)
        try await controller.execute()
        let shown = await controller.objects
        var measurement = ProcessUsage.now().since(start, begun)
        if shown.contains(where: { $0.lastMessage == nil || $0.totalUnreadMessageCount == 0 }) {
            measurement.remarks.append("some lack something")
        }
        measurement.conversations = shown.count
        return try await whole(measurement, client)
    }

    private func whole(_ measurement: KitMeasurement, _ client: StrataClient) async throws -> KitMeasurement {
        var measurement = measurement
        measurement.messages = try await client.count(Query<Message>())
        await client.close()
        return measurement
    }
}
