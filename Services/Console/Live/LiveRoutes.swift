// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Hummingbird
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

/// The events of a conversation as they come, and the presence of a user.
struct LiveRoutes: ConsoleFeature {
    let channels: LiveChannels
    let streams: EventStreams
    let reports: Reports
    let presence: RPCClient

    private struct Typing: Encodable {
        let user: String
        let action: String
    }

    private struct Nothing: Encodable {}

    func add(to routes: ConsoleRoutes) {
        routes.get("/api/apps/:app/conversations/:conversation/events", use: watch)
        routes.get("/api/apps/:app/users/:user/presence", use: readPresence)
    }

    private func watch(_ request: Request, context: OperatorContext) async throws -> Response {
        let app = try context.app
        let conversation = try context.id("conversation", ConversationID.self, what: "conversation")
        // Refuses a conversation of another app, whose typing signals do not name their app.
        _ = try await reports.read("conversation", app: app, conversation: conversation)
        return try streams.response(for: context.session) { [channels] queue in
            await channels.watch(conversation) { event in
                let isSent =
                    switch event {
                    case .change(let change): queue.send(ServerEvent("change", LiveChange(change)))
                    case .typing(let signal):
                        queue.send(
                            ServerEvent("typing", Typing(user: signal.user.rawValue, action: signal.action.rawValue)))
                    case .lost: queue.send(ServerEvent("lost", Nothing()))
                    }
                // The page opens another stream, and reads again.
                if !isSent { queue.finish() }
            } started: {
                queue.send(ServerEvent("open", Nothing()))
            }
        }
    }

    private struct Presence: Encodable {
        let status: String
        let lastSeenAt: String?
    }

    private func readPresence(_ request: Request, context: OperatorContext) async throws -> Response {
        let (app, user) = (try context.app, try context.user)
        let call = ProtoGetPresenceRequest.with {
            $0.appID = Data(app)
            $0.userIds = [user.rawValue]
        }
        let answer = try await presence.call(PresenceAPI.getPresence, with: call, for: .within(.seconds(5)))
        let known = answer.presences.first
        let seen = known.flatMap { $0.hasLastSeenAt ? Timestamp(microseconds: $0.lastSeenAt) : nil }
        return .json(Presence(status: known?.status ?? "offline", lastSeenAt: seen.map { ISO8601.string($0) }))
    }
}
