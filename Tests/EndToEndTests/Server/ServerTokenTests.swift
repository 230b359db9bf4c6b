// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("tokens of apps' own servers")
    struct ServerTokenTests {
        @Test("an app has several named tokens, and revoking one leaves the others valid, on all gateways")
        func several() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let commands = ServerTokenCommands(app, cluster)
            let made = try await commands.create(" bot ")
            #expect(try await commands.list().map(\.name) == ["first", "bot"])
            #expect(try await commands.list().last?.id == made.id)
            var bot = AppServer(app)
            bot.token = made.token
            for gateway in 0..<2 {
                #expect(try await bot.call("GET", "/users/ana/conversations", via: gateway).status == 200)
                #expect(try await AppServer(app).call("GET", "/users/ana/conversations", via: gateway).status == 200)
            }
            try await commands.revoke(made.id)
            #expect(try await commands.list().map(\.name) == ["first"])
            for gateway in 0..<2 {
                try await eventually("gateway \(gateway) refuses it") {
                    try await bot.call("GET", "/users/ana/conversations", via: gateway).errorID
                        == "authentication_required"
                }
                #expect(try await AppServer(app).call("GET", "/users/ana/conversations", via: gateway).status == 200)
            }
        }

        @Test("the list of webhooks shows the tokens that registered them, and revoking a token can end its webhooks")
        func webhooks() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let commands = ServerTokenCommands(app, cluster)
            let made = try await commands.create("bot")
            var bot = AppServer(app)
            bot.token = made.token
            let body: JSONValue = [
                "version": "3.0", "target_url": "https://127.0.0.1/hook", "events": ["Message.created"],
                "secret": "of the bot's receiver",
            ]
            var hooks: [String] = []
            for server in [bot, AppServer(app)] {
                let answer = try await server.call("POST", "/webhooks", body)
                hooks.append((answer.json["id"].string ?? "").split(separator: "/").suffix(1).joined())
            }
            for hook in hooks {
                // No challenge is sent to a private address.
                try await eventually("the webhook \(hook) is not verified") {
                    try await bot.call("GET", "/webhooks/\(hook)").json["status"].string == "inactive"
                }
            }
            try await cluster.sql(
                "UPDATE webhooks.hook SET status = 'active', verified_at = now() WHERE app_id = '\(bot.appID)'")
            let list = try await cluster.strata(
                "app", "webhook", "list", "--json", "--database", cluster.databaseURL, app.id)
            let tokens = try #require(try JSONValue(parsing: list).array)
            #expect(tokens.map { $0["id"].string } == hooks && tokens.first?["tokenID"].string == made.id)
            #expect(tokens.last?["tokenID"].string == (try await commands.list().first?.id))
            let said = try await cluster.strata(
                "app", "token", "revoke", made.id, "--end-webhooks", "--database", cluster.databaseURL)
            #expect(said.contains("webhook \(hooks[0])  is inactive") && !said.contains(hooks[1]))
            let ended = try await AppServer(app).call("GET", "/webhooks/\(hooks[0])").json
            #expect(ended["status"].string == "inactive" && ended["status_reason"].string?.contains("revoked") == true)
            #expect(try await AppServer(app).call("GET", "/webhooks/\(hooks[1])").json["status"].string == "active")
        }

        @Test("the commands name invalid input")
        func complaints() async throws {
            let cluster = try await Cluster.shared()
            let environment = ["STRATA_DATABASE_URL": cluster.databaseURL]
            let nowhere = "00000000-0000-4000-8000-000000000000"
            for words in [["create", "--name", "bot", nowhere], ["list", nowhere]] {
                let exit = try await StrataProgram().run(["app", "token"] + words, environment: environment)
                #expect(
                    exit.errorOutput.contains("The app layer:///apps/production/\(nowhere) does not exist"), "\(words)")
            }
            let exit = try await StrataProgram().run(["app", "token", "revoke", nowhere], environment: environment)
            #expect(exit.errorOutput.contains("The token \(nowhere) does not exist"))
        }
    }
}
