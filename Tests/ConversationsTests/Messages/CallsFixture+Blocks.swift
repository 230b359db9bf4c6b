// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about blocks, with model types.
extension CallsFixture {
    @discardableResult
    func block(_ users: [String], by user: String = "ana") async throws -> Position? {
        try await changeBlocks([(.add, users)], by: user)
    }

    @discardableResult
    func unblock(_ users: [String], by user: String = "ana") async throws -> Position? {
        try await changeBlocks([(.remove, users)], by: user)
    }

    /// - Returns: The position in the user's own log; nil if nothing has changed.
    @discardableResult
    func changeBlocks(
        _ operations: [(kind: ProtoBlockOperation.Kind, users: [String])], by user: String = "ana"
    ) async throws -> Position? {
        let place = try await call(BlocksAPI.changeBlocks) {
            $0.appID = Data(app)
            $0.userID = user
            $0.operations = operations.map { operation in
                .with {
                    $0.kind = operation.kind
                    $0.userIds = operation.users
                }
            }
        }
        return place.hasUserPosition ? Position(place.userPosition) : nil
    }

    func blocks(
        of user: String = "ana", pageSize: Int = 100, from: String? = nil
    ) async throws -> (users: [String], total: Int64) {
        let answer = try await call(BlocksAPI.listBlocks) {
            $0.appID = Data(app)
            $0.userID = user
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromUserID = from }
        }
        return (answer.identities.map(\.userID), answer.total)
    }

    func blockPairs(
        of user: String, from: String? = nil, pageSize: Int = BlocksAPI.pairsPageSize
    ) async throws -> (blocked: [String], by: [String]) {
        let answer = try await call(BlocksAPI.blockPairs) {
            $0.appID = Data(app)
            $0.userID = user
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromUserID = from }
        }
        return (answer.blocked.sorted(), answer.blockedBy.sorted())
    }
}
