// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("secrets")
    struct SecretTests {
        /// Secret values that must not leak, by their kind.
        private struct Secrets {
            var texts: [String: String] = [
                "cluster secret": Cluster.secret, "database password": Cluster.databasePassword,
                "message": "text-\(UUID().uuidString)",
                "metadata": "meta-\(UUID().uuidString)", "content": "bytes-\(UUID().uuidString)",
                "push token": "push-\(UUID().uuidString)",
                "webhook secret": "hook-\(UUID().uuidString)", "secret of webhooks": Cluster.webhooksSecret,
            ]
            /// Secrets that must not be stored anywhere, not even in the database.
            static let neverStored = [
                "cluster secret", "database password", "session token", "socket's session token",
                "another session token", "nonce",
                "identity token", "private key", "later session token", "server token", "webhook secret",
                "secret of webhooks",
            ]

            func found(in text: String, only names: [String]? = nil) -> [String] {
                texts.filter { names?.contains($0.key) ?? true }
                    .filter {
                        text.contains($0.value) || text.contains(Self.hex($0.value))
                            || text.contains(Data($0.value.utf8).base64EncodedString())
                    }
                    .map(\.key).sorted()
            }

            private static func hex(_ text: String) -> String { text.utf8.map { String(format: "%02x", $0) }.joined() }
        }

        @Test("no log, metric or error contains a secret at any log level, and the database contains no token")
        func nowhere() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_LOG_LEVEL": "trace"])) { cluster in
                var secrets = Secrets()
                let errors = try await useEverything(cluster, &secrets)
                // Collect the services' logs and answers while one of them is down.
                await cluster.instances(of: .metadata)[0].kill()
                let app = try await cluster.app()
                let user = try await app.signIn("ana")
                secrets.texts["later session token"] = user.token
                let failed = try await user.call(
                    "POST", "/conversations",
                    ["participants": [], "metadata": ["a": .string(secrets.texts["metadata"] ?? "")]])
                #expect(failed.status >= 500 || failed.isSuccess)
                for process in cluster.processes {
                    let log = await process.output
                    #expect(!log.isEmpty, "\(process.name) logs nothing")
                    #expect(secrets.found(in: log) == [], "the log of \(process.name)")
                }
                for process in cluster.processes where process.kind != .metadata {
                    for path in ["/metrics", "/health/live", "/health/ready"] {
                        #expect(
                            secrets.found(in: try await Self.admin(process, path)) == [], "\(path) of \(process.name)")
                    }
                }
                for error in errors { #expect(secrets.found(in: error) == [], "\(error)") }
                let dump = try await Self.dump(cluster)
                #expect(secrets.found(in: dump, only: ["message"]) == ["message"], "the dump is not of this database")
                #expect(secrets.found(in: dump, only: Secrets.neverStored) == [])
                let digest = try await cluster.sql(
                    "SELECT encode(sha256('\(secrets.texts["session token"] ?? "")'), 'hex')")
                #expect(
                    dump.contains(digest.filter { $0 != "\n" }), "the session's digest is not where it was looked for")
            }
        }

        /// - Returns: The bodies of refusals.
        private func useEverything(_ cluster: Cluster, _ secrets: inout Secrets) async throws -> [String] {
            let app = try await cluster.app()
            let client = cluster.client()
            var errors: [String] = []
            let nonce = try await client.nonce()
            let identityToken = try await app.identityToken("ana", nonce: nonce)
            secrets.texts["another session token"] = try await client.signIn(
                appID: app.id, identityToken: identityToken, deadline: Waiting.deadline)
            let ana = try await app.signIn("ana")
            let token = ana.token
            secrets.texts["nonce"] = nonce
            secrets.texts["identity token"] = identityToken
            secrets.texts["session token"] = token
            secrets.texts["private key"] = app.privateKey.split(separator: "\n").dropFirst().first.map { String($0) }
            let (text, meta) = (secrets.texts["message"] ?? "", secrets.texts["metadata"] ?? "")
            // A reused token, corrupted tokens, and an unknown app.
            let bad = [identityToken, identityToken + "x", String(identityToken.dropLast())]
            for identityToken in bad {
                let body: JSONValue = ["app_id": .string(app.id), "identity_token": .string(identityToken)]
                errors.append(try await client.call("POST", "/sessions", body: body).json.text)
            }
            let conversation = try await ana.converse(with: [], metadata: ["note": .string(meta)])
            let message = try await ana.send(text, to: conversation)
            let content = try await ana.upload(Data((secrets.texts["content"] ?? "").utf8))
            try await ana.does("POST", conversation.path + "/messages", content.message)
            secrets.texts["upload URL"] = content.uploadURL.split(separator: "/").last.map { String($0) }
            let download = try await ana.downloadURL(of: content)
            secrets.texts["download URL"] = download.split(separator: "/").last.map { String($0) }
            _ = try await cluster.fetch(download)
            errors.append(try await cluster.fetch(download + "x").json.text)
            errors.append(try await cluster.put(Data("x".utf8), to: content.uploadURL).json.text)
            try await ana.does(
                "POST", "/push_tokens",
                [
                    "type": "apns", "token": .string(secrets.texts["push token"] ?? ""), "device_id": "d",
                    "apns_bundle_id": "org.example",
                ])
            // Invalid bodies with secrets in all places.
            for body in [
                "{\"parts\": [{\"mime_type\": \"text/plain\", \"body\": \"\(text)\" ", "{\"parts\": \"\(text)\"}",
                "\(text)",
            ] {
                errors.append(
                    try await client.call("POST", conversation.path + "/messages", data: Data(body.utf8), token: token)
                        .json.text)
            }
            errors.append(
                try await ana.call("PATCH", conversation.path, [set("metadata.a b", .string(meta))]).json.text)
            errors.append(try await ana.call("GET", "/messages/\(text)").json.text)
            errors.append(
                try await ana.call(
                    "PUT", layerPath(message) + "/parts/9", ["mime_type": "text/plain", "body": .string(text)]
                )
                .json.text)
            errors += try await badTokens(cluster, token)
            try await useSocket(ana, conversation, text, &secrets)
            errors += try await useWebhooks(AppServer(app), &secrets)
            errors.append(try await client.call("DELETE", "/sessions/\(token)x", token: token).json.text)
            return errors
        }

        /// - Returns: The bodies of all answers, none of which may contain a secret.
        private func useWebhooks(_ server: AppServer, _ secrets: inout Secrets) async throws -> [String] {
            secrets.texts["server token"] = server.token
            let secret = secrets.texts["webhook secret"] ?? ""
            var hook: [String: JSONValue] = [
                "version": "3.0", "target_url": "https://127.0.0.1/hook", "events": ["Message.created"],
                "secret": .string(secret),
            ]
            let created = try await server.call("POST", "/webhooks", .object(hook))
            #expect(created.status == 201, "\(created.json)")
            let path = "/webhooks/" + (created.json["id"].string ?? "").split(separator: "/").suffix(1).joined()
            var answers = [created.json.text]
            for (method, path) in [
                ("GET", "/webhooks"), ("GET", path), ("POST", path + "/activate"), ("POST", path + "/deactivate"),
                ("GET", path + "/deliveries"),
            ] {
                let answer = try await server.call(method, path)
                #expect(answer.isSuccess, "\(method) \(path): \(answer.json)")
                answers.append(answer.json.text)
            }
            // Requests refused for another member, and for the secret itself.
            let refused: [(String, JSONValue)] = [
                ("events", ["Message.invented"]), ("secret", .string(String(repeating: secret, count: 50))),
            ]
            for (member, value) in refused {
                hook[member] = value
                answers.append(try await server.call("POST", "/webhooks", .object(hook)).json.text)
            }
            return answers
        }

        private func badTokens(_ cluster: Cluster, _ token: String) async throws -> [String] {
            var errors: [String] = []
            let headers = [
                "Bearer \(token)", "Layer session-token=\"\(token)", "Layer session-token=\(token)x",
                "Basic \(Data(token.utf8).base64EncodedString())",
                "Layer session-token=\"\(token) \"",
            ]
            for header in headers {
                let answer = try await cluster.client()
                    .call("GET", "/conversations", headers: ["Authorization": header])
                #expect(answer.status == 401)
                errors.append(answer.json.text)
            }
            errors.append(try await cluster.client().call("GET", "/\(token)").json.text)
            errors.append(try await cluster.client().call("GET", "/conversations?session_token=\(token)").json.text)
            return errors
        }

        private func useSocket(
            _ ana: TestUser, _ conversation: Conversation, _ text: String, _ secrets: inout Secrets
        ) async throws {
            let other = try await ana.app.signIn("ana")
            secrets.texts["socket's session token"] = other.token
            let socket = try await other.open()
            _ = try await socket.ask("Message.create", conversation.id, TestUser.message(text))
            _ = try await socket.ask("Message.create", Conversation.newID(), TestUser.message(text))
            _ = try await socket.ask(text, nil, [.string(text)])
            try await socket.typing("started", in: conversation.id)
            try await socket.sendText(text)
            _ = try await socket.waitForClose(deadline: Waiting.deadline)
            _ = try? await ana.client.openSocket(sessionToken: other.token + "x", deadline: Waiting.deadline)
        }

        // MARK: Inspected places

        static func admin(_ process: ServiceProcess, _ path: String) async throws -> String {
            let client = try ProtocolClient(
                baseURL: "http://127.0.0.1:\(process.environment["STRATA_ADMIN_PORT"] ?? "")")
            let answer = try? await client.call("GET", path, headers: ["Accept": ""], deadline: Waiting.deadline)
            try await client.shutdown()
            let body = try #require(answer?.body)
            return String(decoding: body, as: UTF8.self)
        }

        private static func dump(_ cluster: Cluster) async throws -> String {
            let directory = cluster.contentDirectory + "-dump.sql"
            let exit = try await ChildProcess.run(
                Launch(
                    try Programs.findPostgres("pg_dump"),
                    arguments: ["--data-only", "--inserts", "--file", directory, cluster.databaseURL]))
            guard exit.isSuccess else { throw CommandFailed(output: exit.output) }
            return try String(contentsOfFile: directory, encoding: .utf8)
        }
    }
}
