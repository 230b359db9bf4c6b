// SPDX-License-Identifier: Apache-2.0
import Foundation
import RPC
import ServiceKit
import Testing

@testable import Conversations

@Suite struct ConversationsSettingsTests {
    private static let required = [
        "STRATA_POSTGRES_URL": "postgresql://user:hidden@db/strata", "STRATA_REDIS_URL": "redis://:hidden@redis",
        "STRATA_CLUSTER_SECRET": "hidden secret of this cluster, long enough",
    ]

    private func read(_ changes: [String: String]) throws -> ConversationsSettings {
        let settings = Settings(environment: Self.required.merging(changes) { $1 }.filter { !$0.value.isEmpty })
        return try ConversationsSettings(settings, CommonSettings(settings))
    }

    @Test("what is not given has its default")
    func defaults() throws {
        let settings = try read([:])
        #expect(settings.participantsLimit == 250)
        #expect(settings.retention == .seconds(30 * 86_400))
        #expect(settings.sessionLifetime == .seconds(30 * 86_400))
    }

    @Test("what is given counts")
    func given() throws {
        let settings = try read([
            "STRATA_RETENTION": "48h", "STRATA_PARTICIPANTS_LIMIT": "25", "STRATA_SESSION_LIFETIME": "2d", "STRATA_RPC_PORT": "0",
        ])
        #expect(settings.retention == .seconds(48 * 3600))
        #expect(settings.participantsLimit == 25)
        #expect(settings.sessionLifetime == .seconds(2 * 86_400))
        #expect(settings.rpc.port == 0)
    }

    @Test(
        "what is missing or out of range ends the start, naming the key",
        arguments: [
            ("STRATA_POSTGRES_URL", ""), ("STRATA_REDIS_URL", ""), ("STRATA_CLUSTER_SECRET", "short"), ("STRATA_RETENTION", "47h"),
            ("STRATA_PARTICIPANTS_LIMIT", "1"), ("STRATA_POSTGRES_CONNECTIONS", "0"), ("STRATA_SESSION_LIFETIME", "never"),
        ])
    func wrong(_ key: String, _ value: String) {
        #expect { try read([key: value]) } throws: { ($0 as? SettingsError)?.key == key }
    }

    @Test("no secret shows when settings are printed")
    func secrets() throws {
        let settings = try read([:])
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!"\(settings)".contains("hidden") && !dumped.contains("hidden") && !String(reflecting: settings).contains("hidden"))
    }
}
