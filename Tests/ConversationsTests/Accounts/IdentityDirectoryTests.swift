// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Testing

@testable import Conversations

@Suite struct IdentityDirectoryTests {
    let app = AppID.random()
    let deadline = ContinuousClock.Instant.soon

    @Test("unknown users have a minimal identity and no row; each participant has one row")
    func unknown() async throws {
        try await ServiceFixture.run { service in
            let users = ["zoe", "ana", "Émile", "ana"].map { UserID(trusted: $0) }
            let count = "SELECT count(*) FROM conversations.identity"
            for round in 0..<2 {
                let found = try await service.directory.full(users, in: app, deadline: deadline)
                #expect(found.count == 3)
                for user in users { #expect(found[user] == Identity(basic: BasicIdentity(userID: user))) }
                // A second directory with an empty cache.
                #expect(
                    try await IdentityDirectory(database: service.database).basic(users, in: app, deadline: deadline)
                        .count == 3)
                #expect(try await service.number(count) == (round == 0 ? 0 : 3))
                try await service.directory.ensure(users, in: app, deadline: deadline) { () throws(Failure) in false }
                #expect(try await service.number(count) == (round == 0 ? 0 : 3))
                try await ensure(users, in: app, service)
            }
        }
    }

    private func ensure(_ users: [UserID], in app: AppID, _ service: ServiceFixture) async throws {
        try await service.directory.ensure(users, in: app, deadline: deadline) { () throws(Failure) in true }
    }

    @Test(
        "two sweeps a day apart delete an unreferenced identity that is only an id; a mention between the sweeps keeps it"
    )
    func swept() async throws {
        try await ServiceFixture.run { service in
            let maintenance = Maintenance(
                database: service.database, retention: .seconds(48 * 3600), interval: .seconds(600),
                logger: ServiceFixture.quietLogger)
            let users = ["bare", "mentioned", "talking", "followed", "session", "named"].map { UserID(trusted: $0) }
            // Create the identities, as earlier versions did on reading.
            try await ensure(users, in: app, service)
            try await service.execute(
                """
                UPDATE conversations.identity SET display_name = 'Name' WHERE user_id = 'named';
                INSERT INTO conversations.user_conversation (app_id, user_id, conversation_id, created_at)
                VALUES ('\(app)', 'talking', gen_random_uuid(), now());
                INSERT INTO conversations.follow VALUES ('\(app)', 'ana', 'followed', true);
                INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
                VALUES (sha256('x'), '\(app)', 'session', now() + interval '1 day');
                """)
            let dayPasses = "UPDATE conversations.identity SET examined_at = examined_at - interval '25 hours'"
            #expect(try await maintenance.sweep(deadline: .soon) == 0)
            try await service.execute(dayPasses)
            #expect(try await maintenance.sweep(deadline: .soon) == 0)
            #expect(try await service.number("SELECT count(*) FROM conversations.identity WHERE is_doomed") == 2)
            // Another instance with an empty cache sees a new conversation with one of them.
            let mentioned = UserID(trusted: "mentioned")
            try await IdentityDirectory(database: service.database)
                .ensure([mentioned], in: app, deadline: deadline) { () throws(Failure) in true }
            try await service.execute(dayPasses)
            #expect(try await maintenance.sweep(deadline: .soon) == 1)
            #expect(try await service.number("SELECT count(*) FROM conversations.identity WHERE user_id = 'bare'") == 0)
            #expect(try await service.number("SELECT count(*) FROM conversations.identity") == 5)
            let found = try await service.directory.full([users[0]], in: app, deadline: deadline)
            #expect(found[users[0]] == Identity(basic: BasicIdentity(userID: users[0])))
        }
    }

    @Test("concurrent requests that mention the same new users all receive these users")
    func racing() async throws {
        try await ServiceFixture.run { service in
            let users = (0..<40).map { UserID(trusted: "user\($0)") }
            let (app, deadline, database) = (app, deadline, service.database)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        // Each task has its own directory, as in separate instances.
                        let directory = IdentityDirectory(database: database)
                        try await directory.ensure(users.shuffled(), in: app, deadline: deadline) {
                            () throws(Failure) in true
                        }
                        return try await directory.basic(users.shuffled(), in: app, deadline: deadline).count
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts == Array(repeating: 40, count: 12))
            #expect(try await service.number("SELECT count(*) FROM conversations.identity") == 40)
        }
    }

    @Test("one user id in two apps means two users")
    func apps() async throws {
        try await ServiceFixture.run { service in
            let (ana, other) = (UserID(trusted: "ana"), AppID.random())
            for app in [app, other] { try await ensure([ana], in: app, service) }
            try await service.execute(
                "UPDATE conversations.identity SET display_name = 'Ana' WHERE app_id = '\(other)'")
            #expect(try await service.directory.full([ana], in: app, deadline: deadline)[ana]?.basic.displayName == nil)
            #expect(
                try await service.directory.full([ana], in: other, deadline: deadline)[ana]?.basic.displayName == "Ana")
        }
    }

    @Test("a cache keeps basic identities for their lifetime only")
    func cache() async throws {
        try await ServiceFixture.run { service in
            let ana = UserID(trusted: "ana")
            let remembering = IdentityDirectory(database: service.database, lifetime: .seconds(3600))
            let forgetful = IdentityDirectory(database: service.database, lifetime: .zero)
            try await ensure([ana], in: app, service)
            for directory in [remembering, forgetful] {
                _ = try await directory.basic([ana], in: app, deadline: deadline)
            }
            try await service.execute("UPDATE conversations.identity SET display_name = 'Ana'")
            #expect(try await remembering.basic([ana], in: app, deadline: deadline)[ana]?.displayName == nil)
            #expect(try await forgetful.basic([ana], in: app, deadline: deadline)[ana]?.displayName == "Ana")
            remembering.forget(ana, in: app)
            #expect(try await remembering.basic([ana], in: app, deadline: deadline)[ana]?.displayName == "Ana")
        }
    }
}
