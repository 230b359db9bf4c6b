// SPDX-License-Identifier: Apache-2.0
import Foundation
import RPC
import ServiceKit
import StrataModel
import Testing

@testable import Conversations

@Suite struct ConversationsSettingsTests {
    private static let required = [
        "STRATA_POSTGRES_URL": "postgresql://user:hidden@db/strata", "STRATA_REDIS_URL": "redis://:hidden@redis",
        "STRATA_CLUSTER_SECRET": "hidden secret of this cluster, long enough",
    ]

    private func read(_ changes: [String: String]) throws -> ConversationsSettings {
        let settings = Settings(environment: Self.required.merging(changes) { $1 }.filter { !$0.value.isEmpty })
        return try ConversationsSettings(settings, common: CommonSettings(settings))
    }

    @Test("absent settings have their defaults")
    func defaults() throws {
        let settings = try read([:])
        #expect(settings.participantsLimit == 250)
        #expect(settings.metadataLimits == MetadataLimits(bytes: 1 << 20))
        #expect(settings.maximumPatchItems == 20_000)
        #expect(settings.retention == .seconds(30 * 86_400))
        #expect(settings.sessionLifetime == .seconds(30 * 86_400))
        #expect(settings.quotas == Quotas())
    }

    @Test("quotas are numbers; 0 means no limit")
    func quotas() throws {
        let given = [
            "STRATA_FOLLOWED_LIMIT": "1", "STRATA_PUSH_TOKENS_LIMIT": "2", "STRATA_UPLOADS_LIMIT": "3",
            "STRATA_UPLOADS_BYTES": "4",
            "STRATA_APP_UPLOADS_LIMIT": "5", "STRATA_APP_UPLOADS_BYTES": "6", "STRATA_DELAYED_MESSAGES_LIMIT": "7",
            "STRATA_BLOCKED_LIMIT": "8",
        ]
        var quotas = try read(given).quotas
        #expect([quotas.followed, quotas.pushTokens, quotas.uploads] == [1, 2, 3])
        #expect(
            [quotas.uploadBytes, quotas.appUploads, quotas.appUploadBytes, quotas.delayedMessages, quotas.blocked] == [
                4, 5, 6, 7, 8,
            ])
        quotas = try read(given.mapValues { _ in "0" }).quotas
        #expect(
            quotas.followed == nil && quotas.pushTokens == nil && quotas.uploads == nil && quotas.uploadBytes == nil)
        #expect(
            quotas.appUploads == nil && quotas.appUploadBytes == nil && quotas.delayedMessages == nil
                && quotas.blocked == nil)
    }

    @Test("given settings take effect")
    func given() throws {
        let settings = try read([
            "STRATA_RETENTION": "48h", "STRATA_PARTICIPANTS_LIMIT": "25", "STRATA_SESSION_LIFETIME": "2d",
            "STRATA_RPC_PORT": "0",
            "STRATA_METADATA_MAX_BYTES": "0", "STRATA_METADATA_MAX_KEYS": "7", "STRATA_METADATA_MAX_PATCH_ITEMS": "9",
        ])
        #expect(settings.metadataLimits == MetadataLimits(keys: 7))
        #expect(settings.maximumPatchItems == 9)
        #expect(settings.retention == .seconds(48 * 3600))
        #expect(settings.participantsLimit == 25)
        #expect(settings.sessionLifetime == .seconds(2 * 86_400))
        #expect(settings.rpc.port == 0)
    }

    @Test(
        "a missing or invalid setting ends the start with an error that names the key",
        arguments: [
            ("STRATA_POSTGRES_URL", ""), ("STRATA_REDIS_URL", ""), ("STRATA_CLUSTER_SECRET", "short"),
            ("STRATA_RETENTION", "47h"),
            ("STRATA_PARTICIPANTS_LIMIT", "1"), ("STRATA_POSTGRES_CONNECTIONS", "0"),
            ("STRATA_SESSION_LIFETIME", "never"),
        ])
    func wrong(_ key: String, _ value: String) {
        #expect { try read([key: value]) } throws: { ($0 as? SettingsError)?.key == key }
    }

    @Test("printed settings show no secret")
    func secrets() throws {
        let settings = try read([:])
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(
            !"\(settings)".contains("hidden") && !dumped.contains("hidden")
                && !String(reflecting: settings).contains("hidden"))
    }
}
