// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel

/// A page of a list, with what a client is told of it ahead of its objects.
struct ListPage<Objects: Sendable>: Sendable {
    let objects: Objects
    /// Of the whole list; nil: more than are counted.
    let total: Int?
    /// The id of the page's last object, if there are objects behind the page: the next page begins after it. Of objects that cannot be shown it is the id, too.
    let nextFrom: String?
}

extension GatewayServices {
    /// After which object the next page begins; nil: there is nothing behind this one.
    /// - Parameters:
    ///   - isFull: whether all came that was asked for, or all that had room.
    ///   - last: the last one of that.
    static func nextFrom<ID: ObjectID>(_ end: ProtoPageEnd?, isFull: Bool, last: ID?) throws(Failure) -> String? {
        // A service of an earlier version does not say it. There may be nothing behind a page that is full, and then the client finds that out.
        guard let end else { return isFull ? last?.layerID : nil }
        guard end.hasLastID else { return nil }
        return try converted { try ID(contract: end.lastID).layerID }
    }
}
