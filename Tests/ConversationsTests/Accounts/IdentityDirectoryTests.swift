// SPDX-License-Identifier: Apache-2.0
import Foundation
import Model
import Testing

@testable import Conversations

@Suite struct IdentityDirectoryTests {
    let app = AppID.random()
    let deadline = ContinuousClock.Instant.soon

    @Test("users never heard of get a minimal identity, once")
    func unknown() async throws {
        try await ServiceFixture.run { service in
            let users = ["zoe", "ana", "Émile", "ana"].map { UserID(trusted: $0) }
            let found = try await service.directory.full(users, in: app, deadline: deadline)
            #expect(found.count == 3)
            for user in users { #expect(found[user] == Identity(basic: BasicIdentity(userID: user))) }
            _ = try await service.directory.basic(users, in: app, deadline: deadline)
            #expect(try await service.number("SELECT count(*) FROM conversations.identity") == 3)
        }
    }

    @Test("many who mention the same new users at once all get them")
    func racing() async throws {
        try await ServiceFixture.run { service in
            let users = (0..<40).map { UserID(trusted: "user\($0)") }
            let (app, deadline, database) = (app, deadline, service.database)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        // A directory each, as in several instances.
                        let directory = IdentityDirectory(database: database)
                        return try await directory.basic(users.shuffled(), in: app, deadline: deadline).count
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts == Array(repeating: 40, count: 12))
        }
    }

    @Test("the same user id in two apps is two users")
    func apps() async throws {
        try await ServiceFixture.run { service in
            let (ana, other) = (UserID(trusted: "ana"), AppID.random())
            _ = try await service.directory.basic([ana], in: app, deadline: deadline)
            _ = try await service.directory.basic([ana], in: other, deadline: deadline)
            try await service.execute("UPDATE conversations.identity SET display_name = 'Ana' WHERE app_id = '\(other)'")
            #expect(try await service.directory.full([ana], in: app, deadline: deadline)[ana]?.basic.displayName == nil)
            #expect(try await service.directory.full([ana], in: other, deadline: deadline)[ana]?.basic.displayName == "Ana")
        }
    }

    @Test("basic identities are remembered for their lifetime only")
    func cache() async throws {
        try await ServiceFixture.run { service in
            let ana = UserID(trusted: "ana")
            let remembering = IdentityDirectory(database: service.database, lifetime: .seconds(3600))
            let forgetful = IdentityDirectory(database: service.database, lifetime: .zero)
            for directory in [remembering, forgetful] { _ = try await directory.basic([ana], in: app, deadline: deadline) }
            try await service.execute("UPDATE conversations.identity SET display_name = 'Ana'")
            #expect(try await remembering.basic([ana], in: app, deadline: deadline)[ana]?.displayName == nil)
            #expect(try await forgetful.basic([ana], in: app, deadline: deadline)[ana]?.displayName == "Ana")
            remembering.forget(ana, in: app)
            #expect(try await remembering.basic([ana], in: app, deadline: deadline)[ana]?.displayName == "Ana")
        }
    }

    @Test("an expiring cache keeps its bound, and what is new in it")
    func bounded() {
        let start = ContinuousClock.now
        var cache = ExpiringCache<Int, Int>(capacity: 10)
        for number in 0..<1000 {
            cache.insert(number, for: number, until: start + .seconds(1))
            #expect(cache.count <= 10)
            #expect(cache.value(for: number, at: start) == number)
            #expect(cache.value(for: max(0, number - 4), at: start) == max(0, number - 4))
        }
        #expect(cache.value(for: 999, at: start + .seconds(1)) == nil)
        cache.remove(999)
        #expect(cache.value(for: 999, at: start) == nil)
    }
}
