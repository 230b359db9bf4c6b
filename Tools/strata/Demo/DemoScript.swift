// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import Synchronization

/// The actions of Ana and Ben, and the packets each expects.
struct DemoScript: Sendable {
    let system: DemoSystem
    let transcript: DemoTranscript
    /// The typing timeout: the server changes `started` to `paused` after this time, and `paused` to `finished` after
    /// the same time.
    let typingPeriod: Duration
    let ana: DemoUser
    let ben: DemoUser
    /// The identity of a third user, who never signs in.
    let cleo: String

    init(system: DemoSystem, transcript: DemoTranscript, typingPeriod: Duration) {
        self.system = system
        self.transcript = transcript
        self.typingPeriod = typingPeriod
        // In an app with other users, the same two users may already have conversations. New user ids avoid them.
        let suffix = system.app.isNew ? "" : "-" + UUID().uuidString.prefix(8).lowercased()
        ana = DemoUser(name: "Ana", id: "ana" + suffix, gateway: 0, system: system, transcript: transcript)
        ben = DemoUser(name: "Ben", id: "ben" + suffix, gateway: 1, system: system, transcript: transcript)
        cleo = "layer:///identities/cleo" + suffix
    }

    /// Runs the whole script. Failures are recorded in the transcript.
    /// - Throws: ``CommandFailure`` if the gateway refuses the app or its key.
    func play() async throws {
        transcript.chapter("Ana and Ben sign in")
        for user in [ana, ben] {
            do {
                try await user.openSession()
            } catch let error as ProtocolClientError {
                guard let failure = refusal(error) else {
                    return transcript.failedExpectation("\(user.name) could not sign in: \(error)")
                }
                throw failure
            }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await ana.run() }
            group.addTask { await ben.run() }
            await runChapters()
            group.cancelAll()
        }
    }

    private func refusal(_ error: ProtocolClientError) -> CommandFailure? {
        guard error.code == .refused, let answer = error.answer, (400..<500).contains(answer.status),
            answer.status != 429
        else { return nil }
        let app = LayerID.app.text(system.app.id)
        switch answer.errorID {
        case "invalid_app_id":
            return CommandFailure(.usage, "The app \(app) does not exist at \(system.gateways[0].baseURL).")
        case "app_suspended": return CommandFailure(.unavailable, "The app \(app) is suspended.")
        default:
            let reason = answer.errorID ?? "status \(answer.status)"
            return CommandFailure(
                .usage,
                "The gateway refuses the identity token (\(reason)). Key, key id and provider must be those of \(app).")
        }
    }

    private func runChapters() async {
        for user in [ana, ben] {
            guard await user.readySocket() != nil else {
                return transcript.failedExpectation("\(user.name) could not connect")
            }
            transcript.say("\(user.name) is connected, through \(user.gatewayName)")
        }
        guard let conversation = await conversation() else { return }
        await metadata(of: conversation)
        await typing(in: conversation)
        await messages(in: conversation)
        await absence(from: conversation)
        await account(of: conversation)
    }

    /// Returns the path of a conversation's or message's REST resource.
    static func path(_ id: String) -> String { String(id.dropFirst("layer://".count)) }

    static func newID(_ kind: String) -> String { "layer:///\(kind)/\(UUID().uuidString.lowercased())" }

    private func conversation() async -> String? {
        transcript.chapter("Ana and Ben get the same conversation")
        let data: JSONValue = [
            "id": .string(Self.newID("conversations")), "participants": [.string(ben.identity)], "distinct": true,
            "metadata": ["title": "Weekend trip"],
        ]
        let created = await ana.creates(
            "creates a conversation with Ben, entitled “Weekend trip”", method: "Conversation.create", data: data)
        guard let id = created?["id"].string else { return nil }
        await ana.sees("the conversation", operation: "create", of: "Conversation", id: id)
        await ben.sees("the conversation", operation: "create", of: "Conversation", id: id) {
            $0["metadata"]["title"].string == "Weekend trip"
        }
        let again: JSONValue = [
            "id": .string(Self.newID("conversations")), "participants": [.string(ana.identity)], "distinct": true,
        ]
        let found = await ben.does(
            "asks for a conversation with Ana", method: "POST", path: "/conversations", body: again)
        if found["id"].string == id {
            transcript.say("Ben is given the same one")
        } else {
            transcript.failedExpectation("Ben was not given the same conversation")
        }
        return id
    }

    private func metadata(of id: String) async {
        transcript.chapter("Nested metadata, live")
        let path = Self.path(id)
        let plan: JSONValue = [
            ["operation": "set", "property": "metadata.trip.city", "value": "Porto"],
            ["operation": "set", "property": "metadata.trip.hotel", "value": "Aurora"],
        ]
        await ana.patches("sets trip.city to “Porto” and trip.hotel to “Aurora”", path: path, operations: plan) {
            $0["metadata"]["trip"]["hotel"].string == "Aurora"
        }
        for user in [ben, ana] {
            await awaitReplica(user, what: "trip.city = Porto, trip.hotel = Aurora", of: id) {
                $0.metadata["trip"] == ["city": "Porto", "hotel": "Aurora"]
            }
        }
        let deletion: JSONValue = [["operation": "delete", "property": "metadata.trip.hotel"]]
        await ben.patches("deletes trip.hotel", path: path, operations: deletion) {
            $0["metadata"]["trip"]["hotel"].isNull
        }
        for user in [ana, ben] {
            await awaitReplica(user, what: "trip.hotel gone", of: id) { $0.metadata["trip"] == ["city": "Porto"] }
        }
    }

    private func messages(in id: String) async {
        transcript.chapter("A message, its receipts, and the counts")
        guard let first = await sendMessage("Train leaves at 8", by: ana, to: ben, in: id) else { return }
        await awaitReplica(ben, what: "one unread message of one", of: id) { $0.unread == 1 && $0.total == 1 }
        let receipts = Self.path(first) + "/receipts"
        let status = "recipient_status.\(ben.identity)"
        await ben.does("says it was delivered", method: "POST", path: receipts, body: ["type": "delivery"])
        await ana.sees("that it was delivered to Ben", operation: "update", of: "Message", id: first) {
            $0.has("set", property: status, value: "delivered")
        }
        await ben.does("reads it", method: "POST", path: receipts, body: ["type": "read"])
        await ana.sees("that Ben has read it", operation: "update", of: "Message", id: first) {
            $0.has("set", property: status, value: "read")
        }
        await awaitReplica(ben, what: "nothing unread", of: id) { $0.unread == 0 && $0.total == 1 }
        guard await sendMessage("I will be there", by: ben, to: ana, in: id) != nil,
            await sendMessage("With coffee", by: ben, to: ana, in: id) != nil
        else {
            return
        }
        await awaitReplica(ana, what: "two unread messages of three", of: id) { $0.unread == 2 && $0.total == 3 }
        await ana.does("reads everything", method: "POST", path: Self.path(id) + "/mark_all_read", body: [:])
        let reader = ana.identity
        for user in [ben, ana] {
            await user.sees("that Ana has read everything") {
                $0.type == "operation" && $0.body["method"].string == "Conversation.mark_all_read" && $0.objectID == id
                    && $0.data["identity"]["id"].string == reader
            }
        }
        await awaitReplica(ana, what: "nothing unread", of: id) { $0.unread == 0 && $0.total == 3 }
    }

    /// Sends a message and checks that both users see it.
    /// - Returns: The id of the message.
    private func sendMessage(_ text: String, by sender: DemoUser, to receiver: DemoUser, in id: String) async -> String?
    {
        guard let message = await post(text, by: sender, in: id) else { return nil }
        for user in [receiver, sender] { await user.sees("“\(text)”", operation: "create", of: "Message", id: message) }
        return message
    }

    /// Sends a message.
    /// - Returns: The id of the message.
    func post(_ text: String, by sender: DemoUser, in id: String) async -> String? {
        let message = Self.newID("messages")
        let data: JSONValue = ["id": .string(message), "parts": [["mime_type": "text/plain", "body": .string(text)]]]
        return await sender.creates("writes “\(text)”", method: "Message.create", in: id, data: data)?["id"].string
    }

    /// Waits until a user's replica of a conversation matches.
    func awaitReplica(
        _ user: DemoUser, what: String, of id: String, where matches: @escaping @Sendable (ConversationReplica) -> Bool
    ) async {
        let limit = transcript.missing.isEmpty ? DemoUser.patience : .seconds(8)
        let known = await user.state.first(within: limit) { $0.replicas[id].flatMap { matches($0) ? true : nil } }
        if known == true {
            transcript.say("\(user.name) sees \(what)")
        } else {
            transcript.failedExpectation("\(user.name) was not told: \(what)")
        }
    }
}

/// The output of a demo: a log with the seconds since the start, and a list of failed expectations.
final class DemoTranscript: Sendable {
    private let console: Console
    private let began = ContinuousClock.now
    private let missed = Mutex<[String]>([])

    init(console: Console) {
        self.console = console
    }

    /// The failed expectations so far.
    var missing: [String] { missed.withLock { $0 } }

    func chapter(_ title: String) {
        console.say("\n\(title)")
    }

    /// Prints one action or observation of a user.
    func say(_ text: String) {
        console.say("\(clock)  \(text)")
    }

    /// Prints a transient failure that a client must tolerate.
    func transientFailure(_ text: String) {
        console.say("\(clock)  ~ \(text)")
    }

    /// Records and prints a failed expectation.
    func failedExpectation(_ text: String) {
        missed.withLock { $0.append(text) }
        console.say("\(clock)  ✗ \(text)")
    }

    /// Prints a closing line without a time.
    func close(_ text: String) {
        console.say("\n\(text)")
    }

    private var clock: String {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return String(format: "%4d.%03d", seconds, attoseconds / 1_000_000_000_000_000)
    }
}
