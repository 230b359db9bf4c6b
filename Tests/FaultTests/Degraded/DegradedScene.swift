// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster

/// Who is there when something goes: three users of a conversation, with open sockets, and the app's own server.
struct DegradedScene: Sendable {
    let app: TestApp
    let ana: TestUser
    let ben: TestUser
    let cleo: TestUser
    let server: DegradedServer
    let conversation: Conversation
    let anas: ProtocolSocket
    /// Has asked for presence, so that Ben hears of Ana's.
    let bens: ProtocolSocket
    /// For what would disturb the others: it asks for replays.
    let cleos: ProtocolSocket
    /// Before anything happened.
    let since: String

    static func make(_ cluster: Cluster) async throws -> DegradedScene {
        let app = try await cluster.app()
        let server = try await DegradedServer.start(app)
        let users = try await app.signIn(["ana", "ben", "cleo"])
        let sockets = [try await users[0].open(), try await users[1].open(), try await users[2].open()]
        let conversation = try await users[0].converse(with: Array(users.dropFirst()))
        var since = ""
        for socket in sockets {
            let packet = try await socket.nextChange("create", of: "Conversation", id: conversation.id, deadline: Waiting.deadline)
            since = packet.timestamp ?? since
        }
        let answer = try await sockets[1].request("Presence.subscribe", deadline: Waiting.deadline)
        guard answer.isSuccess else { throw UnexpectedCell("Presence.subscribe: \(answer.data)") }
        try await server.awaitActive()
        let scene = DegradedScene(
            app: app, ana: users[0], ben: users[1], cleo: users[2], server: server, conversation: conversation, anas: sockets[0], bens: sockets[1],
            cleos: sockets[2], since: since)
        // All of it works, and the sockets have joined the conversation, before anything happens to it.
        for operation in DegradedOperation.allCases {
            let deadline = Waiting.deadline
            while await operation.attempt(scene, cluster, patience: .seconds(1)) != .works {
                guard ContinuousClock.now < deadline else { throw UnexpectedCell("\(operation.rawValue) does not work to begin with") }
            }
        }
        return scene
    }

    /// Cleo's socket; another one if that was closed because it did not ask again in time after a replay had failed.
    func openCleos() async throws -> ProtocolSocket { cleos.closure == nil ? cleos : try await cleo.openSilent() }

    /// Ana sends a message over REST. If it is accepted, the webhook has to be told of it.
    func send(_ text: String) async throws -> RESTAnswer {
        server.noted(try await ana.call("POST", conversation.path + "/messages", TestUser.message(text)))
    }

    /// The gateway must not serve a user, or the app's own server, only because it knew them a moment ago.
    func awaitForgottenSessions() async throws {
        let deadline = Waiting.deadline
        while ContinuousClock.now < deadline {
            // The first asks for nothing but whether the session is good; the second for little more than whether the token is.
            if try await ana.call("GET", "/").status == 503, try await server.call("GET", "/webhooks").status == 503 { return }
            try await Task.sleep(for: .milliseconds(500))
        }
        throw UnexpectedCell("sessions are still known")
    }

    func close() async {
        for socket in [anas, bens, cleos] { await socket.abort() }
        await server.stop()
    }
}

/// A test cannot go on.
struct UnexpectedCell: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
