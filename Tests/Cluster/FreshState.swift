// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient

/// All objects of one user, loaded over REST.
package struct FreshState: Sendable {
    package private(set) var conversations: [JSONValue] = []
    /// The messages of each conversation, newest first.
    package private(set) var messages: [String: [JSONValue]] = [:]

    /// - Parameter pageSize: The page size. Small pages test that each one continues the previous one.
    package init(of user: TestUser, pageSize: Int = 100) async throws {
        conversations = try await Self.list("/conversations?", of: user, pageSize)
        for conversation in conversations {
            guard let id = conversation["id"].string else { continue }
            messages[id] = try await Self.messages(of: id, for: user, pageSize: pageSize)
        }
    }

    /// Returns the messages of one conversation; empty if it does not exist for this user.
    package static func messages(
        of conversation: String, for user: TestUser, pageSize: Int = 100
    ) async throws -> [JSONValue] {
        try await list(layerPath(conversation) + "/messages?", of: user, pageSize)
    }

    private static func list(_ path: String, of user: TestUser, _ pageSize: Int) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        while true {
            let from = items.last?["id"].string.map { "&from_id=\($0)" } ?? ""
            let answer = try await user.call("GET", "\(path)page_size=\(pageSize)\(from)")
            // The conversation was deleted during the load.
            if answer.status == 404 { return [] }
            guard answer.isSuccess, let page = answer.json.array else {
                throw UnexpectedAnswer("\(path): \(answer.status)", #fileID, #line)
            }
            items += page
            if page.count < pageSize { return items }
        }
    }
}

extension JSONValue {
    /// The texts in a tree of objects, by path. The names in a path are separated by dots.
    package var leaves: [String: String] {
        (object ?? [:])
            .reduce(into: [:]) { leaves, member in
                if let text = member.value.string { leaves[member.key] = text }
                for (path, text) in member.value.leaves { leaves["\(member.key).\(path)"] = text }
            }
    }
}
