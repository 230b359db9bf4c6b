// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("several sessions in one client")
struct ClientSessionTests {
    private let clients = OfflineClients()
    private let ana = WireJSON.ana
    private let ben = WireJSON.ben
    private let cleo = WireJSON.cleo

    private func session(_ user: UserID, of client: StrataClient) async throws -> StrataSession {
        try #require(await client.session(forUserID: user))
    }

    @Test(
        "switching changes user and store without signing out, and switching back restores all data",
        .proves("SESS-1", "CLNT-2"))
    func switches() async throws {
        let client = try clients.client((ana, "a"), (ben, "b"))
        let chat = try await client.chat(with: cleo)
        try await client.switchSession(to: session(ben, of: client))
        #expect(await client.currentSession?.userID == ben)
        #expect(await client.authenticatedUser?.userID == ben)
        #expect(try await client.conversation(chat.id) == nil)
        #expect(await client.pendingChangeCount == 0)
        #expect(await client.sessions.map(\.state) == [.authenticated, .authenticated])
        try await client.switchSession(to: session(ana, of: client))
        #expect(try await client.messages(in: chat.id).first?.sender.userID == ana)
        #expect(await client.pendingChangeCount > 0)
    }

    @Test("a stream continues with the changes of the other store", .proves("SESS-1"))
    func streams() async throws {
        let client = try clients.client((ana, "a"), (ben, "b"))
        let changes = client.objectChanges
        let first = try await client.chat(with: cleo)
        try await client.switchSession(to: session(ben, of: client))
        let second = try await client.chat(with: cleo)
        var created: [ConversationID] = []
        for await batch in changes {
            for case .conversation(let conversation) in batch.filter({ $0.kind == .create }).map(\.object) {
                created.append(conversation.id)
            }
            if created.count == 2 { break }
        }
        #expect(created == [first.id, second.id])
    }

    @Test("data loaded in the previous session has no effect in the next one")
    func snapshots() async throws {
        let client = try clients.client((ana, "a"), (ben, "b"))
        let chat = try await client.chat(with: cleo)
        let controller = try await client.queryController(Query<Conversation>())
        try await controller.execute()
        let updates = await controller.updates
        try await client.switchSession(to: session(ben, of: client))
        #expect(await code { try await chat.setMetadata("x", at: "title") } == .notAuthenticated)
        #expect(await client.pendingChangeCount == 0)
        for await _ in updates {}
        try await client.switchSession(to: session(ana, of: client))
        #expect(try await client.conversation(chat.id)?.setMetadata("x", at: "title") != nil)
    }

    @Test("a waiting call ends when another session becomes current")
    func waiting() async throws {
        let client = try clients.client((ana, "a"), (ben, "b"))
        let link = try await #require(client.engine).dependencies.link
        let waiting = Task {
            await code { _ = try await client.waitForCreation(of: ConversationID.random(), timeout: .seconds(600)) }
        }
        while link.changes.count == 0 { await Task.yield() }
        try await client.switchSession(to: session(ben, of: client))
        #expect(await waiting.value == .notAuthenticated)
    }

    @Test("a session is without a user, signed in, or challenged", .proves("SESS-2"))
    func states() async throws {
        let client = try clients.client((ana, "a"), (ben, nil))
        let new = try await client.newSession(identifier: "new")
        #expect(await client.sessions.map(\.state) == [.authenticated, .challenged, .unauthenticated])
        try await client.switchSession(to: new)
        #expect(await client.authenticatedUser == nil)
        #expect(await code { _ = try await client.conversation(.random()) } == .notAuthenticated)
        try await client.switchSession(to: session(ben, of: client))
        #expect(await client.authenticatedUser?.userID == ben)
        let chat = try await client.chat(with: cleo)
        #expect(try await client.messages(in: chat.id).count == 1)
        #expect(await code { try await client.connect() } == .unauthenticated)
        #expect(await client.connectionState == .disconnected)
    }

    @Test("an unknown session throws 12001 and a duplicate 12002, without any change", .proves("SESS-3", "ERR-2"))
    func errors() async throws {
        let client = try clients.client((ana, "a"))
        let gone = try await client.newSession(identifier: "gone")
        #expect(await code { _ = try await client.newSession(identifier: "gone") } == .duplicateSession)
        try await client.destroySession(gone)
        #expect(await code { try await client.switchSession(to: gone) } == .invalidSession)
        #expect(await code { try await client.destroySession(gone) } == .invalidSession)
        #expect(await client.sessions.map(\.userID) == [ana])
        #expect(await client.currentSession?.userID == ana)
        #expect((StrataError.Code.invalidSession.number, StrataError.Code.duplicateSession.number) == (12001, 12002))
        #expect(
            StrataError.Code.invalidSession != .unsupportedPredicate
                && StrataError.Code.duplicateSession != .unsupportedSort)
    }

    @Test("destroying a session removes its database, and signs the current one out", .proves("SESS-3"))
    func destroyed() async throws {
        let client = try clients.client((ana, "a"), (ben, "b"))
        let events = client.events
        try await client.switchSession(to: session(ben, of: client))
        #expect(try clients.stores.count == 2)
        try await client.destroySession(session(ana, of: client))
        #expect(try clients.stores.count == 1)
        #expect(await client.authenticatedUser?.userID == ben)
        try await client.destroySession(session(ben, of: client))
        #expect(try clients.stores.isEmpty)
        #expect(await client.sessions.isEmpty)
        #expect(await client.currentSession == nil)
        for await event in events { if case .deauthenticated(ben) = event { break } }
    }
}
