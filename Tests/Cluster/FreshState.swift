// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient

/// All of one user's objects, as a client gets them that loads them now.
package struct FreshState: Sendable {
    package private(set) var conversations: [JSONValue] = []
    /// Of each conversation, newest first.
    package private(set) var messages: [String: [JSONValue]] = [:]

    /// - Parameter pageSize: small ones make many pages, each of which has to fit to the one before.
    package init(of user: TestUser, pageSize: Int = 100) async throws {
        conversations = try await Self.list("/conversations?", of: user, pageSize)
        for conversation in conversations {
            guard let id = conversation["id"].string else { continue }
            messages[id] = try await Self.messages(of: id, for: user, pageSize: pageSize)
        }
    }

    /// The messages of one conversation; empty if there is none for this user.
    package static func messages(of conversation: String, for user: TestUser, pageSize: Int = 100) async throws -> [JSONValue] {
        try await list(layerPath(conversation) + "/messages?", of: user, pageSize)
    }

    private static func list(_ path: String, of user: TestUser, _ pageSize: Int) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        while true {
            let from = items.last?["id"].string.map { "&from_id=\($0)" } ?? ""
            let answer = try await user.call("GET", "\(path)page_size=\(pageSize)\(from)")
            // Deleted meanwhile.
            if answer.status == 404 { return [] }
            guard answer.isSuccess, let page = answer.json.array else { throw UnexpectedAnswer("\(path): \(answer.status)", #fileID, #line) }
            items += page
            if page.count < pageSize { return items }
        }
    }
}
