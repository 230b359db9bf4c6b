// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about users, as a gateway makes them for an app's own server.
extension CallsFixture {
    /// - Parameters:
    ///   - values: The values by column name; nil removes one.
    ///   - keys: The metadata keys to change; nil removes one.
    func writeIdentity(
        _ mode: String, of user: String, _ values: [String: String?] = [:], bot: Bool? = nil,
        metadata: [String: String]? = nil,
        keys: [String: String?] = [:]
    ) async throws {
        try await call(UsersAPI.writeIdentity) { request in
            request.appID = Data(app)
            request.userID = user
            request.mode = mode
            request.values = Self.values(values)
            request.keys = Self.values(keys)
            if let bot { request.isBot = bot }
            if let metadata { request.metadata.values = metadata }
        }
    }

    private static func values(_ values: [String: String?]) -> [ProtoIdentityValue] {
        values.map { name, value in
            .with {
                $0.name = name
                if let value { $0.value = value }
            }
        }
    }

    /// Creates users whose display names are their ids in capitals.
    func users(_ ids: String...) async throws {
        for id in ids { try await writeIdentity("create", of: id, ["display_name": id.uppercased()]) }
    }

    func suspend(_ user: String, _ isSuspended: Bool = true) async throws {
        try await call(UsersAPI.suspendUser) {
            $0.appID = Data(app)
            $0.userID = user
            $0.isSuspended = isSuspended
        }
    }

    func sessions(of user: String, pageSize: Int32 = 100, from: Data? = nil) async throws -> ProtoListSessionsResponse {
        try await call(UsersAPI.listSessions) {
            $0.appID = Data(app)
            $0.userID = user
            $0.pageSize = pageSize
            if let from { $0.fromID = from }
        }
    }

    func endSessions(of user: String, _ id: Data? = nil) async throws -> Int64 {
        try await call(UsersAPI.endSessions) {
            $0.appID = Data(app)
            $0.userID = user
            if let id { $0.id = id }
        }
        .ended
    }

    func patchApp(
        sessionTTL: Int64? = nil, counts: String? = nil, announcements: Bool? = nil, addedBy: String? = nil,
        additions: Int64? = nil
    ) async throws {
        try await call(UsersAPI.patchApp) {
            $0.appID = Data(app)
            if let sessionTTL { $0.sessionTtl = sessionTTL }
            if let counts { $0.badgeCounts = counts }
            if let announcements { $0.badgeAnnouncements = announcements }
            if let addedBy { $0.participantsAddedBy = addedBy }
            if let additions { $0.strangerAdditionsPerHour = additions }
        }
    }

    func badge(of user: String, setting count: Int64? = nil) async throws -> ProtoBadgeResponse {
        try await call(UsersAPI.badge) {
            $0.appID = Data(app)
            $0.userID = user
            if let count { $0.externalUnreadCount = count }
        }
    }

    /// Registers a device for push notifications.
    func setPushToken(_ device: String, of user: String = "ana") async throws {
        try await call(AccountAPI.setPushToken) {
            $0.appID = Data(app)
            $0.userID = user
            $0.token = .with { ($0.deviceID, $0.type, $0.token) = (device, "apns", "token") }
        }
    }

    func pushWebhook() async throws {
        try await execute(
            """
            INSERT INTO webhooks.hook (id, app_id, version, target_url, secret, events, kinds, status)
            VALUES (gen_random_uuid(), '\(app)', '3.0', 'https://example.org', 'secret', '{Push}', '{Push}', 'active')
            """)
    }

    func erase(_ user: String) async throws {
        try await call(UsersAPI.eraseUser) {
            $0.appID = Data(app)
            $0.userID = user
        }
    }

    /// Carries out all pending erasures.
    /// - Returns: The number of transactions.
    @discardableResult
    func workOffErasures() async throws -> Int {
        var steps = 0
        while try await erasures.step(deadline: .soon) { steps += 1 }
        return steps
    }

    /// Ages all erasures of this app past the time for which ended sessions may still be in use.
    func ageErasures() async throws {
        try await execute(
            "UPDATE conversations.erasure SET requested_at = requested_at - interval '61 seconds', not_before = now() WHERE app_id = '\(app)'"
        )
    }
}
