// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster

/// The clients of a test: three participants of a conversation with open sockets, and the app's own server.
struct DegradedScene: Sendable {
    let app: TestApp
    let ana: TestUser
    let ben: TestUser
    let cleo: TestUser
    let server: DegradedServer
    let conversation: Conversation
    let anas: ProtocolSocket
    /// Ben's socket. It is subscribed to presence, so that Ben sees Ana's.
    let bens: ProtocolSocket
    /// Cleo's socket, for operations that would disturb the others: it requests replays.
    let cleos: ProtocolSocket
    /// The time before the first operation.
    let since: String

    static func make(_ cluster: Cluster) async throws -> DegradedScene {
        let app = try await cluster.app()
        let server = try await DegradedServer.start(app)
        let users = try await app.signIn(["ana", "ben", "cleo"])
        let sockets = [try await users[0].open(), try await users[1].open(), try await users[2].open()]
        let conversation = try await users[0].converse(with: Array(users.dropFirst()))
        var since = ""
        for socket in sockets {
            let packet = try await socket.nextChange(
                "create", of: "Conversation", id: conversation.id, deadline: Waiting.deadline)
            since = packet.timestamp ?? since
        }
        let answer = try await sockets[1].request("Presence.subscribe", deadline: Waiting.deadline)
        guard answer.isSuccess else { throw UnexpectedCell("Presence.subscribe: \(answer.data)") }
        try await server.awaitActive()
        let scene = DegradedScene(
            app: app, ana: users[0], ben: users[1], cleo: users[2], server: server, conversation: conversation,
            anas: sockets[0], bens: sockets[1],
            cleos: sockets[2], since: since)
        // Ensure that all operations work, and that the sockets have joined the conversation, before the state begins.
        for operation in DegradedOperation.allCases {
            let deadline = Waiting.deadline
            while await operation.attempt(scene, cluster, patience: .seconds(1)) != .works {
                guard ContinuousClock.now < deadline else {
                    throw UnexpectedCell("\(operation.rawValue) does not work to begin with")
                }
            }
        }
        return scene
    }

    /// Returns Cleo's socket. Opens a new one if the gateway closed it because it did not repeat a failed replay in
    /// time.
    func openCleos() async throws -> ProtocolSocket { cleos.closure == nil ? cleos : try await cleo.openSilent() }

    /// Sends a message from Ana over REST. If it is accepted, the webhook must deliver it.
    func send(_ text: String) async throws -> RESTResponse {
        server.noted(try await ana.call("POST", conversation.path + "/messages", TestUser.message(text)))
    }

    /// Waits until the gateway's cached sessions have expired. Until then it serves a user, or the app's own server,
    /// from its cache.
    func awaitForgottenSessions() async throws {
        let deadline = Waiting.deadline
        while ContinuousClock.now < deadline {
            // The first request only needs the session, the second little more than the token.
            if try await ana.call("GET", "/").status == 503, try await server.call("GET", "/webhooks").status == 503 {
                return
            }
            try await Task.sleep(for: .milliseconds(500))
        }
        throw UnexpectedCell("sessions are still known")
    }

    func close() async {
        for socket in [anas, bens, cleos] { await socket.abort() }
        await server.stop()
    }
}

struct UnexpectedCell: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
