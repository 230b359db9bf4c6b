// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

/// One row of the matrix: a packet that a client may send over a socket, and the expected outcome for each caller.
struct SocketRow: Sendable {
    /// The method, or a signal's type and action.
    let method: String
    let variant: String
    /// The object's id, with placeholders in braces.
    var object: String?
    /// JSON with placeholders in braces.
    var data: String?
    let outcomes: [Who: String]
    var tellsExistence: String?

    var name: String { method + (variant.isEmpty ? "" : ", \(variant)") }

    init(
        _ method: String, _ variant: String = "", object: String? = nil, data: String? = nil, sender: String,
        participant: String? = nil,
        former: String? = nil, stranger: String? = nil, otherApp: String? = nil, tellsExistence: String? = nil
    ) {
        (self.method, self.variant, self.object, self.data, self.tellsExistence) = (
            method, variant, object, data, tellsExistence
        )
        let strangers = stranger ?? sender
        outcomes = [
            .sender: sender, .participant: participant ?? sender, .former: former ?? sender, .never: strangers,
            .otherApp: otherApp ?? strangers,
        ]
    }

    func expected(_ who: Who) -> String { outcomes[who] ?? "no socket: \(who.refusal)" }

    /// Returns the observed outcome of every cell of the row.
    func run(_ cast: Cast) async throws -> [Who: String] {
        let scene = try await cast.scene()
        var observed: [Who: String] = [:]
        for who in Who.allCases {
            switch await Self.open(cast, who) {
            case .failure(let refusal): observed[who] = refusal.text
            case .success(let socket):
                if let action = typingAction {
                    observed[who] = try await type(action, cast, who, scene, socket)
                } else {
                    observed[who] = try await ask(cast, who, scene, socket)
                }
                await socket.close()
            }
        }
        return observed
    }

    struct Refused: Error {
        let text: String
    }

    static func open(_ cast: Cast, _ who: Who) async -> Result<ProtocolSocket, Refused> {
        do {
            return .success(
                try await cast.cluster.client(who == .participant ? 1 : 0)
                    .openSocket(sessionToken: cast.token(of: who), deadline: Waiting.deadline))
        } catch let error as ProtocolClientError {
            return .failure(
                Refused(text: "no socket: \(error.answer.map { "\($0.status) \($0.errorID ?? "")" } ?? "\(error)")"))
        } catch {
            return .failure(Refused(text: "no socket: \(error)"))
        }
    }

    // MARK: Requests

    private func ask(
        _ cast: Cast, _ who: Who, _ scene: AuthorizationScene, _ socket: ProtocolSocket
    ) async throws -> String {
        let names = cast.names(scene, for: who)
        let answer = try await ask(names, socket)
        // A replay's result is its packets, all of which arrive before its answer.
        let text = method == "Event.replay" ? socket.history.map(\.description).joined() : answer.data.text
        if who.isStranger, tellsExistence == nil, method != "Conversation.create" || !answer.isSuccess,
            Names.namesObject(object ?? "", data ?? "")
        {
            if who == .otherApp || (object ?? data)?.contains("{user}") == false {
                let unknownNames = names.unknown(laterOnly: false)
                let unknown = try await ask(unknownNames, socket)
                #expect(
                    Self.comparableText(answer, hiding: names) == Self.comparableText(unknown, hiding: unknownNames),
                    "\(name): \(who.rawValue) can tell that it exists")
            }
        }
        let shown = scene.shown(in: text).rawValue
        let isPresent = ["busy", "away"].contains { text.contains("\"\($0)\"") }
        return (answer.isSuccess ? "success" : answer.errorID ?? "no error")
            + (shown.isEmpty && isPresent ? ", shown" : shown)
    }

    private func ask(_ names: Names, _ socket: ProtocolSocket) async throws -> SocketResponse {
        try await socket.ask(
            method, object.map { names.fill($0) }, try data.map { try JSONValue(parsing: names.fill($0)) })
    }

    /// Returns the parts of an answer that depend neither on the time nor on the requested user's name.
    private static func comparableText(_ answer: SocketResponse, hiding names: Names) -> String {
        var body = answer.packet.body
        body["request_id"] = .null
        return names["user"].map { body.text.replacingOccurrences(of: $0, with: "…") } ?? body.text
    }

    // MARK: Typing

    private var typingAction: String? {
        method.hasPrefix("typing_indicator ") ? String(method.dropFirst("typing_indicator ".count)) : nil
    }

    /// Sends a typing signal, and returns whether a participant receives it. A signal is dropped while its socket is
    /// still joining, so participants repeat it.
    private func type(
        _ action: String, _ cast: Cast, _ who: Who, _ scene: AuthorizationScene, _ socket: ProtocolSocket
    ) async throws -> String {
        let listener = try #require(cast.earlySockets[who == .participant ? .sender : .participant])
        let id = "layer:///identities/\(who.user)"
        @Sendable func isHeard() -> Bool {
            listener.history.contains {
                $0.isTyping(conversation: scene.conversation.id) && $0.data["sender"]["id"].string == id
            }
        }
        for word in ["started", action] { try await socket.typing(word, in: scene.conversation.id) }
        if who == .sender || who == .participant {
            try await eventually("\(name): \(who.rawValue) is not heard") {
                for word in ["started", action] { try await socket.typing(word, in: scene.conversation.id) }
                return isHeard()
            }
            return "told"
        }
        _ = try await socket.ask("Counter.read")
        let other = try #require(cast.earlySockets[.sender])
        try await eventually("the sender is not heard") {
            try await other.typing("started", in: scene.conversation.id)
            return listener.history.contains { $0.isTyping(conversation: scene.conversation.id) }
        }
        return isHeard() ? "told" : "dropped"
    }
}

