// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

/// A conversation with objects from before and after the removal of a participant, with their names and the texts that
/// others must not see.
struct AuthorizationScene: Sendable {
    let conversation: Conversation
    private(set) var names = Names()
    /// Texts and ids of objects from before and after the removal.
    private(set) var earlier: [String] = []
    private(set) var later: [String] = []

    /// The part of the scene that an answer discloses.
    enum Shown: String {
        case nothing = ""
        /// Objects from before the removal, but no later ones.
        case earlier = ", shown"
        case all = ", shown later too"
    }

    func shown(in text: String) -> Shown {
        if later.contains(where: text.contains) { return .all }
        return earlier.contains(where: text.contains) ? .earlier : .nothing
    }

    /// - Parameter participants: The second participant, if any, is removed.
    static func make(in app: TestApp, sender: TestUser?, participants: [TestUser]) async throws -> AuthorizationScene {
        let ana = try #require(sender)
        let mark = UUID().uuidString.lowercased().filter { $0 != "-" }.prefix(12)
        let conversation = try await ana.converse(
            with: participants, metadata: ["title": .string("meta-before-\(mark)")], distinct: false)
        var scene = AuthorizationScene(conversation: conversation)
        let content = try await ana.upload(Data("content-before-\(mark)".utf8))
        let message = try await scene.send("text-before-\(mark)", content, by: ana)
        if participants.count > 1 { try await ana.patch(conversation, remove(participants[1])) }
        let late = try await app.signIn("late-\(mark)")
        try await ana.patch(conversation, add(late), set("metadata.later", .string("meta-after-\(mark)")))
        let laterContent = try await ana.upload(Data("content-after-\(mark)".utf8))
        let laterMessage = try await scene.send("text-after-\(mark)", laterContent, by: ana)
        if let ben = participants.first {
            try await ben.does("POST", layerPath(message.id) + "/receipts", ["type": "read"])
        }
        let own = try await ana.announce(4)
        scene.names["conversation"] = Self.bare(conversation.id)
        scene.names["message"] = Self.bare(message.id)
        scene.names["part"] = message.part
        scene.names["later"] = Self.bare(laterMessage.id)
        scene.names["content"] = Self.bare(content.id)
        scene.names["laterContent"] = Self.bare(laterContent.id)
        scene.names["upload"] = Self.bare(own.uploadURL)
        scene.names["download"] = Self.bare(try await ana.downloadURL(of: content))
        scene.names["user"] = participants.first?.user ?? ana.user
        scene.earlier = [
            Self.bare(conversation.id), Self.bare(message.id), message.part, Self.bare(content.id), "-before-\(mark)",
        ]
        scene.later = [
            Self.bare(laterMessage.id), laterMessage.part, Self.bare(laterContent.id), "-after-\(mark)", late.user,
        ]
        return scene
    }

    private func send(
        _ text: String, _ content: AnnouncedContent, by user: TestUser
    ) async throws -> (id: String, part: String) {
        let body: JSONValue = ["parts": [["mime_type": "text/plain", "body": .string(text)], content.part]]
        let answer = try await user.does("POST", conversation.path + "/messages", body)
        return (try #require(answer.json["id"].string), Self.bare(try #require(answer.json["parts"][0]["id"].string)))
    }

    private static func bare(_ id: String) -> String { String(id.split(separator: "/").last ?? "") }
}
