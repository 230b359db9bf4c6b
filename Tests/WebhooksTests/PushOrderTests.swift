// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataModel
import Testing

@testable import Webhooks

/// Pushes to one user from concurrent transactions, against PostgreSQL.
@Suite("the order of pushes")
struct PushOrderTests {
    private static func push(_ text: String, in app: AppID) -> String {
        "SELECT webhooks.push('\(app)', gen_random_uuid(), '{ana}', '{NULL}', '{\"text\": \"\(text)\"}')"
    }

    @Test(
        "a push that waits for another transaction is recorded after that one's push, so that no unsent push counts as delivered"
    )
    func waiting() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook(kinds: [.push])
            try await database.execute(Self.push("first", in: database.app))
            // This transaction has locked the user's lane. It pushes only after the other one has begun.
            let late = try await database.during(
                "SELECT FROM webhooks.lane WHERE hook_id = '\(hook)' FOR UPDATE",
                then: Self.push("second", in: database.app)
            ) {
                let push = Task { try await database.execute(Self.push("third", in: database.app)) }
                try await database.waiting(2)
                return push
            }
            try await late.value
            let told = try await database.claim([(hook, 1)]).flatMap(\.events).map(\.facts)
            #expect(told.count == 3)
            #expect(zip(told, ["first", "second", "third"]).allSatisfy { $0.contains($1) }, "\(told)")
        }
    }
}
