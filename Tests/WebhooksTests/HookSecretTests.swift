// SPDX-License-Identifier: Apache-2.0

import Contracts
import Crypto
import Foundation
import Logging
import NIOPosix
import StrataModel
import SwiftProtobuf
import Testing

@testable import Webhooks

@Suite("secrets of webhooks")
struct HookSecretTests {
    private let secrets = HookSecrets(serviceSecret: "a secret of the service, long enough")
    private let app = AppID(rawValue: UUID())
    private let id = WebhookID.random()

    @Test("a sealed secret opens for its hook only, and differs each time")
    func sealed() throws {
        let sealed = try secrets.seal("the secret of a hook", of: id, in: app)
        #expect(try secrets.open(sealed, of: id, in: app) == SymmetricKey(data: Data("the secret of a hook".utf8)))
        #expect(!String(decoding: sealed, as: UTF8.self).contains("secret"))
        #expect(try secrets.seal("the secret of a hook", of: id, in: app) != sealed)
        #expect(throws: HookSecrets.Unreadable.self) { try secrets.open(sealed, of: .random(), in: app) }
        #expect(throws: HookSecrets.Unreadable.self) { try secrets.open(sealed, of: id, in: AppID(rawValue: UUID())) }
    }

    @Test("a modified secret, or one sealed with another key, cannot be opened")
    func altered() throws {
        let sealed = try secrets.seal("the secret of a hook", of: id, in: app)
        for place in sealed.indices {
            var altered = sealed
            altered[place] ^= 1
            #expect(throws: HookSecrets.Unreadable.self) { try secrets.open(altered, of: id, in: app) }
        }
        for length in [0, 1, 12, 28, sealed.count - 1] {
            #expect(throws: HookSecrets.Unreadable.self) {
                try secrets.open(Array(sealed.prefix(length)), of: id, in: app)
            }
        }
        let other = HookSecrets(serviceSecret: "another secret of the service, long enough")
        #expect(throws: HookSecrets.Unreadable.self) { try other.open(sealed, of: id, in: app) }
    }

    // MARK: Registration

    private func register(_ secret: String, _ settings: [String: String] = [:], in database: HookDatabase) async throws
    {
        let names = NameLookup()
        // With name lookup shut down, no receiver is called.
        await names.shutDown()
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let settings = try database.settings(settings)
        let sender = HTTPSender(
            policy: AddressPolicy(allowed: []), timeout: .seconds(20), connectionsPerHost: 1, trustedRoots: [],
            group: MultiThreadedEventLoopGroup.singleton, names: names)
        let verifier = Verifier(store: database.store, sender: sender, settings: settings, logger: quiet)
        let handler = WebhookHandler(
            store: database.store, verifier: verifier,
            tester: WebhookTester(sender: sender, secrets: database.secrets, settings: settings),
            secrets: database.secrets, settings: settings)
        let request = ProtoCreateWebhookRequest.with {
            $0.appID = Data(database.app)
            $0.id = Data(WebhookID.random())
            $0.version = "3.0"
            $0.targetURL = "https://receiver.test/hook"
            $0.events = ["Message.created"]
            $0.secret = secret
        }
        do {
            _ = try await handler.create(request, deadline: HookDatabase.soon)
        } catch {
            await sender.shutDown()
            throw error
        }
        await sender.shutDown()
    }

    @Test("a secret needs 16 bytes, or the operator's minimum")
    func lengths() async throws {
        try await HookDatabase.run { database in
            for (secret, settings, isTaken) in [
                ("fifteen bytes .", [:], false), ("sixteen bytes ..", [:], true), ("éééééééé", [:], true),
                ("ééééééé.", [:], false),
                ("s", ["STRATA_WEBHOOKS_SECRET_MIN_BYTES": "1"], true),
                ("sixteen bytes ..", ["STRATA_WEBHOOKS_SECRET_MIN_BYTES": "17"], false),
            ] as [(String, [String: String], Bool)] {
                do {
                    try await register(secret, settings, in: database)
                    #expect(isTaken, "\(secret)")
                } catch let failure as Failure {
                    #expect(
                        !isTaken && failure.code == .invalidProperty && !failure.message.contains(secret), "\(failure)")
                    #expect(failure.message.contains("secret"))
                }
            }
        }
    }

    @Test("the stored secret of a hook is encrypted")
    func stored() async throws {
        try await HookDatabase.run { database in
            try await register("the secret of a hook", in: database)
            let row = try #require(try await database.texts("SELECT h::text FROM webhooks.hook h").first)
            #expect(!row.contains("the secret") && !row.contains(HookDatabase.hex(Array("the secret".utf8))))
            let hook = try #require(
                try await database.store.hooks(ReadHooks(app: database.app, id: nil), deadline: HookDatabase.soon).first
            )
            let key = try database.secrets.open(hook.sealedSecret, of: hook.webhook.id, in: hook.webhook.app)
            #expect(key == SymmetricKey(data: Data("the secret of a hook".utf8)))
        }
    }
}
