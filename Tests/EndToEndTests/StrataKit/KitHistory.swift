// SPDX-License-Identifier: Apache-2.0

import Foundation
import KitClient
import ProtocolClient
import SeededRandom
import StrataKit
import TestCluster
import TestSupport

/// One random history: devices perform random operations over unreliable connections. In the end all devices must hold
/// the same state.
struct KitHistory {
    /// A device of a user. Its connections go through a proxy that cuts them.
    private final class Device {
        let name: String
        let folder: URL
        let proxy: CuttingProxy
        var user: KitUser
        /// Collects the events since this device's last start; ``recordedEvents`` has the earlier ones.
        var listening: Task<RecordedEvents, Never>
        var recordedEvents = RecordedEvents()
        var isOnline = true

        init(_ name: String, _ folder: URL, _ proxy: CuttingProxy, _ user: KitUser) {
            (self.name, self.folder, self.proxy, self.user) = (name, folder, proxy, user)
            listening = Device.listen(to: user.client)
        }

        static func listen(to client: StrataClient) -> Task<RecordedEvents, Never> {
            let events = client.events
            return Task {
                var recordedEvents = RecordedEvents()
                for await event in events {
                    switch event {
                    case .operationFailed(let failure): recordedEvents.refused.formUnion(failure.messages)
                    case .conversationMerged(let old, let new): recordedEvents.merged[old] = new
                    default: break
                    }
                }
                return recordedEvents
            }
        }

        /// Ends the client and collects its events. The end of the stream comes after all events in it.
        func close() async {
            await user.client.close()
            let last = await listening.value
            recordedEvents.refused.formUnion(last.refused)
            recordedEvents.merged.merge(last.merged) { $1 }
        }
    }

    private struct RecordedEvents {
        var refused: Set<MessageID> = []
        /// Distinct conversations that another user had created first, with the id of the existing conversation.
        var merged: [ConversationID: ConversationID] = [:]
    }

    let seed: UInt64
    let app: TestApp
    private var random: SeededGenerator
    private var devices: [Device] = []
    private var conversations: [ConversationID] = []
    /// The messages sent, with conversation and text, and the conversations in which something was deleted, so that a
    /// message may be missing.
    private var sent: [(id: MessageID, conversation: ConversationID, text: String)] = []
    private var deletedIn: Set<ConversationID> = []
    private var operations = 0
    private var trace: [String] = []

    init(seed: UInt64, app: TestApp) {
        (self.seed, self.app) = (seed, app)
        random = SeededGenerator(seed: seed)
    }

    private func name(_ number: Int) -> String { "\(["ana", "ben", "cleo"][number % 3])-\(seed)" }

