// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import StrataModel

/// A page of a load. A load may need several pages.
struct LoadPage: Hashable, Sendable {
    /// The path and query, relative to the base URL.
    var path: String
    /// The position below which a page of messages starts; nil: with the newest message.
    var below: Int64?
}

extension StoreTransaction {
    /// Returns the first page of a load of older messages; nil if none are needed, for example because the conversation
    /// was deleted.
    func historyPage(of id: ConversationID) throws -> LoadPage? {
        guard try progress(of: id)?.goal != nil else { return nil }
        var path = "/conversations/\(id)/messages?page_size=\(try historyPageSize(in: id))"
        let start = try historyStart(in: id)
        if let start { path += "&from_id=\(start.message.layerID)" }
        return LoadPage(path: path, below: start?.position)
    }

    /// Stores a page of a load.
    /// - Parameter next: the start of the next page; nil after the last page.
    /// - Returns: the next page of the same load; nil if the load is complete.
    func storePage(_ json: JSONValue, of load: SyncLoad, page: LoadPage, next: String?) throws -> LoadPage? {
        switch load {
        case .conversations: try storeConversationPage(json, next: next)
        case .identities: try storeIdentityPage(json, next: next)
        case .announcements: try storeAnnouncementPage(json, next: next)
        case .blocks: try storeBlockPage(json, next: next)
        case .conversation(let id): try storeConversation(json, id: id)
        case .history(let id):
            let isTaken = try storeHistoryPage(json, of: id, below: page.below, hasMore: next != nil)
            // An empty page contains no message to continue from, so only the link leads to the next page.
            if !isTaken, let next, next != page.path { return LoadPage(path: next, below: page.below) }
        }
        return nil
    }
}
