// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import StrataKit

/// A folder for clients that never connect. Users can have sessions in it as if they had signed in before.
final class OfflineClients {
    static let appID = "layer:///apps/production/00000000-0000-4000-8000-000000000001"
    let directory: URL

    init() { directory = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().lowercaseText)") }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Returns a client of an app whose server is unreachable.
    func client(in directory: URL? = nil) throws -> StrataClient {
        let server = try #require(URL(string: "http://127.0.0.1:1"))
        return try StrataClient(
            appID: Self.appID, options: .init(server: server, directory: directory ?? self.directory))
    }

    /// Returns a client in which these users have sessions. The first session is the current one; a user without a
    /// token must sign in again.
    func client(_ users: (user: UserID, token: String?)...) throws -> StrataClient {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var sessions = try SessionFile(folder: folder)
        for (user, token) in users {
            try sessions.saveSession(.init(identifier: user.rawValue, userID: user, token: token))
        }
        if let first = users.first { try sessions.select(first.user.rawValue) }
        return try client()
    }

    var folder: URL { directory.appending(path: AppID(parsing: Self.appID)?.description ?? "") }

    var stores: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
                .filter { $0.hasSuffix(".sqlite") }
        }
    }
}

extension StrataClient {
    func chat(with user: UserID, _ text: String = "Hi") async throws -> Conversation {
        let chat = try await newConversation(with: [user])
        try await chat.send(newMessage(parts: [.text(text)]))
        return chat
    }
}

/// Returns the code of the error that `body` throws; nil if it throws no `StrataError`.
func code(_ body: () async throws -> Void) async -> StrataError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? StrataError)?.code
    }
}