    /// Carries out the history.
    /// - Returns: The problems found, as text, and the number of operations.
    mutating func run() async throws -> (problems: [String], operations: Int) {
        let count = Int.random(in: 2...4, using: &random)
        for number in 0..<count { devices.append(try await device(number)) }
        try await create(devices[0], isDistinct: true)
        for _ in 0..<Int.random(in: 6...14, using: &random) {
            for device in devices { await step(device) }
            // The random pause lets some operations end before the next one and others overlap with it.
            if Bool.random(using: &random) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...25, using: &random)))
            }
        }
        var problems: [String] = []
        for device in devices { try await comeBack(device) }
        for device in devices { problems += await compare(device) }
        problems += try await missing()
        for device in devices { await device.proxy.close() }
        if !problems.isEmpty { print("history \(seed):\n  " + trace.joined(separator: "\n  ")) }
        return (problems.map { "seed \(seed): \($0)" }, operations)
    }

    private func device(_ number: Int) async throws -> Device {
        let name = name(number)
        let target = app.system.client(number % 2, .v3).baseURL
        guard let port = URLComponents(string: target)?.port else { throw KitProblem("\(target) has no port") }
        let proxy = try await CuttingProxy.start(to: [port])
        let folder = try KitUser.folder("history")
        let user = KitUser(name: name, client: try Self.client(app, folder, proxy))
        let events = user.client.events
        try await user.client.connect()
        let nonce = try await user.client.requestAuthenticationNonce()
        try await user.client.authenticate(identityToken: try await app.identityToken(name, nonce: nonce))
        try await KitUser.finished(events)
        return Device(name, folder, proxy, user)
    }

    private static func client(_ app: TestApp, _ folder: URL, _ proxy: CuttingProxy) throws -> StrataClient {
        guard let server = URL(string: "http://127.0.0.1:\(proxy.port)") else { throw KitProblem("no URL") }
        return try StrataClient(
            appID: app.id, options: .init(server: server, syncPolicy: .completeHistory, directory: folder))
    }

    // MARK: Steps

    /// Performs a random operation. A refusal by the library is no problem, because the device may not know a
    /// conversation any more.
    private mutating func step(_ device: Device) async {
        operations += 1
        let kind = Int.random(in: 0..<100, using: &random)
        trace.append("\(operations) \(device.name) \(kind)")
        do {
            switch kind {
            case 0..<34: try await send(device)
            case 34..<50: try await changeMetadata(device)
            case 50..<58: try await changeParticipants(device)
            case 58..<66: try await read(device)
            case 66..<70: try await deleteMessage(device)
            case 70..<73: try await deleteConversation(device)
            case 73..<77: try await create(device, isDistinct: Bool.random(using: &random))
            case 77..<84: try await toggle(device)
            case 84..<89: device.proxy.cut()
            case 89..<95: device.proxy.loseAnswers()
            case 95..<98: try await restart(device)
            default: try await Task.sleep(for: .milliseconds(Int.random(in: 1...30, using: &random)))
            }
            trace[trace.count - 1] += " done"
        } catch {
            trace[trace.count - 1] += " \(error)"
        }
    }

    private mutating func conversation(_ device: Device) async throws -> StrataKit.Conversation {
        guard let id = conversations.randomElement(using: &random),
            let found = try await device.user.client.conversation(id)
        else {
            throw KitProblem("not known")
        }
        return found
    }

    private mutating func send(_ device: Device) async throws {
        let chat = try await conversation(device)
        let message = try device.user.client.newMessage(parts: [.text("\(device.name) \(operations)")])
        try await chat.send(message)
        sent.append((message.id, chat.id, "\(device.name) \(operations)"))
        if !trace.isEmpty { trace[trace.count - 1] += " sends \(message.id) to \(chat.id)" }
    }

    private mutating func changeMetadata(_ device: Device) async throws {
        let chat = try await conversation(device)
        let (key, value) = (["a", "b", "b.c", "d.e.f"].randomElement(using: &random) ?? "a", "\(operations)")
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try await chat.deleteMetadata(at: key)
        case 1: try await chat.setMetadata(["a": "\(operations)", "g": ["h": "1"]], merge: false)
        case 2: try await chat.setMetadata(["g": ["h": "\(operations)"]], merge: true)
        default: try await chat.setMetadata(value, at: key)
        }
    }

    private mutating func changeParticipants(_ device: Device) async throws {
        let chat = try await conversation(device)
        let user = UserID(trusted: name(Int.random(in: 0..<3, using: &random)))
        trace[trace.count - 1] += " \(chat.participantIDs.contains(user) ? "removes" : "adds") \(user) in \(chat.id)"
        if chat.participantIDs.contains(user) {
            guard user != device.user.id || Int.random(in: 0..<4, using: &random) == 0 else { return }
            try await chat.removeParticipants([user])
        } else {
            try await chat.addParticipants([user])
        }
    }

    private mutating func read(_ device: Device) async throws {
        if Bool.random(using: &random) { return _ = try await conversation(device).markAllMessagesAsRead() }
        let messages = try await device.user.client.messages(in: try await conversation(device).id)
        try await messages.randomElement(using: &random)?.markAsRead()
    }

    private mutating func deleteMessage(_ device: Device) async throws {
        let chat = try await conversation(device)
        let messages = try await device.user.client.messages(in: chat.id)
        deletedIn.insert(chat.id)
        guard let message = messages.randomElement(using: &random) else { return }
        let mode: DeletionMode = Bool.random(using: &random) ? .myDevices : .allParticipants
        trace[trace.count - 1] += " deletes \(message.id) at \(message.position ?? -1), \(mode)"
        try await message.delete(mode)
    }

    private mutating func deleteConversation(_ device: Device) async throws {
        let chat = try await conversation(device)
        deletedIn.insert(chat.id)
        let kind = Int.random(in: 0..<4, using: &random)
        trace[trace.count - 1] += " deletes \(chat.id), kind \(kind)"
        switch kind {
        case 0: try await chat.leave()
        case 1: try await chat.delete(.allParticipants)
        default: try await chat.delete(.myDevices)
        }
    }

    private mutating func create(_ device: Device, isDistinct: Bool) async throws {
        let other = UserID(trusted: name(Int.random(in: 0..<3, using: &random)))
        let participants = other == device.user.id ? Set((0..<3).map { UserID(trusted: name($0)) }) : [other]
        let chat = try await device.user.client.newConversation(
            with: participants, options: .init(isDistinct: isDistinct, metadata: ["made": "\(operations)"]))
        conversations.append(chat.id)
        let message = try device.user.client.newMessage(parts: [.text("\(device.name) \(operations)")])
        try await chat.send(message)
        sent.append((message.id, chat.id, "\(device.name) \(operations)"))
        if !trace.isEmpty { trace[trace.count - 1] += " sends \(message.id) to \(chat.id)" }
    }

    // MARK: Connections

    private func toggle(_ device: Device) async throws {
        if device.isOnline { await device.user.client.disconnect() } else { await connect(device.user.client) }
        device.isOnline.toggle()
    }

    /// Starts connecting without waiting for the first attempt, which takes long if answers are lost.
    private func connect(_ client: StrataClient) async {
        Task { try await client.connect() }
        while await client.connectionState == .disconnected { await Task.yield() }
    }

    /// Restarts a device's client, like a killed app.
    private func restart(_ device: Device) async throws {
        await device.close()
        device.user = KitUser(name: device.name, client: try Self.client(app, device.folder, device.proxy))
        device.listening = Device.listen(to: device.user.client)
        if device.isOnline { await connect(device.user.client) }
    }

    private func comeBack(_ device: Device) async throws {
        // Connections that have lost answers are unusable.
        device.proxy.cut()
        if !device.isOnline { try await toggle(device) }
    }

    // MARK: Final comparison

    /// Waits until the device holds the state that the server shows its user.
    /// - Returns: The remaining differences at the deadline.
    private func compare(_ device: Device) async -> [String] {
        let deadline = ContinuousClock.now + .seconds(30)
        var (difference, pause) = (["changes are pending"], Duration.milliseconds(20))
        do {
            let user = try await app.signIn(device.name)
            repeat {
                // Loading the server's state is expensive. Wait until no change of the device is pending, and pause
                // longer after each attempt.
                while await device.user.client.pendingChangeCount > 0, ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(5))
                }
                difference = try await KitComparison.differences(of: device.user.client, from: user)
                let pending = await device.user.client.pendingChangeCount
                if pending > 0 { difference.append("\(pending) changes are pending") }
                if difference.isEmpty { return [] }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(1))
            } while ContinuousClock.now < deadline
        } catch {
            difference.append("\(error)")
        }
        return difference.map { "\(device.name): \($0)" }
    }

    /// Returns messages that were sent, are missing, and were not reported as failed.
    private func missing() async throws -> [String] {
        var found: Set<String> = []
        for device in devices {
            for conversation in try await device.user.client.execute(Query<StrataKit.Conversation>()) {
                found.formUnion(
                    try await device.user.client.messages(in: conversation.id).filter(\.isSent)
                        .map { $0.parts.first?.text ?? "" })
            }
        }
        var recordedEvents = RecordedEvents()
        for device in devices {
            await device.close()
            recordedEvents.refused.formUnion(device.recordedEvents.refused)
            recordedEvents.merged.merge(device.recordedEvents.merged) { $1 }
        }
        return
            sent.filter { message in
                let conversation = recordedEvents.merged[message.conversation] ?? message.conversation
                return !found.contains(message.text) && !recordedEvents.refused.contains(message.id)
                    && !deletedIn.contains(conversation)
                    && !deletedIn.contains(message.conversation)
            }
            .map { "\($0.text) in \($0.conversation) is lost" }
    }
}
