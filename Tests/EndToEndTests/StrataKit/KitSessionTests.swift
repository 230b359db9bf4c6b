// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("StrataKit: several sessions, and signing out")
    struct KitSessionTests {
        @Test("two users alternate on one client with separate data, and neither is signed out", .proves("SESS-1"))
        func turns() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let cleo = try await KitUser.signIn("cleo", to: app, via: 1)
            let client = ana.client
            let ben = KitUser(name: "ben", client: client)
            let first = try #require(await client.currentSession)
            let second = try await client.newSession(identifier: "second")
            try await client.switchSession(to: second)
            #expect(try await KitUser.signIn("ben", to: app, on: client).userID == ben.id)
            let anas = try await send("to ana", from: cleo, to: ana)
            let bens = try await send("to ben", from: cleo, to: ben)
            try await ben.sees(["to ben"], in: bens)
            #expect(try await client.conversation(anas) == nil)
            try await client.switchSession(to: first)
            try await ana.sees(["to ana"], in: anas)
            #expect(try await client.conversation(bens) == nil)
            #expect(await client.sessions.map(\.state) == [.authenticated, .authenticated])
            try await client.switchSession(to: second)
            #expect(try await ben.texts(in: bens) == ["to ben"])
        }

        private func send(_ text: String, from sender: KitUser, to user: KitUser) async throws -> ConversationID {
            let chat = try await sender.client.newConversation(with: [user.id])
            try await chat.send(sender.client.newMessage(parts: [.text(text)]))
            return chat.id
        }

        @Test("offline changes of a user are sent when their session is current again", .proves("SESS-1", "SESS-2"))
        func queues() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app, connects: false)
            let cleo = try await KitUser.signIn("cleo", to: app, via: 1)
            let client = ana.client
            let first = try #require(await client.currentSession)
            let chat = try await send("later", from: ana, to: cleo)
            try await client.switchSession(to: client.newSession(identifier: "second"))
            try await KitUser.signIn("ben", to: app, on: client)
            try await client.connect()
            let other = try await send("now", from: KitUser(name: "ben", client: client), to: cleo)
            try await cleo.sees(["now"], in: other)
            #expect(try await cleo.client.conversation(chat) == nil)
            try await client.switchSession(to: first)
            try await cleo.sees(["later"], in: chat)
            #expect(try await cleo.client.messages(in: chat).first?.sender.userID == ana.id)
        }

        @Test(
            "signing out while the server is unreachable deletes the data and ends downloads and waits; another user can sign in",
            .proves("AUTH-5"))
        func signOut() async throws {
            let app = try await Cluster.shared().app()
            let folder = try KitUser.folder("sign-out")
            let proxy = try await KitUser.proxy(of: app)
            let ana = KitUser(name: "ana", client: try KitUser.client(of: app, behind: proxy, folder: folder))
            try await ana.client.connect()
            try await KitUser.signIn("ana", to: app, on: ana.client)
            let part = try await picture(for: ana, from: KitUser.signIn("ben", to: app, via: 1))
            let events = ana.client.events
            proxy.loseAnswers()
            let download = Task { try await ana.client.download(part) }
            let waiting = Task { try await ana.client.waitForCreation(of: MessageID.random(), timeout: .seconds(600)) }
            for await event in events { if case .contentTransferBegan = event { break } }
            let files = KitUser.files(of: app, in: folder).path(percentEncoded: false)
            #expect(try FileManager.default.contentsOfDirectory(atPath: files).contains { $0.hasSuffix(".sqlite") })
            try await ana.client.deauthenticate()
            await #expect(throws: CancellationError.self) { try await download.value }
            let error = await #expect(throws: StrataError.self) { try await waiting.value }
            #expect(error?.code == .notAuthenticated)
            #expect(try FileManager.default.contentsOfDirectory(atPath: files) == ["sessions.json"])
            #expect(await ana.client.authenticatedUser == nil)
            try await ana.client.deauthenticate()
            proxy.cut()
            #expect(try await signInAgain("cleo", to: app, on: ana.client).userID?.rawValue == "cleo")
            await proxy.close()
        }

        /// Signs a user in after the connections were cut. The client may reuse a cut connection once before it
        /// notices, so a transport error is retried.
        private func signInAgain(_ name: String, to app: TestApp, on client: StrataClient) async throws -> Identity {
            for _ in 0..<5 {
                do {
                    return try await KitUser.signIn(name, to: app, on: client)
                } catch let error as StrataError where error.code == .networkRequestFailed {}
            }
            return try await KitUser.signIn(name, to: app, on: client)
        }

        private func picture(for user: KitUser, from sender: KitUser) async throws -> MessagePart {
            let chat = try await sender.client.newConversation(with: [user.id])
            let bytes = Data(repeating: 7, count: 100_000)
            let sent = try await chat.send(
                sender.client.newMessage(parts: [NewMessagePart(mimeType: "image/png", data: bytes)]))
            return try #require(try await user.client.waitForCreation(of: sent.id, timeout: .seconds(60)).parts.first)
        }
    }
}
