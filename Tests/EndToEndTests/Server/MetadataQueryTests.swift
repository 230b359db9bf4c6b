// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import StrataCommand
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("queries by metadata")
    struct MetadataQueryTests {
        private func ids(_ answer: RESTResponse) -> [String] { answer.json.array?.compactMap { $0["id"].string } ?? [] }

        @Test("a user, or the app's server for them, finds the user's conversations with counts, page by page")
        func find() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let users = try await app.signIn(["ana", "ben", "cleo"])
            let (ana, ben, cleo) = (users[0], users[1], users[2])
            let server = AppServer(app)
            let before = try await ana.converse(with: [ben], metadata: ["status": "open"], distinct: false)
            try await IndexCommands(app, cluster).make("metadata.status")
            var open = [before.id]
            for _ in 0..<3 {
                open.insert(
                    try await ana.converse(with: [ben], metadata: ["status": "open"], distinct: false).id, at: 0)
            }
            let closed = try await ana.converse(with: [ben, cleo], metadata: ["status": "closed"], distinct: false)
            _ = try await ana.converse(with: [cleo], metadata: ["status": "open"], distinct: false)
            try await ana.send("hello", to: before)

            for answer in [
                try await ben.does("GET", "/conversations?metadata.status=open"),
                try await server.does("GET", as: "ben", "/conversations?metadata.status=open"),
            ] {
                #expect(ids(answer) == open)
                #expect(answer.header("Layer-Count") == "4")
                let last = answer.json[3]
                #expect(last["unread_message_count"].int == 1 && last["metadata"]["status"].string == "open")
                #expect(last["last_message"]["parts"][0]["body"].string == "hello")
            }
            #expect(
                ids(try await server.does("GET", as: "ben", "/conversations?metadata.status.prefix=cl")) == [closed.id])
            #expect(
                ids(try await server.does("GET", as: "cleo", "/conversations?metadata.status.exists=true")).count == 2)

            // Links lead through all pages and preserve the condition.
            var (found, path): ([String], String?) = ([], "/conversations?metadata.status=open&page_size=3")
            while let next = path {
                let answer = try await ben.does("GET", next)
                found += ids(answer)
                #expect(answer.header("Layer-Count") == "4")
                path = answer.header("Link")?.firstMatch(of: #/<[^>]*?(/conversations[^>]*)>; rel="next"/#)
                    .map { String($0.1) }
            }
            #expect(found == open)

            try await ana.patch(before, set("metadata.status", "closed"))
            #expect(try await ben.does("GET", "/conversations?metadata.status=open").header("Layer-Count") == "3")
            try await ana.patch(closed, remove(ben), set("metadata.status", "secret"))
            #expect(ids(try await ben.does("GET", "/conversations?metadata.status=secret")) == [])
            // Ben still sees the metadata's state at the time of leaving.
            #expect(ids(try await ben.does("GET", "/conversations?metadata.status=closed")) == [closed.id, before.id])
        }

        @Test(
            "the app's server finds exactly the app's matching conversations, in each version's form, and cannot list all"
        )
        func ofApp() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben"))
            var server = AppServer(app)
            try await IndexCommands(app, cluster).make("metadata.status")
            var open: [String] = []
            for _ in 0..<3 {
                open.insert(
                    try await ana.converse(with: [ben], metadata: ["status": "open"], distinct: false).id, at: 0)
            }
            _ = try await ben.converse(with: [ana], metadata: ["status": "closed"], distinct: false)
            let other = AppServer(try await cluster.app())
            for version in ["1.0", "1.1", "2.0", "3.0"] {
                server.version = version
                let answer = try await server.call("GET", "/conversations?metadata.status=open&page_size=2")
                #expect(ids(answer) == Array(open[..<2]) && answer.header("Layer-Count") == "3")
                let participant = answer.json[0]["participants"][0]
                #expect((version < "2.0" ? participant.string : participant["user_id"].string) == "ana")
                #expect(answer.json[0]["metadata"]["status"].string == "open")
                #expect(answer.json[0]["unread_message_count"] == .null)
                let path = try #require(
                    answer.header("Link")?.firstMatch(of: #/<[^>]*?/apps/[^/]*(/conversations[^>]*)>; rel="next"/#)
                        .map { String($0.1) })
                #expect(ids(try await server.call("GET", path)) == [open[2]])
            }
            let all = try await server.call("GET", "/conversations")
            #expect(all.errorID == "missing_property" && all.json["data"]["property"].string == "metadata")
            #expect(try await other.call("GET", "/conversations?metadata.status=open").errorID == "invalid_property")
            // Changes made by the server itself are indexed, too.
            let made = try await server.call(
                "POST", "/conversations",
                ["participants": ["layer:///identities/cleo"], "distinct": false, "metadata": ["status": "new"]])
            #expect(
                ids(try await server.call("GET", "/conversations?metadata.status=new")) == [
                    try #require(made.json["id"].string)
                ])
            let patch: JSONValue = [["operation": "set", "property": "metadata.status", "value": "old"]]
            #expect(try await server.call("PATCH", layerPath(made.json["id"].string ?? ""), patch).status == 204)
            #expect(ids(try await server.call("GET", "/conversations?metadata.status=new")) == [])
            #expect(ids(try await server.call("GET", "/conversations?metadata.status.prefix=ol")).count == 1)
            #expect(try await server.call("DELETE", layerPath(made.json["id"].string ?? "")).status == 204)
            #expect(ids(try await server.call("GET", "/conversations?metadata.status=old")) == [])
        }

        @Test(
            "indexes are added, listed and removed by the Server API and the command; a query without one is refused by name"
        )
        func indexes() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let ana = try await app.signIn("ana")
            let (server, commands) = (AppServer(app), IndexCommands(app, cluster))
            let unknown = try await ana.call("GET", "/conversations?metadata.status=open")
            #expect("\(unknown.status) \(unknown.errorID ?? "")" == "422 invalid_property")
            #expect(unknown.json["data"]["property"].string == "metadata.status")

            let created = try await server.call("POST", "/indexes", ["property": "metadata.status"])
            #expect(
                created.status == 201 && created.json["property"].string == "metadata.status"
                    && created.json["ready_at"] == .null)
            #expect(created.json["state"].string == "building")
            let url = try #require(created.json["url"].string.flatMap { URL(string: $0) })
            #expect(url.path == "/apps/\(server.appID)/indexes/metadata.status")
            #expect(try await server.call("POST", "/indexes", ["property": "metadata.status"]).status == 200)
            try await eventually("it is ready") {
                try await server.call("GET", "/indexes/metadata.status").json["state"].string == "ready"
            }
            #expect(try await ana.call("GET", "/conversations?metadata.status=open").status == 200)

            try await commands.run("add", "metadata.a.b")
            let list = try await server.call("GET", "/indexes")
            #expect(list.json.array?.map { $0["property"].string } == ["metadata.a.b", "metadata.status"])
            #expect(list.header("Layer-Count") == "2")
            #expect(
                try await commands.run("list", "--json").json.array?.compactMap { $0["property"].string } == [
                    "metadata.a.b", "metadata.status",
                ])
            try await commands.run("remove", "metadata.a.b")
            #expect(
                try await commands.run("remove", "metadata.a.b", fails: true).errorOutput
                    .contains("The app has no index metadata.a.b"))
            #expect(try await server.call("DELETE", "/indexes/metadata.status").status == 204)
            for (method, path) in [
                ("DELETE", "/indexes/metadata.status"), ("GET", "/indexes/metadata.status"), ("GET", "/indexes/status"),
            ] {
                let answer = try await server.call(method, path)
                #expect("\(answer.status) \(answer.errorID ?? "")" == "404 not_found", "\(method) \(path)")
            }
            #expect(try await ana.call("GET", "/conversations?metadata.status=open").errorID == "invalid_property")

            for (body, outcome, property) in [
                ([:], "missing_property", "property"), (["property": 1], "invalid_property", "property"),
                (["property": "status"], "invalid_property", "property"),
                (["property": "metadata.__proto__"], "invalid_property", "property"),
            ] as [(JSONValue, String, String)] {
                let answer = try await server.call("POST", "/indexes", body)
                #expect(answer.errorID == outcome && answer.json["data"]["property"].string == property, "\(body)")
            }
            for number in 0..<16 {
                #expect(
                    try await server.call("POST", "/indexes", ["property": .string("metadata.k\(number)")]).status
                        == 201)
            }
            #expect(
                try await server.call("POST", "/indexes", ["property": "metadata.more"]).errorID == "invalid_property")
            #expect(try await commands.run("add", "metadata.more", fails: true).errorOutput.contains("16 indexes"))
        }

        @Test("instances that start later finish an index whose building instances were killed", .long)
        func killed() async throws {
            try await Cluster.with(Cluster.Size()) { cluster in
                let app = try await cluster.app()
                let ana = try await app.signIn("ana")
                let count = 12_000
                func sql(_ text: String) async throws -> String {
                    let name = try #require(URL(string: cluster.databaseURL)?.lastPathComponent)
                    return try await cluster.postgres.runSQL(text, database: name)
                        .trimmingCharacters(in: .whitespacesAndNewlines)
                }
                for other in 0..<6 {
                    _ = try await sql(
                        """
                        SELECT count(conversations.create_conversation('\(app.app.id)', 'ana', gen_random_uuid(), ARRAY['ben\(other)'], false,
                            ARRAY['status'], ARRAY[CASE WHEN n % 20 = 0 THEN 'open' ELSE 'closed' END], 250, NULL, NULL))
                        FROM generate_series(1, \(count / 6)) n
                        """)
                }
                try await IndexCommands(app, cluster).run("add", "metadata.status")
                let begun = "SELECT count(*) FROM metadata.index_path WHERE built_up_to IS NOT NULL"
                try await eventually("the building has begun") { try await sql(begun) == "1" }
                for service in cluster.instances(of: .conversations) { await service.kill() }
                #expect(try await sql("SELECT count(*) FROM metadata.index_path WHERE ready_at IS NULL") == "1")
                for service in cluster.instances(of: .conversations) { try await service.start() }
                try await eventually("the index is ready") {
                    try await ana.call("GET", "/conversations?metadata.status=open&page_size=1").status == 200
                }
                let answer = try await ana.does("GET", "/conversations?metadata.status=open&page_size=1")
                #expect(answer.header("Layer-Count") == "\(count / 20)")
                #expect(try await sql("SELECT count(*) FROM metadata.index_entry") == "\(3 * count)")
            }
        }
    }
}
