// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import DatabaseKit
import Foundation
import Postgres
import RPC
import StrataModel
import SwiftProtobuf
import TestSupport
import Testing

@testable import Conversations

/// One service with several databases on one server.
@Suite("several databases", .timeLimit(.minutes(2))) struct DatabasesTests {
    private struct Home {
        let name: String
        let url: String
        let app = AppID.random()
        let provider = UUID()
        let keyID = UUID()

        func execute(_ sql: String) async throws {
            try await Migrator(configuration: PostgresConfiguration(url: url)).execute(script: sql)
        }
    }

    private static let unreachable = "postgresql://nobody@127.0.0.1:1/none"

    /// Runs the service with a database for each name, each with one app.
    /// - Parameters:
    ///   - adding: Further databases of the setting.
    ///   - ownNames: The names that the databases have. nil: the same.
    private func run(
        _ names: [String], adding: [String] = [], ownNames: [String]? = nil,
        _ body: (RunningService, [Home]) async throws -> Void
    ) async throws {
        var homes: [Home] = []
        for (number, (name, ownName)) in zip(names, ownNames ?? names).enumerated() {
            let home = Home(name: name, url: try await ServiceFixture.migratedDatabase())
            try await home.execute("SELECT conversations.name_database('\(ownName)', \(number + 1))")
            homes.append(home)
        }
        let list = (homes.map { "\($0.name)=\($0.url)" } + adding).joined(separator: " ")
        let settings = try #require(DatabaseList(list))
        let redis = try await TestServers.redis().url
        try await RunningService.run(postgres: homes[0].url, redis: redis) {
            $0.postgres = PostgresSettings(settings)
        } _: { running in
            for home in homes {
                try await RunningService(url: home.url, client: running.client, service: running.service)
                    .createApp(home.app, provider: home.provider, keyID: home.keyID)
            }
            try await body(running, homes)
        }
    }

    private func signIn(_ user: String, in home: Home, _ running: RunningService) async throws -> String {
        try await running.call(ConversationsAPI.signIn) {
            $0.appID = Data(home.app)
            $0.identityToken = try running.token(user, provider: home.provider, keyID: home.keyID)
        }
        .sessionToken
    }

    private func converse(_ id: ConversationID, in home: Home, _ running: RunningService) async throws {
        _ = try await running.call(ConversationsAPI.createConversation) {
            $0.appID = Data(home.app)
            $0.actor = "ana"
            $0.id = Data(id)
            $0.participants = ["ana", "ben"]
        }
    }

    private func count(_ sql: String, in home: Home) async throws -> String {
        let store = try PostgresConfiguration(url: home.url)
        let pool = PostgresPool(configuration: store, mode: .exclusive, logger: ServiceFixture.quietLogger)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            defer { group.cancelAll() }
            let rows = try await pool.query(Statement("test.count", sql: sql), deadline: .soon)
            return try #require(rows.first).get(0)
        }
    }

    @Test("equal ids of users, conversations and messages in three databases stay apart")
    func apart() async throws {
        try await run(["main", "second", "third"]) { running, homes in
            let (conversation, message) = (ConversationID.random(), MessageID.random())
            for home in homes {
                try await converse(conversation, in: home, running)
                let sent = try await running.call(ConversationsAPI.sendMessage) {
                    $0.appID = Data(home.app)
                    $0.actor = "ana"
                    $0.conversationID = Data(conversation)
                    $0.id = Data(message)
                    $0.parts = [
                        .with {
                            $0.id = Data(uuid: UUID())
                            $0.mimeType = "text/plain"
                            $0.body = home.name
                        }
                    ]
                }
                #expect(sent.message.parts.first?.body == home.name)
            }
            for home in homes {
                let read = try await running.call(ConversationsAPI.getMessage) {
                    $0.appID = Data(home.app)
                    $0.userID = "ben"
                    $0.messageID = Data(message)
                }
                #expect(read.parts.first?.body == home.name)
                #expect(
                    try await count(
                        "SELECT string_agg(DISTINCT app_id::text, ' ') FROM conversations.participant", in: home)
                        == "\(home.app)")
                let changes = try await running.call(ConversationsAPI.readChanges) {
                    $0.conversationID = Data(conversation)
                    $0.limit = 10
                    $0.database = home.name
                }
                #expect(Set(changes.changes.map(\.appID)) == [Data(home.app)])
                let heads = try await running.call(ConversationsAPI.heads) { $0.database = home.name }
                #expect(Set(heads.users.map(\.appID)).isSubset(of: [Data(home.app)]))
                #expect(heads.heads.contains { $0.conversationID == Data(conversation) })
            }
        }
    }

    @Test("sessions are found in the database of their app, also by tokens of older releases, which name no app")
    func sessions() async throws {
        try await run(["main", "second"]) { running, homes in
            for home in homes {
                let token = try await signIn("ana", in: home, running)
                let digest = Data(SHA256.hash(data: Data(token.utf8)))
                for app in [Data(home.app), Data()] {
                    let session = try await running.call(ConversationsAPI.findSession) {
                        $0.tokenDigest = digest
                        $0.appID = app
                    }
                    #expect(session.appID == Data(home.app) && session.database == home.name)
                }
                let unknown = Data(repeating: 7, count: 32)
                let checked = try await running.call(ConversationsAPI.checkSessions) {
                    $0.tokenDigests = [digest, unknown]
                    $0.appIds = [Data(home.app), Data(home.app)]
                }
                #expect(checked.ended == [unknown])
                _ = try await running.call(ConversationsAPI.endSession) { $0.tokenDigest = digest }
                let refusal = await running.failure(of: ConversationsAPI.findSession, .with { $0.tokenDigest = digest })
                #expect(refusal == .sessionEnded)
            }
        }
    }

    @Test("a database that is away stops only its apps, and no app is called unknown meanwhile")
    func away() async throws {
        try await run(["main", "second"], adding: ["third=\(Self.unreachable)"]) { running, homes in
            for home in homes { _ = try await signIn("ana", in: home, running) }
            let unknown = await running.failure(
                of: ConversationsAPI.followed,
                .with {
                    $0.appID = Data(AppID.random())
                    $0.userID = "ana"
                })
            #expect(unknown == .unavailable)
            let heads = await running.failure(of: ConversationsAPI.heads, .with { $0.database = "third" })
            #expect(heads == .unavailable)
            let apps = try await running.call(AdminAPI.readReport) { $0.name = "apps" }
            let listed = try JSONDecoder().decode([ListedApp].self, from: apps.json)
            #expect(listed.map(\.database) == ["main", "second"])
            let states = try await running.call(AdminAPI.readReport) { $0.name = "databases" }
            let known = try JSONDecoder().decode([DatabaseState].self, from: states.json)
            #expect(known.map(\.name) == ["main", "second", "third"])
            #expect(known.map { $0.apps } == [1, 1, nil])
        }
    }

    private struct ListedApp: Decodable {
        let database: String?
    }

    private struct DatabaseState: Decodable {
        let name: String
        let apps: Int?
    }

    @Test("a page of apps continues in the next database")
    func pages() async throws {
        try await run(["main", "second"]) { running, homes in
            var (seen, after): ([String], String) = ([], "")
            while true {
                let page = try await running.call(AdminAPI.readReport) {
                    $0.name = "apps"
                    $0.limit = 1
                    $0.after = after
                }
                let ids = try JSONDecoder().decode([AppItem].self, from: page.json).map(\.id)
                guard let last = ids.last else { break }
                seen += ids
                after = last
            }
            #expect(seen == homes.map { "\($0.app)" })
        }
    }

    private struct AppItem: Decodable {
        let id: String
    }

    @Test("an app that is paused is waited for, and then found in the other database")
    func moved() async throws {
        try await run(["main", "second"]) { running, homes in
            let (from, to) = (homes[0], homes[1])
            _ = try await signIn("ana", in: from, running)
            try await to.execute("SELECT conversations.expect_app('\(from.app)', 'main', 'e')")
            try await to.execute(
                "INSERT INTO conversations.app (id, name, provider_id) VALUES ('\(from.app)', 'test', '\(from.provider)')"
            )
            try await to.execute(
                """
                INSERT INTO conversations.app_key (id, app_id, public_key)
                VALUES (gen_random_uuid(), '\(from.app)', 'unused');
                """)
            try await from.execute(
                "SELECT conversations.begin_move('\(from.app)', 'second'), conversations.set_move_state('\(from.app)', 'paused')"
            )
            async let answer = running.call(ConversationsAPI.followed) {
                $0.appID = Data(from.app)
                $0.userID = "ana"
            }
            try await to.execute("DELETE FROM conversations.app_move WHERE app_id = '\(from.app)'")
            try await from.execute("SELECT conversations.set_move_state('\(from.app)', 'moved')")
            _ = try await answer
            // The session stays in the former database, because this test copies no rows.
            let moved = try await running.call(ConversationsAPI.heads) { $0.database = "main" }
            #expect(moved.moved == [Data(from.app)])
            // Lists of departures from before the pause are valid until then.
            try await Task.sleep(for: AppDirectory.lifetime)
            let created = ConversationID.random()
            try await converse(created, in: from, running)
            #expect(try await count("SELECT count(*)::text FROM conversations.conversation", in: to) == "1")
            #expect(try await count("SELECT count(*)::text FROM conversations.conversation", in: from) == "0")
        }
    }

    @Test("an app that was deleted after its move is unknown")
    func deleted() async throws {
        try await run(["main", "second"]) { running, homes in
            let app = AppID.random()
            try await homes[0]
                .execute(
                    "INSERT INTO conversations.app_move (app_id, other, state) VALUES ('\(app)', 'second', 'moved')")
            let token = try running.token("ana", provider: homes[0].provider, keyID: homes[0].keyID)
            let refusal = await running.failure(
                of: ConversationsAPI.signIn,
                .with {
                    $0.appID = Data(app)
                    $0.identityToken = token
                })
            #expect(refusal != nil && refusal != .unavailable)
        }
    }

    @Test("a database with another name than its setting is not used")
    func misnamed() async throws {
        try await run(["main", "second"], ownNames: ["main", "other"]) { running, homes in
            _ = try await signIn("ana", in: homes[0], running)
            let refusal = await running.failure(
                of: ConversationsAPI.followed,
                .with {
                    $0.appID = Data(homes[1].app)
                    $0.userID = "ana"
                })
            #expect(refusal == .unavailable)
        }
    }
}
