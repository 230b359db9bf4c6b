// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster

/// An operation of a client or an operator: a row of the table.
enum DegradedOperation: String, CaseIterable, Sendable {
    case signIn = "sign in"
    case readConversation = "REST: read a conversation"
    case listConversations = "REST: list conversations"
    case listMessages = "REST: list messages"
    case identity = "REST: read an identity"
    case create = "REST: create a conversation"
    case send = "REST: send a message"
    case participants = "REST: change participants"
    case metadata = "REST: set metadata"
    case openSocket = "open a socket"
    case staysOpen = "an open socket stays open and answers"
    case sendOnSocket = "socket: send a message"
    case liveDelivery = "a message reaches open sockets"
    case replay = "socket: replay"
    case typing = "typing is told to others"
    case presenceUpdate = "socket: set the own presence"
    case presenceSync = "socket: ask for presence"
    case presenceTold = "presence is told to others"
    case serverSend = "Server API: send a message"
    case serverWebhooks = "Server API: list webhooks"
    case webhookTold = "a webhook is told of a message"
    case gatewayLive = "gateway `/health/live`"
    case gatewayReady = "gateway `/health/ready`"
    case conversationsReady = "conversations `/health/ready`"
    case metadataReady = "metadata `/health/ready`"
    case presenceReady = "presence `/health/ready`"
    case webhooksReady = "webhooks `/health/ready`"

    enum Cell: Equatable, Sendable, CustomStringConvertible {
        case works
        /// `503`, or `service_unavailable` over a socket.
        case unavailable
        /// Accepted, but no client or receiver is notified.
        case silent
        /// The process does not exist.
        case away
        /// Any other result, which is never acceptable.
        case other(String)

        var description: String {
            switch self {
            case .works: "works"
            case .unavailable: "503"
            case .silent: "silent"
            case .away: "away"
            case .other(let what): what
            }
        }

        init(_ answer: RESTResponse) {
            switch answer.status {
            case 200..<300: self = .works
            case 503 where answer.errorID == "service_unavailable" && answer.header("Retry-After") != nil:
                self = .unavailable
            default: self = .other("\(answer.status) \(answer.errorID ?? "")")
            }
        }

        init(_ answer: SocketResponse) {
            self =
                answer.isSuccess
                ? .works : answer.errorID == "service_unavailable" ? .unavailable : .other(answer.errorID ?? "?")
        }
    }

    /// The time limit of an operation, far above its duration in a healthy system.
    static let patience = Duration.seconds(8)
    /// The time limit for durable changes. Without Redis they arrive by polling.
    private static let longPatience = Duration.seconds(30)

    /// Attempts the operation once.
    /// - Parameter patience: the time to wait for an ephemeral packet at the receiver.
    func attempt(_ scene: DegradedScene, _ cluster: Cluster, patience: Duration = Self.patience) async -> Cell {
        do {
            return try await outcome(scene, cluster, patience)
        } catch let error as ProtocolClientError {
            if let answer = error.answer { return Cell(answer) }
            return .other("\(error)")
        } catch {
            return .other("\(error)")
        }
    }

    private func outcome(_ scene: DegradedScene, _ cluster: Cluster, _ patience: Duration) async throws -> Cell {
        switch self {
        case .signIn, .openSocket, .staysOpen: try await session(scene)
        case .readConversation, .listConversations, .listMessages, .identity, .create, .send, .participants, .metadata:
            try await rest(scene)
        case .sendOnSocket, .replay, .presenceUpdate, .presenceSync: try await socket(scene)
        case .liveDelivery, .typing, .presenceTold: try await told(scene, patience)
        case .serverSend, .serverWebhooks, .webhookTold: try await server(scene)
        case .gatewayLive: await health(cluster, .gateway, "/health/live")
        case .gatewayReady: await health(cluster, .gateway, "/health/ready")
        case .conversationsReady: await health(cluster, .conversations, "/health/ready")
        case .metadataReady: await health(cluster, .metadata, "/health/ready")
        case .presenceReady: await health(cluster, .presence, "/health/ready")
        case .webhooksReady: await health(cluster, .webhooks, "/health/ready")
        }
    }

    private func session(_ scene: DegradedScene) async throws -> Cell {
        let client = scene.app.system.client()
        switch self {
        case .signIn:
            let nonce = try await client.nonce(deadline: Waiting.deadline)
            let token = try await scene.app.identityToken("dora", nonce: nonce)
            _ = try await client.signIn(appID: scene.app.id, identityToken: token, deadline: Waiting.deadline)
            return .works
        case .openSocket:
            let socket = try await scene.ana.openSilent()
            let answer = try await socket.request("Counter.read", deadline: Waiting.deadline)
            await socket.abort()
            return Cell(answer)
        default:
            let answer = try await scene.bens.request("Counter.read", deadline: Waiting.deadline)
            return scene.bens.closure == nil ? Cell(answer) : .other("closed")
        }
    }

