// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// The administration of apps by operators.
    @Suite struct AdminTests {
        private func code(_ body: () async throws -> Void, _ calls: CallsFixture) async throws -> Failure.Code? {
            try await calls.refusal(body)?.code
        }

        @Test("an app is created with its key and token, once; an id of another app is refused, and nothing is left")
        func creation() async throws {
            try await CallsFixture.run { calls in
                let (key, token, digest) = (UUID(), UUID(), Data.random())
                for _ in 0..<2 { try await calls.createApp(key: key, token: token, digest: digest) }
                let app = try await calls.report("app")
                #expect(app.name?.text == "Chess" && app.suspended?.bool == false && app.deleting?.bool == false)
                #expect(app.keys?.elements.map(\.id?.text) == [key.lowercased])
                #expect(app.tokens?.elements.map(\.id?.text) == [token.lowercased])
                #expect(app.settings?.participants_added_by?.text == "anyone")
                #expect(try await calls.findToken(digest) == token)

                let other = calls.with(app: .random())
                let attempts: [() async throws -> Void] = [
                    { try await other.createApp(key: key) }, { try await other.createApp(token: token) },
                    { try await other.createApp(digest: digest) }, { try await calls.createApp(key: key) },
                ]
                for attempt in attempts { #expect(try await code(attempt, calls) == .idInUse) }
                #expect(try await code({ _ = try await other.report("app") }, calls) == .notFound)
            }
        }

        @Test("an app without a usable name or key is refused by the field's name")
        func fields() async throws {
            try await CallsFixture.run { calls in
                let short = String(repeating: "x", count: 201)
                for name in ["", "  ", "a\nb", short] {
                    let refusal = try await calls.refusal { try await calls.createApp { $0.name = name } }
                    #expect(refusal?.detail == .property("name"), "\(name)")
                }
                for pem in ["", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
                    let refusal = try await calls.refusal { try await calls.createApp { $0.publicKey = pem } }
                    #expect(refusal?.detail == .property("public_key"), "\(pem)")
                }
            }
        }

        @Test("an app is suspended and resumed; one that is being deleted stays suspended")
        func suspension() async throws {
            try await CallsFixture.run { calls in
                #expect(try await code({ try await calls.suspendApp(true) }, calls) == .notFound)
                let digest = Data.random()
                try await calls.createApp(digest: digest)
                for _ in 0..<2 { try await calls.suspendApp(true) }
                #expect(try await code({ _ = try await calls.findToken(digest) }, calls) == .appSuspended)
                try await calls.suspendApp(false)
                _ = try await calls.findToken(digest)
                try await calls.execute(
                    "UPDATE conversations.app SET deleting_since = now(), suspended = true WHERE id = '\(calls.app)'")
                #expect(try await code({ try await calls.suspendApp(false) }, calls) == .invalidOperation)
                try await calls.suspendApp(true)
                #expect(try await calls.report("app").suspended?.bool == true)
                #expect(try await code({ try await calls.addKey() }, calls) == .notFound)
                #expect(try await code({ try await calls.createToken() }, calls) == .notFound)
            }
        }

        @Test("keys are added once, up to twenty, and removed only from their own app")
        func keys() async throws {
            try await CallsFixture.run { calls in
                try await calls.createApp()
                let key = UUID()
                for _ in 0..<2 { try await calls.addKey(key) }
                #expect(try await calls.report("app").keys?.elements.count == 2)
                let other = calls.with(app: .random())
                try await other.createApp()
                #expect(try await code({ try await other.addKey(key) }, calls) == .idInUse)
                try await other.removeKey(key)
                #expect(try await calls.report("app").keys?.elements.count == 2)
                for _ in 0..<18 { try await calls.addKey() }
                let refusal = try await calls.refusal { try await calls.addKey() }
                #expect(refusal?.detail == .property("key_id"))
                try await calls.addKey(key)
                for _ in 0..<2 { try await calls.removeKey(key) }
                #expect(try await calls.report("app").keys?.elements.count == 19)
            }
        }

        @Test("an expired token is refused, and the next creation deletes it; a token of another app is not revoked")
        func tokens() async throws {
            try await CallsFixture.run { calls in
                try await calls.createApp()
                let (token, digest) = (UUID(), Data.random())
                for _ in 0..<2 { try await calls.createToken(token, digest: digest, expiresIn: 3600) }
                #expect(try await calls.findToken(digest) == token)
                let listed = try await calls.report("app").tokens?.elements.last
                #expect(listed?.name?.text == "console" && listed?.expires_at?.text != nil)
                try await calls.execute(
                    "UPDATE conversations.server_token SET expires_at = now() WHERE id = '\(token)'")
                #expect(try await code({ _ = try await calls.findToken(digest) }, calls) == .authenticationRequired)
                #expect(try await calls.report("app").tokens?.elements.count == 2)
                let next = Data.random()
                try await calls.createToken(digest: next)
                #expect(try await calls.report("app").tokens?.elements.map(\.name?.text) == ["first", "console"])

                let other = calls.with(app: .random())
                try await other.createApp()
                let id = try await calls.findToken(next)
                try await other.revokeToken(id)
                _ = try await calls.findToken(next)
                #expect(try await code({ try await other.createToken(id) }, calls) == .idInUse)
                for _ in 0..<2 { try await calls.revokeToken(id) }
                #expect(try await code({ _ = try await calls.findToken(next) }, calls) == .authenticationRequired)
                for seconds: Int64 in [0, -1, 315_360_001] {
                    let refusal = try await calls.refusal { try await calls.createToken(expiresIn: seconds) }
                    #expect(refusal?.detail == .property("expires_in_seconds"))
                }
            }
        }

        @Test("an expired token registers no webhook, also while a gateway still caches it")
        func hooks() async throws {
            try await CallsFixture.run { calls in
                try await calls.createApp()
                let token = UUID()
                try await calls.createToken(token, expiresIn: 3600)
                let lock = "SELECT webhooks.lock_token('\(calls.app)', '\(token)')::text"
                #expect(try await calls.text(lock) == "true")
                try await calls.execute(
                    "UPDATE conversations.server_token SET expires_at = now() WHERE id = '\(token)'")
                #expect(try await calls.text(lock) == "false")
            }
        }
    }
}

extension UUID {
    fileprivate var lowercased: String { uuidString.lowercased() }
}