enum SocketRows {
    static let unknownMethod = "Message.destroy"
    private static let message = #""parts":[{"mime_type":"text/plain","body":"new"}]"#

    static let all: [SocketRow] =
        [
            SocketRow("Counter.read", sender: "success"),
            SocketRow(
                "Event.replay", data: #"{"from_timestamp":"2018-05-04T09:30:00.125Z"}"#,
                sender: "success, shown later too", former: "success, shown",
                stranger: "success"),
            SocketRow(
                "Conversation.create", data: #"{"participants":["layer:///identities/new-{new}"],"distinct":false}"#,
                sender: "success"),
            SocketRow(
                "Conversation.create", "of the same id",
                data: #"{"participants":[],"distinct":false,"id":"layer:///conversations/{conversation}"}"#,
                sender: "id_in_use, shown later too", former: "id_in_use, shown", stranger: "id_in_use",
                tellsExistence: "an id that is taken cannot be used again"),
            SocketRow(
                "Message.create", object: "layer:///conversations/{conversation}", data: "{\(message)}",
                sender: "success, shown later too",
                former: "access_denied", stranger: "not_found"),
            SocketRow(
                "Message.create", "elsewhere, of the same id", object: "layer:///conversations/{own}",
                data: #"{"id":"layer:///messages/{message}",\#(message)}"#, sender: "id_in_use, shown later too",
                former: "id_in_use, shown", stranger: "id_in_use",
                tellsExistence: "an id that is taken cannot be used again"),
            SocketRow(
                "Message.create", "elsewhere, with later content", object: "layer:///conversations/{own}",
                data:
                    #"{"parts":[{"mime_type":"image/png","content":{"id":"layer:///content/{laterContent}","size":1}}]}"#,
                sender: "success, shown later too", former: "invalid_property", stranger: "invalid_property"),
            SocketRow("Presence.subscribe", sender: "success"), SocketRow("Presence.unsubscribe", sender: "success"),
            SocketRow(
                "Presence.update", data: #"[{"operation":"set","property":"status","value":"away"}]"#, sender: "success"
            ),
            SocketRow(
                "Presence.sync", "of the participant", data: #"{"ids":["layer:///identities/{user}"]}"#,
                sender: "success, shown", otherApp: "success"
            ),
            SocketRow(
                "Presence.sync", "of those followed", data: #"{"since":"2018-05-04T09:30:00.125Z"}"#,
                sender: "success, shown", stranger: "success"),
            SocketRow(
                unknownMethod, "which is none", object: "layer:///messages/{message}", sender: "invalid_operation"),
        ]
        + ["started", "paused", "finished"]
        .map {
            SocketRow("typing_indicator \($0)", sender: "told", former: "dropped", stranger: "dropped")
        }
}
