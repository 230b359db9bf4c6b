// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

/// One row of the matrix: an action, while all callers listen.
struct PacketRow: Sendable {
    let kind: PacketKind
    let cast: Cast
    private let ana: TestUser
    private let ben: TestUser
    /// A unique text that occurs in packets about the action only.
    private let mark = "mark-\(UUID().uuidString.lowercased())"

    init(_ kind: PacketKind, _ cast: Cast) throws {
        (self.kind, self.cast) = (kind, cast)
        ana = try #require(cast[.sender])
        ben = try #require(cast[.participant])
    }

    /// An action in two stages: one before any caller listens, and `run`, while all listen.
    private struct Act {
        /// Texts by which packets about the action are recognized.
        var marks: [String]
        let run: @Sendable () async throws -> Void
    }

    /// Returns the observed outcome of every cell of the row.
    func run() async throws -> [Who: String] {
        let act = try await prepare(try await cast.scene())
        var observed: [Who: String] = [:]
        var listeners: [Who: (socket: ProtocolSocket, heard: Int)] = [:]
        for who in Who.allCases {
            switch await SocketRow.open(cast, who) {
            case .failure(let refusal): observed[who] = refusal.text
            case .success(let socket):
                // After the answer to a replay, no packets about the past are pending.
                _ = try await socket.ask("Event.replay", nil, ["from_timestamp": .string(Date().formatted(.iso8601))])
                if kind == .presence { _ = try await socket.ask("Presence.subscribe") }
                try await settle(who, socket)
                listeners[who] = (socket, socket.history.count)
            }
        }
        try await act.run()
        for who in Who.signedIn {
            guard let (socket, heard) = listeners[who] else { continue }
            @Sendable func isTold() -> Bool {
                socket.history.dropFirst(heard)
                    .contains { packet in act.marks.contains { packet.description.contains($0) } }
            }
            if kind.recipients.contains(who) {
                try await eventually("\(kind.rawValue): \(who.rawValue) is not told") { isTold() }
            }
            try await settle(who, socket)
            observed[who] = isTold() ? "told" : "not told"
            await socket.close()
        }
        return observed
    }

