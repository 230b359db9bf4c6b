// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("tokens of apps' own servers")
    struct ServerTokenTests {
        @Test("an app has several, each with a name, and one is revoked without the others, on all gateways")
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
                    try await bot.call("GET", "/users/ana/conversations", via: gateway).errorID == "authentication_required"
                }
                #expect(try await AppServer(app).call("GET", "/users/ana/conversations", via: gateway).status == 200)
            }
        }

        @Test("the commands name what is wrong")
        func complaints() async throws {
            let cluster = try await Cluster.shared()
            let environment = ["STRATA_DATABASE_URL": cluster.databaseURL]
            let nowhere = "00000000-0000-4000-8000-000000000000"
            for words in [["create", "--name", "bot", nowhere], ["list", nowhere]] {
                let exit = try await StrataProgram().run(["app", "token"] + words, environment: environment)
                #expect(exit.complaints.contains("There is no app layer:///apps/production/\(nowhere)"), "\(words)")
            }
            let exit = try await StrataProgram().run(["app", "token", "revoke", nowhere], environment: environment)
            #expect(exit.complaints.contains("There is no token \(nowhere)"))
        }
    }
}
