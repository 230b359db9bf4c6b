// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel

/// A page of a list, with the facts that a client is sent in headers.
struct ListPage<Objects: Sendable>: Sendable {
    let objects: Objects
    /// The length of the whole list; nil if it exceeds the counting limit.
    let total: Int?
    /// The id of the page's last object, after which the next page begins. It can be the id of an object that cannot be
    /// sent. Nil if this is the last page.
    let nextFrom: String?
}

extension GatewayServices {
    /// Returns the id of the object after which the next page begins; nil if this is the last page.
    static func nextFrom<ID: ObjectID>(_ end: ProtoPageEnd, _: ID.Type) throws(Failure) -> String? {
        guard end.hasLastID else { return nil }
        return try converted { try ID(contract: end.lastID).layerID }
    }
}
