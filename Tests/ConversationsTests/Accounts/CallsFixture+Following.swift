// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about following, with model types.
extension CallsFixture {
    func follow(_ users: [String], by user: String = "ana") async throws {
        try await call(ConversationsAPI.follow) {
            $0.appID = Data(app)
            $0.userID = user
            $0.followed = users
        }
    }

    func unfollow(_ other: String, by user: String = "ana") async throws {
        try await call(ConversationsAPI.unfollow) {
            $0.appID = Data(app)
            $0.userID = user
            $0.followed = other
        }
    }

    func isFollowed(_ other: String, by user: String = "ana") async throws -> Bool {
        try await call(ConversationsAPI.isFollowed) {
            $0.appID = Data(app)
            $0.userID = user
            $0.followed = other
        }
        .isFollowed
    }

    func listFollowed(
        by user: String = "ana", pageSize: Int = 100, from: String? = nil
    ) async throws -> (users: [String], total: Int64) {
        let answer = try await call(ConversationsAPI.listFollowed) {
            $0.appID = Data(app)
            $0.userID = user
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromUserID = from }
        }
        return (answer.identities.map(\.basic.userID), answer.total)
    }

    func followed(by user: String) async throws -> [String] {
        try await call(ConversationsAPI.followed) {
            $0.appID = Data(app)
            $0.userID = user
        }
        .userIds
    }
}
