// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 12.7 to 12.11: heartbeats, presence, recovery, closing, ordering.
enum S12Sync {
    static let rules: [Rule] = heartbeats + presence + recovery + closing + ordering

    // MARK: 12.7

    private static let heartbeats: [Rule] = [
        Rule("12.7", "the server pings within a minute, and an answering client stays", slow: true) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let deadline = ContinuousClock.now + .seconds(75)
            // Poll the number of pings, because they are not delivered as packets.
            while socket.pingCount == 0, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(250))
            }
            f.check(socket.pingCount > 0, "no ping")
            try await socket.does("Counter.read")
        },
        Rule("12.7", "nothing else is sent to a quiet socket", slow: true) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let deadline = ContinuousClock.now + .seconds(75)
            while socket.pingCount == 0, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(250))
            }
            f.equal(try await socket.ask("Counter.read").packet.counter, 1)
        },
        Rule("12.7", "a socket that answers no ping is closed with 4408", slow: true) { f in
            let ana = try await f.user("ana")
            var options = ProtocolSocket.Options()
            options.answersPings = false
            let socket = try await ana.silentSocket(options: options)
            try await socket.does("Counter.read")
            f.equal(try await socket.waitForClose(deadline: .now + .seconds(175)).code, 4408)
        },
    ]

    // MARK: 12.9

    static func replay(
        _ user: User, from time: String, version: ProtocolVersion? = nil
    ) async throws -> (packets: [ReceivedPacket], answer: SocketResponse) {
        let socket = try await user.silentSocket(gateway: 1, version: version)
        let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": .string(time)])
        return (socket.history.filter { $0.index < answer.packet.index }, answer)
    }

    static let longAgo = "2019-01-01T00:00:00.000Z"

    // MARK: 12.10

    private static let closing: [Rule] = [
        Rule("12.10", "the end of the session closes with 4401, and the session check answers 401 then") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket(gateway: 1)
            try await ana.does("DELETE", "/sessions/\(ana.session)")
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401)
            f.refused(
                try await ana.call("GET", "/?action=validateConnectionForWebsocket&client=4.0.6"),
                "authentication_required")
        },
        Rule("12.10", "a client that closes is answered in kind") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            await socket.close(code: 1000)
            f.equal(socket.closure?.code, 1000)
        },
    ]

    // MARK: 12.11

    private static let ordering: [Rule] = [
        Rule("12.11", "the create of an object comes before any update of it") { f in
            let users = try await f.users("ana", "ben")
            let socket = try await users[1].socket()
            for number in 0..<5 {
                let id = try await users[0].converse(users[1])
                let message = try await users[0].sendID("\(number)", to: id)
                try await users[0].patch(id, set("metadata.a", "\(number)"))
                try await users[1].receipt("read", message)
            }
            for _ in 0..<5 { try await socket.change("update", "Message") }
            var known: Set<String> = []
            for packet in socket.history where packet.type == "change" {
                let id = packet.objectID ?? ""
                if packet.operation == "create" {
                    known.insert(id)
                } else {
                    f.check(known.contains(id), "\(packet.summary) before its create")
                }
            }
        },
        Rule("12.11", "the Message create comes right before the Conversation update that names it as last_message") {
            f in
            let scene = try await Scene(f)
            for text in ["1", "2", "3"] { try await scene.sent(text) }
            for socket in scene.all {
                var known: Set<String> = []
                for packet in socket.history {
                    if packet.isChange("create", of: "Message") { known.insert(packet.objectID ?? "") }
                    if let id = packet.data.operation("last_message")?["id"].string {
                        f.check(known.contains(id), "unknown last_message")
                    }
                }
            }
        },
        Rule("12.11", "messages come in the order of their positions, however many send at once") { f in
            let scene = try await Scene(f)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    let sender = number % 2 == 0 ? scene.ana : scene.ben
                    group.addTask { try await sender.send("\(number)", to: scene.conversation) }
                }
                try await group.waitForAll()
            }
            try await scene.sent("last")
            for socket in scene.all {
                let positions = socket.history.filter { $0.isChange("create", of: "Message") }
                    .compactMap { $0.data["position"].int }
                f.equal(positions.count, 21)
                f.equal(positions, positions.sorted())
            }
        },
        Rule("12.11", "the response to a create comes before its change packet on the requesting connection") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for number in 0..<5 {
                let conversation = try await socket.ask("Conversation.create", nil, User.conversation([]))
                let id = conversation.data["id"].string ?? ""
                let created = try await socket.change("create", "Conversation", id)
                f.check(conversation.packet.index < created.index, "conversation \(number)")
                let message = try await socket.ask("Message.create", id, User.message("\(number)"))
                let sent = try await socket.change("create", "Message", message.data["id"].string)
                f.check(message.packet.index < sent.index, "message \(number)")
            }
        },
        Rule("12.11", "replayed packets come before the answer to the replay") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for number in 0..<10 { try await users[0].send("\(number)", to: id) }
            let (packets, _) = try await replay(users[1], from: longAgo)
            f.equal(packets.filter { $0.isChange("create", of: "Message") }.count, 10)
        },
    ]
}