    /// Waits until everything published before has arrived: sends a message in the listener's own conversation and
    /// waits for it.
    private func settle(_ who: Who, _ socket: ProtocolSocket) async throws {
        let user = try #require(cast[who])
        let text = "settled-\(UUID().uuidString.lowercased())"
        try await user.send(text, to: try #require(cast.ownConversation(of: who)))
        try await socket.message(text)
    }

    // MARK: Actions

    private func prepare(_ scene: AuthorizationScene) async throws -> Act {
        switch kind {
        case .conversationCreated, .participantsChanged, .metadataChanged, .conversationDeleted, .conversationHidden,
            .conversationShown:
            try await prepareConversation(scene)
        case .messageCreated, .messageDeleted, .receipts, .allRead, .partsChanged, .messageHidden, .messagesHidden,
            .formerMessageDeleted:
            try await prepareMessage(scene)
        default: try await preparePeople(scene)
        }
    }

    private func prepareConversation(_ scene: AuthorizationScene) async throws -> Act {
        let (ana, ben, mark, conversation) = (ana, ben, mark, scene.conversation)
        switch kind {
        case .conversationCreated:
            return Act(marks: [mark]) {
                _ = try await ana.converse(with: [ben], metadata: ["title": .string(mark)], distinct: false)
            }
        case .participantsChanged:
            let user = try await cast.app.signIn(mark)
            return Act(marks: [mark]) { try await ana.patch(conversation, add(user)) }
        case .metadataChanged:
            return Act(marks: [mark]) { try await ana.patch(conversation, set("metadata.title", .string(mark))) }
        case .conversationDeleted:
            return Act(marks: [conversation.id]) {
                try await ana.does("DELETE", conversation.path + "?mode=all_participants")
            }
        case .conversationHidden:
            return Act(marks: [conversation.id]) {
                try await ben.does("DELETE", conversation.path + "?mode=my_devices")
            }
        default:
            let third = try await cast.app.signIn(mark)
            let distinct = try await ana.converse(with: [ben, third])
            try await ben.does("DELETE", distinct.path + "?mode=my_devices")
            return Act(marks: [distinct.id]) { _ = try await ben.converse(with: [ana, third]) }
        }
    }

    private func prepareMessage(_ scene: AuthorizationScene) async throws -> Act {
        let (ana, ben, mark, conversation) = (ana, ben, mark, scene.conversation)
        switch kind {
        case .messageCreated: return Act(marks: [mark]) { try await ana.send(mark, to: conversation) }
        case .messageHidden:
            let message = "layer:///messages/\(try #require(scene.names["message"]))"
            return Act(marks: [message]) { try await ben.does("DELETE", layerPath(message) + "?mode=my_devices") }
        case .messagesHidden:
            let later = "layer:///messages/\(try #require(scene.names["later"]))"
            let before = (try #require(try await ben.does("GET", layerPath(later)).json["position"].int)) / 8192 - 1
            return Act(marks: [conversation.id]) {
                try await ben.does("DELETE", conversation.path + "?mode=my_devices&position=\(before)")
            }
        case .formerMessageDeleted:
            let message = "layer:///messages/\(try #require(scene.names["message"]))"
            return Act(marks: [message]) { try await ben.does("DELETE", layerPath(message) + "?mode=all_participants") }
        default: break
        }
        let message = try await ana.send(mark, to: conversation)
        switch kind {
        case .messageDeleted:
            return Act(marks: [message]) { try await ben.does("DELETE", layerPath(message) + "?mode=all_participants") }
        case .receipts:
            return Act(marks: [message]) {
                try await ben.does("POST", layerPath(message) + "/receipts", ["type": "read"])
            }
        case .allRead:
            return Act(marks: [message, conversation.id]) {
                try await ben.does("POST", conversation.path + "/mark_all_read")
            }
        default:
            let part: JSONValue = ["mime_type": "text/plain", "body": .string("new-\(mark)")]
            return Act(marks: ["new-\(mark)"]) { try await ana.does("POST", layerPath(message) + "/parts", part) }
        }
    }

    private func preparePeople(_ scene: AuthorizationScene) async throws -> Act {
        let (ben, mark, cast, conversation) = (ben, mark, cast, scene.conversation)
        switch kind {
        case .identityChanged:
            return Act(marks: [mark]) {
                let app = cast.app
                let nonce = try await ben.client.nonce(deadline: Waiting.deadline)
                let token = try await IdentityToken(
                    provider: app.app.providerID, key: app.app.keyID, user: ben.user, nonce: nonce, displayName: mark
                )
                .signed(with: app.privateKey)
                _ = try await ben.client.signIn(appID: app.id, identityToken: token, deadline: Waiting.deadline)
            }
        case .followed, .unfollowed:
            _ = try await cast.app.signIn(mark)
            if kind == .unfollowed { try await ben.does("PUT", "/following/users/\(mark)") }
            let method = kind == .followed ? "PUT" : "DELETE"
            return Act(marks: [mark]) { try await ben.does(method, "/following/users/\(mark)") }
        case .blocked:
            _ = try await cast.app.signIn(mark)
            return Act(marks: [mark]) { try await ben.does("PUT", "/blocks/users/\(mark)") }
        case .announced:
            return Act(marks: [mark]) {
                _ = try await Cast.announce(mark, in: cast.app, on: cast.cluster, to: [.sender, .participant])
            }
        case .announcementStatus, .announcementDeleted:
            let id = try await Cast.announce(mark, in: cast.app, on: cast.cluster, to: [.sender, .participant])
            let deletes = kind == .announcementDeleted
            return Act(marks: [id]) {
                if deletes {
                    try await ben.does("DELETE", "/announcements/\(id)")
                } else {
                    try await ben.does("POST", "/announcements/\(id)/receipts", ["type": "read"])
                }
            }
        case .typing:
            let socket = try #require(cast.earlySockets[.participant])
            return Act(marks: ["typing_indicator"]) { try await socket.typing("started", in: conversation.id) }
        default:
            let socket = try #require(cast.earlySockets[.participant])
            _ = try await socket.ask(
                "Presence.update", nil, [["operation": "set", "property": "status", "value": "available"]])
            return Act(marks: ["\"busy\""]) {
                _ = try await socket.ask(
                    "Presence.update", nil, [["operation": "set", "property": "status", "value": "busy"]])
            }
        }
    }
}