    private func rest(_ scene: DegradedScene) async throws -> Cell {
        let (ana, path) = (scene.ana, scene.conversation.path)
        let answer =
            switch self {
            case .readConversation: try await ana.call("GET", path)
            case .listConversations: try await ana.call("GET", "/conversations")
            case .listMessages: try await ana.call("GET", path + "/messages")
            case .identity: try await ana.call("GET", "/identities/ben")
            case .create:
                try await ana.call(
                    "POST", "/conversations", ["participants": [.string(scene.ben.identity)], "distinct": false])
            case .send: try await scene.send("by REST")
            case .participants:
                try await ana.call(
                    "PATCH", path, [["operation": "add", "property": "participants", "id": "layer:///identities/emil"]])
            default: try await ana.call("PATCH", path, [set("metadata.key", .string(UUID().uuidString))])
            }
        return Cell(answer)
    }

    private func socket(_ scene: DegradedScene) async throws -> Cell {
        let answer =
            switch self {
            case .sendOnSocket:
                try await scene.anas.request(
                    "Message.create", objectID: scene.conversation.id, data: TestUser.message("by socket"),
                    deadline: Waiting.deadline)
            case .replay:
                try await scene.openCleos()
                    .request("Event.replay", data: ["from_timestamp": .string(scene.since)], deadline: Waiting.deadline)
            case .presenceUpdate:
                try await scene.anas.request(
                    "Presence.update", data: [set("status", "available")], deadline: Waiting.deadline)
            default:
                try await scene.anas.request(
                    "Presence.sync", data: ["ids": [.string(scene.ben.identity)]], deadline: Waiting.deadline)
            }
        return Cell(answer)
    }

    private func told(_ scene: DegradedScene, _ patience: Duration) async throws -> Cell {
        let conversation = scene.conversation.id
        switch self {
        case .liveDelivery:
            let text = UUID().uuidString
            let cell = Cell(try await scene.send(text))
            guard cell == .works else { return cell }
            return await heard(scene.bens, within: Self.longPatience) { $0.data["parts"][0]["body"].string == text }
        case .typing:
            // On a busy machine a signal may be dropped.
            for _ in 0..<2 {
                scene.bens.discardPending()
                // Only changes of the state are announced, so one of these two is.
                for action in ["finished", "started"] { try await scene.anas.typing(action, in: conversation) }
                let cell = await heard(scene.bens, within: patience / 2) {
                    $0.isTyping(nil, conversation: conversation)
                }
                if cell == .works { return cell }
            }
            return .silent
        default:
            let (identity, status) = (scene.ana.identity, ["busy", "away"].randomElement() ?? "busy")
            _ = try await scene.anas.request(
                "Presence.update", data: [set("status", "available")], deadline: Waiting.deadline)
            let answer = try await scene.anas.request(
                "Presence.update", data: [set("status", .string(status))], deadline: Waiting.deadline)
            guard answer.isSuccess else { return Cell(answer) }
            return await heard(scene.bens, within: patience) {
                $0.isChange("update", of: "Identity", id: identity)
                    && $0.data.array?.contains { $0["value"].string == status } == true
            }
        }
    }

    /// Attempts an operation of the app's own server: a call of the Server API, or a webhook delivery.
    private func server(_ scene: DegradedScene) async throws -> Cell {
        switch self {
        case .serverSend:
            return Cell(try await scene.server.send("by the server", as: scene.ben, to: scene.conversation))
        case .serverWebhooks: return Cell(try await scene.server.call("GET", "/webhooks"))
        default:
            let answer = try await scene.send("for the webhook")
            guard answer.isSuccess else { return Cell(answer) }
            // Always the same limit: the delivery waits for earlier ones, which may have to wait for their retry.
            return await scene.server.isDelivered(messageOf: answer, within: Self.patience) ? .works : .silent
        }
    }

    private func heard(
        _ socket: ProtocolSocket, within limit: Duration, _ matches: @escaping @Sendable (ReceivedPacket) -> Bool
    ) async -> Cell {
        (try? await socket.nextPacket(deadline: .now + limit, where: matches)) == nil ? .silent : .works
    }

    private func health(_ cluster: Cluster, _ kind: ServiceProcess.Kind, _ path: String) async -> Cell {
        guard let status = try? await cluster.instances(of: kind)[0].health(path) else { return .away }
        return status == 200 ? .works : status == 503 ? .unavailable : .other("\(status)")
    }
}
