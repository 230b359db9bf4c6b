// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import StrataModel

/// A page that a load asks for. A load may need several.
struct LoadPage: Hashable, Sendable {
    /// Path and query, below the base URL.
    var path: String
    /// For a list of messages: the page begins below this position; nil: with the newest message.
    var below: Int64?
}

extension StoreTransaction {
    /// The first page of a load of older messages; nil if none are wanted, for example because the conversation was deleted.
    func historyPage(of id: ConversationID) throws -> LoadPage? {
        guard try progress(of: id)?.goal != nil else { return nil }
        var path = "/conversations/\(id)/messages?page_size=\(try historyPageSize(in: id))"
        let start = try historyStart(in: id)
        if let start { path += "&from_id=\(start.message.layerID)" }
        return LoadPage(path: path, below: start?.position)
    }

    /// Stores the answer to a load.
    /// - Parameter next: where the next page begins. Nil after the last page.
    /// - Returns: the next page of the same load; nil: the load is complete.
    func storePage(_ json: JSONValue, of load: SyncLoad, page: LoadPage, next: String?) throws -> LoadPage? {
        switch load {
        case .conversations: try storeConversationPage(json, next: next)
        case .identities: try storeIdentityPage(json, next: next)
        case .announcements: try storeAnnouncementPage(json, next: next)
        case .blocks: try storeBlockPage(json, next: next)
        case .conversation(let id): try storeConversation(json, id: id)
        case .history(let id):
            let isTaken = try storeHistoryPage(json, of: id, below: page.below, hasMore: next != nil)
            // An empty page has no message to begin below, so only the link leads to the next page.
            if !isTaken, let next, next != page.path { return LoadPage(path: next, below: page.below) }
        }
        return nil
    }
}
