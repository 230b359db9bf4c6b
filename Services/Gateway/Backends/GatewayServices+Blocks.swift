// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import StrataModel
import StrataWire
import SwiftProtobuf

extension GatewayServices {
    /// Returns a page of the users that the user has blocked, ordered by id.
    func blocks(pageSize: Int, from: UserID?, for call: Call) async throws(Failure) -> ListPage<[BasicIdentity]> {
        let request = ProtoListBlocksRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            // Request one more to learn whether there is another page.
            $0.pageSize = Int32(clamping: pageSize + 1)
            if let from { $0.fromUserID = from.rawValue }
        }
        let answer = try await conversations.call(BlocksAPI.listBlocks, with: request, for: call)
        let identities = answer.identities.prefix(pageSize).map { BasicIdentity($0) }
        let hasMore = answer.identities.count > pageSize
        return ListPage(
            objects: identities, total: Int(answer.total), nextFrom: hasMore ? identities.last?.userID.layerID : nil)
    }

    /// - Parameter createsUser: true if the user may be unknown to the app.
    func changeBlocks(
        _ operations: [BlockListOperation], createsUser: Bool = false, for call: Call
    ) async throws(Failure) -> LogPosition {
        let request = ProtoChangeBlocksRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.operations = operations.map { ProtoBlockOperation($0) }
            $0.createsUser = createsUser
        }
        return LogPosition(try await conversations.call(BlocksAPI.changeBlocks, with: request, for: call))
    }

    /// Returns all users who have a block with the user in either direction, read in pages. The user's own log contains
    /// changes between two pages, after `position`.
    /// - Parameter position: a position of the user's own log that was read before.
    func blockedUsers(since position: Position, for call: Call) async throws(Failure) -> BlockedUsers {
        var (blocked, blockedBy): (Set<UserID>, Set<UserID>) = ([], [])
        var from: UserID?
        while true {
            let request = ProtoListBlocksRequest.with {
                $0.appID = call.appData
                $0.userID = call.user
                $0.pageSize = Int32(BlocksAPI.pairsPageSize)
                if let from { $0.fromUserID = from.rawValue }
            }
            let answer = try await conversations.call(BlocksAPI.blockPairs, with: request, for: call)
            let page = (
                own: answer.blocked.map { UserID(trusted: $0) }, others: answer.blockedBy.map { UserID(trusted: $0) }
            )
            blocked.formUnion(page.own)
            blockedBy.formUnion(page.others)
            let users = Set(page.own).union(page.others)
            guard users.count >= BlocksAPI.pairsPageSize, let last = users.max() else { break }
            from = last
        }
        return BlockedUsers(blocked: blocked, blockedBy: blockedBy, position: position)
    }
}

extension ProtoBlockOperation {
    fileprivate init(_ operation: BlockListOperation) {
        self.init()
        switch operation {
        case .add(let users): (kind, userIds) = (.add, users.map(\.rawValue))
        case .remove(let users): (kind, userIds) = (.remove, users.map(\.rawValue))
        case .set(let users): (kind, userIds) = (.set, users.map(\.rawValue))
        }
    }
}
