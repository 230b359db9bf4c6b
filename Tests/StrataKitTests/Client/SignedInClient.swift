// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient

@testable import StrataKit

/// A client of the user `ana` with its own store and without a connection. Tests write the server's packets to the
/// store directly.
final class SignedInClient: Sendable {
    let client: StrataClient
    private let folder: URL

    /// - Parameter user: nil: no user is signed in.
    init(_ user: UserID? = WireJSON.ana) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().lowercaseText)")
        let app = AppID.random()
        let own = folder.appending(path: app.description)
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        if let user {
            var sessions = try SessionFile(folder: own)
            try sessions.saveSession(sessions.signedIn(user, token: "token"), isCurrent: true)
        }
        guard let server = URL(string: "https://chat.example.org") else {
            throw StrataError(.invalidArgument, "server")
        }
        client = try StrataClient(appID: app.layerID, options: .init(server: server, directory: folder))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var engine: SyncEngine { get async throws { try await client.signedIn() } }

    func apply(_ packets: JSONValue...) async throws {
        try await engine.write { store in for packet in packets { try store.applyPacket(packet) } }
    }

    /// Adds a conversation of `ana` and `ben` that exists on the server.
    func addConversation(_ id: ConversationID, metadata: JSONValue = [:]) async throws -> Conversation {
        try await apply(WireJSON.created(WireJSON.conversation(id, metadata: metadata)))
        guard let conversation = try await client.conversation(id) else {
            throw StrataError(.unknown, "no conversation")
        }
        return conversation
    }

    var contents: [String: [Row]] { get async throws { try StoreFixture.contents(of: try await engine.database) } }

    @discardableResult
    func send(_ text: String, in conversation: Conversation) async throws -> Message {
        try await conversation.send(client.newMessage(parts: [.text(text)]))
    }
}

/// Returns the code of the error that `body` throws; nil if it does not throw.
func errorCode(_ body: () async throws -> Void) async -> StrataError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? StrataError)?.code
    }
}
