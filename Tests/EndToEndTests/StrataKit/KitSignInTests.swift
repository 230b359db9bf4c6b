// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("StrataKit: signing in")
    struct KitSignInTests {
        /// Returns the `StrataError` that `body` throws; nil if it throws another error or none.
        private func refusal(of body: () async throws -> Void) async -> StrataError? {
            do {
                try await body()
                return nil
            } catch {
                return error as? StrataError
            }
        }

        @Test("a nonce and an identity token create a session, and the user's identity is returned", .proves("AUTH-1"))
        func signIn() async throws {
            let app = try await Cluster.shared().app()
            let client = try KitUser.client(of: app, "ana")
            #expect(await client.authenticatedUser == nil)
            let identity = try await KitUser.signIn("ana", to: app, on: client)
            #expect(identity.userID?.rawValue == "ana")
            #expect(identity.displayName == "Ana")
            #expect(await client.authenticatedUser?.displayName == "Ana")
            #expect(await client.sessions.map(\.state) == [.authenticated])
        }

        @Test("a token that the server refuses throws, and no user is signed in", .proves("AUTH-6", "ERR-2"))
        func refused() async throws {
            let app = try await Cluster.shared().app()
            let client = try KitUser.client(of: app, "ana")
            let nonce = try await client.requestAuthenticationNonce()
            let strange = try await app.identityToken(
                "ana", nonce: nonce, signedWith: TestApp.strangeKey.value.privateKey)
            let unknownNonce = try await app.identityToken("ana", nonce: "never given")
            for token in ["no token", strange, unknownNonce] {
                #expect(
                    await refusal(of: { try await client.authenticate(identityToken: token) })?.code == .invalidToken)
            }
            #expect(await client.authenticatedUser == nil)
            #expect(await client.sessions.isEmpty)
        }

        @Test("a new token of the same user replaces the session; one of another user throws", .proves("AUTH-2"))
        func again() async throws {
            let app = try await Cluster.shared().app()
            let folder = try KitUser.folder("again")
            let ana = try await KitUser.signIn("ana", to: app, folder: folder)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let first = try KitUser.token(of: "ana", app, in: folder)
            #expect(try await KitUser.signIn("ana", to: app, on: ana.client).userID == ana.id)
            #expect(try KitUser.token(of: "ana", app, in: folder) != first)
            try await KitUser.isOver(first, app)
            let chat = try await ben.client.newConversation(with: [ana.id])
            try await chat.send(ben.client.newMessage(parts: [.text("Hi")]))
            try await ana.sees(["Hi"], in: chat.id)
            let error = await refusal(of: { try await KitUser.signIn("ben", to: app, on: ana.client) })
            #expect(error?.code == .alreadyAuthenticated)
            #expect(error?.userID == ana.id)
            #expect(await ana.client.sessions.map(\.userID) == [ana.id])
            #expect(await ana.client.currentSession?.state == .authenticated)
        }

        @Test("the last of several concurrent sign-in calls continues, and the others are cancelled", .proves("AUTH-3"))
        func atOnce() async throws {
            let app = try await Cluster.shared().app()
            let client = try KitUser.client(of: app, "several")
            let tokens = try await ["ana", "ben", "cleo"]
                .asyncMap { try await app.identityToken($0, nonce: try await client.requestAuthenticationNonce()) }
            let results = await withTaskGroup(of: Result<Identity, any Error>.self) { group in
                for token in tokens {
                    group.addTask { await Result(catching: { try await client.authenticate(identityToken: token) }) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let signedIn = results.compactMap { try? $0.get().userID }
            #expect(signedIn.count == 1)
            #expect(
                results.count { result in
                    if case .failure(let error) = result { error is CancellationError } else { false }
                } == 2)
            #expect(await client.authenticatedUser?.userID == signedIn.first)
            #expect(await client.sessions.map(\.userID) == signedIn)
        }

        @Test(
            "an ended session gives the app a nonce; store and queue persist, and the queue continues after signing in",
            .proves("AUTH-4", "SESS-2"))
        func challenge() async throws {
            let app = try await Cluster.shared().app()
            let folder = try KitUser.folder("challenge")
            let ana = try await KitUser.signIn("ana", to: app, folder: folder)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id])
            try await chat.send(ana.client.newMessage(parts: [.text("1")]))
            try await ben.sees(["1"], in: chat.id)
            try await ana.isIdle()
            let challenges = ana.client.authenticationChallenges
            try await KitUser.end(KitUser.token(of: "ana", app, in: folder), app)
            var nonce: String?
            for await challenge in challenges {
                nonce = challenge
                break
            }
            #expect(await ana.client.currentSession?.state == .challenged)
            #expect(await ana.client.connectionState == .disconnected)
            try await chat.send(ana.client.newMessage(parts: [.text("2")]))
            #expect(try await ana.texts(in: chat.id) == ["1", "2"])
            #expect(await ana.client.pendingChangeCount == 1)
            let token = try await app.identityToken("ana", nonce: try #require(nonce))
            try await ana.client.authenticate(identityToken: token)
            #expect(await ana.client.currentSession?.state == .authenticated)
            try await ben.sees(["1", "2"], in: chat.id)
        }

        @Test(
            "a session that ends while the client connects makes that call throw, without a challenge",
            .proves("AUTH-4"))
        func challengeDuringConnect() async throws {
            let app = try await Cluster.shared().app()
            let folder = try KitUser.folder("during")
            let ana = try await KitUser.signIn("ana", to: app, folder: folder)
            await ana.client.disconnect()
            try await KitUser.end(KitUser.token(of: "ana", app, in: folder), app)
            let challenges = ana.client.authenticationChallenges
            #expect(await refusal(of: { try await ana.client.connect() })?.code == .unauthenticated)
            #expect(await ana.client.currentSession?.state == .challenged)
            #expect(await ana.client.connectionState == .disconnected)
            try await KitUser.signIn("ana", to: app, on: ana.client)
            try await ana.connect()
            await ana.client.close()
            for await nonce in challenges { Issue.record("a challenge with \(nonce)") }
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}

extension Result where Failure == any Error {
    fileprivate init(catching body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
