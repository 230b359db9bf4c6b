// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import TestTiers
import Testing

@testable import StrataKit

@Suite("a client without a connection")
struct OfflineClientTests {
    private let clients = OfflineClients()
    private let ana = WireJSON.ana
    private let ben = WireJSON.ben

    @Test(
        "a second client for the same store throws until the first is closed; another path is another store",
        .proves("CLNT-1"))
    func twoClients() async throws {
        let first = try clients.client()
        let error = #expect(throws: StrataError.self) { try clients.client() }
        #expect(error?.code == .storeInUse)
        let elsewhere = try clients.client(in: clients.directory.appending(path: "other"))
        await first.close()
        let second = try clients.client()
        await second.close()
        await elsewhere.close()
    }

    @Test("a released client frees its store", .proves("CLNT-1"))
    func gone() throws {
        do {
            let first = try clients.client()
            #expect(first.appID.layerID == OfflineClients.appID)
        }
        _ = try clients.client()
    }

    @Test("signing out deletes the user's data and ends waiting calls, and a repetition is harmless", .proves("AUTH-5"))
    func signOut() async throws {
        let client = try clients.client((ana, "a"))
        _ = try await client.chat(with: ben)
        let link = try await #require(client.engine).dependencies.link
        let waiting = Task {
            await code { _ = try await client.waitForCreation(of: MessageID.random(), timeout: .seconds(600)) }
        }
        while link.changes.count == 0 { await Task.yield() }
        #expect(try clients.stores.count == 1)
        try await client.deauthenticate()
        #expect(await waiting.value == .notAuthenticated)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: clients.folder.path(percentEncoded: false)) == [
                "sessions.json"
            ])
        #expect(await client.authenticatedUser == nil)
        #expect(await client.sessions.isEmpty)
        try await client.deauthenticate()
    }

    /// The arguments are the points at which the process may end: the number of store files already removed.
    @Test("an interrupted sign-out is completed at the next start", .proves("AUTH-7"), arguments: 0...4)
    func signOutCutOff(_ removed: Int) async throws {
        let first = try clients.client((ana, "a"), (ben, "b"))
        _ = try await first.chat(with: ben)
        try Data().write(to: clients.folder.appending(path: "app.sqlite"))
        await first.close()
        var sessions = try SessionFile(folder: clients.folder)
        let ended = try #require(sessions.session(of: ana))
        try sessions.removeSession(ended.identifier)
        for name in try names.filter({ $0.hasPrefix(ended.store) }).sorted().prefix(removed) {
            try FileManager.default.removeItem(at: clients.folder.appending(path: name))
        }
        let second = try clients.client()
        let kept = try #require(sessions.session(of: ben)).store
        #expect(
            try names.allSatisfy { ["sessions.json", "tokens.json", "app.sqlite"].contains($0) || $0.hasPrefix(kept) })
        #expect(try SessionFile(folder: clients.folder).all.map(\.userID) == [ben])
        #expect(
            try String(contentsOf: clients.folder.appending(path: "sessions.json"), encoding: .utf8)
                .contains(ended.store) == false)
        #expect(
            try String(contentsOf: clients.folder.appending(path: "tokens.json"), encoding: .utf8).contains(ended.store)
                == false)
        await second.close()
    }

    @Test("a store without a session is removed at the start, and the app's files stay", .proves("AUTH-7"))
    func orphans() async throws {
        let first = try clients.client((ana, "a"))
        _ = try await first.chat(with: ben)
        await first.close()
        let orphan = "\(UUID().lowercaseText).sqlite"
        for name in try names.filter({ $0.contains(".sqlite") }) {
            let suffix = name.drop { $0 != "." }.dropFirst(".sqlite".count)
            try FileManager.default.copyItem(
                at: clients.folder.appending(path: name), to: clients.folder.appending(path: orphan + suffix))
        }
        try Data().write(to: clients.folder.appending(path: "app.sqlite"))
        let second = try clients.client()
        #expect(try !names.contains { $0.hasPrefix(orphan) })
        #expect(try names.contains("app.sqlite"))
        #expect(await second.pendingChangeCount > 0)
        await second.close()
    }

    @Test("unreadable sessions prevent a client and remove no store", .proves("SESS-4"))
    func unreadableSessions() async throws {
        let first = try clients.client((ana, "a"))
        _ = try await first.chat(with: ben)
        await first.close()
        let file = clients.folder.appending(path: "sessions.json")
        let before = try Data(contentsOf: file)
        try FileManager.default.moveItem(at: file, to: file.appendingPathExtension("away"))
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        let error = #expect(throws: StrataError.self) { try clients.client() }
        #expect(error?.code == .devicePersistenceFailure)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: file.appendingPathExtension("away"), to: file)
        #expect(try Data(contentsOf: file) == before)
        let second = try clients.client()
        #expect(await second.pendingChangeCount > 0)
        await second.close()
    }

    @Test("a store of a newer version prevents a client and is kept", .proves("STORE-6"))
    func newerStore() async throws {
        let first = try clients.client((ana, "a"))
        await first.close()
        let store = try #require(clients.stores.first)
        let queue = try DatabaseQueue(path: clients.folder.appending(path: store).path)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('3')") }
        try queue.close()
        let error = #expect(throws: StrataError.self) { try clients.client() }
        #expect(error?.code == .newerStore)
        #expect(try clients.stores == [store])
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: clients.folder.path(percentEncoded: false)) }
    }

    @Test("presence without a connection is not sent, even later", .proves("PRES-3"))
    func presence() async throws {
        let client = try clients.client((ana, "a"))
        #expect(await code { try await client.setPresence(.busy) } == .notConnected)
        #expect(await client.pendingChangeCount == 0)
        #expect(await client.engine?.connection.presence == .auto)
    }

    @Test("the user's own presence appears offline after a restart", .proves("PRES-4"))
    func ownPresence() async throws {
        let first = try clients.client((ana, "a"))
        try await first.engine?
            .write { store in
                var own = IdentityRecord(userID: WireJSON.ana)
                own.presenceStatus = PresenceStatus.busy.rawValue
                try store.setIdentity(WireJSON.ana, to: own)
            }
        #expect(await first.authenticatedUser?.presenceStatus == .busy)
        await first.close()
        #expect(await first.authenticatedUser == nil)
        let second = try clients.client()
        #expect(await second.authenticatedUser?.presenceStatus == .offline)
    }

    @Test("connecting returns after the first failed attempt and continues trying")
    func refused() async throws {
        let client = try clients.client((ana, "a"))
        try await client.connect()
        #expect(await client.connectionState == .connecting)
        #expect(await code { try await client.connect() } == .alreadyConnected)
        await client.disconnect()
        #expect(await client.connectionState == .disconnected)
    }
}
