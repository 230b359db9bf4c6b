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
    /// Returns the id of the object after which the next page begins; nil: there is nothing behind this page.
    static func nextFrom<ID: ObjectID>(_ end: ProtoPageEnd, _: ID.Type) throws(Failure) -> String? {
        guard end.hasLastID else { return nil }
        return try converted { try ID(contract: end.lastID).layerID }
    }
}
