// SPDX-License-Identifier: Apache-2.0
import Foundation
import RequirementTrait
import Testing

@testable import StrataKit

@Suite("a client without a connection")
struct OfflineClientTests {
    private let clients = OfflineClients()
    private let ana = WireJSON.ana
    private let ben = WireJSON.ben

    @Test("a second client for the same store throws until the first is closed; another path is another store", .proves("CLNT-1"))
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

    @Test("a client that is gone gives its store up", .proves("CLNT-1"))
    func gone() throws {
        do {
            let first = try clients.client()
            #expect(first.appID.layerID == OfflineClients.appID)
        }
        _ = try clients.client()
    }

    @Test("signing out deletes the user's data and ends waiting calls; again it is harmless", .proves("AUTH-5"))
    func signOut() async throws {
        let client = try clients.client((ana, "a"))
        _ = try await client.chat(with: ben)
        let link = try await #require(client.engine).dependencies.link
        let waiting = Task { await code { _ = try await client.waitForCreation(of: MessageID.random(), timeout: .seconds(600)) } }
        while link.changes.count == 0 { await Task.yield() }
        #expect(try clients.stores.count == 1)
        try await client.deauthenticate()
        #expect(await waiting.value == .notAuthenticated)
        #expect(try FileManager.default.contentsOfDirectory(atPath: clients.folder.path(percentEncoded: false)) == ["sessions.json"])
        #expect(await client.authenticatedUser == nil)
        #expect(await client.sessions.isEmpty)
        try await client.deauthenticate()
    }

    @Test("presence is not told without a connection, and not later", .proves("PRES-3"))
    func presence() async throws {
        let client = try clients.client((ana, "a"))
        #expect(await code { try await client.setPresence(.busy) } == .notConnected)
        #expect(await client.pendingChangeCount == 0)
        #expect(await client.engine?.connection.presence == .auto)
    }

    @Test("the own presence shows offline after a restart", .proves("PRES-4"))
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

    @Test("connecting returns when the first attempt has failed, and goes on trying")
    func refused() async throws {
        let client = try clients.client((ana, "a"))
        try await client.connect()
        #expect(await client.connectionState == .connecting)
        #expect(await code { try await client.connect() } == .alreadyConnected)
        await client.disconnect()
        #expect(await client.connectionState == .disconnected)
    }
}
