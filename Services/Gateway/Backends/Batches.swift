// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import FoundationEssentials
import Logging
import RPC
import StrataModel
import SwiftProtobuf
import Sync

/// A sequence of objects that are fetched in batches, so that a page needs the memory of one batch only.
protocol Batches: Sendable {
    associatedtype Item: Sendable
    var isFinished: Bool { get }
    /// Returns the next objects, about ``GatewayServices/batchBytes`` and at least one; nil if no objects remain.
    mutating func next() async throws(Failure) -> [Item]?
}

extension GatewayServices {
    /// The approximate number of bytes of objects in one call. A larger object comes alone.
    static let batchBytes = 1 << 20

    /// Returns the objects whose conversations fit into an answer, and reports the others. The others have no metadata.
    func shown<Object>(_ objects: [Object], view: (Object) -> ConversationView) -> [Object] {
        let shown = objects.filter { view($0).conversation.metadata != nil }
        if shown.count < objects.count,
            let example = objects.first(where: { view($0).conversation.metadata == nil }).map(view)
        {
            leftOut(objects.count - shown.count, example: example.conversation.id, of: "a list")
        }
        return shown
    }

    /// Reports conversations that cannot be sent and are left out.
    func leftOut(_ count: Int, example: ConversationID, of what: String) {
        metrics.unshownConversations.increment(by: count)
        logger.warning(
            "conversations cannot be shown, and are left out",
            metadata: [
                "conversation.list": "\(what)", "conversation.count": "\(count)", "conversation.id": "\(example)",
            ])
    }
}

struct ConversationBatches: Batches {
    private let services: GatewayServices
    private let call: GatewayServices.Call
    /// The conversations that were fetched and not returned.
    private var views: [ConversationView]
    /// The conversations that have not been fetched.
    private var later: [ConversationID]

    init(
        _ views: [ConversationView], later: [ConversationID] = [], from services: GatewayServices,
        for call: GatewayServices.Call
    ) {
        self.services = services
        self.call = call
        self.views = views
        self.later = later
    }

    var isFinished: Bool { views.isEmpty && later.isEmpty }

    mutating func next() async throws(Failure) -> [ConversationView]? {
        let call = call.renewed
        while true {
            let shown = services.shown(views) { $0 }
            views = []
            if !shown.isEmpty { return shown }
            guard !later.isEmpty else { return nil }
            let (found, covered) = try await services.conversations(later, for: call)
            views = found
            later.removeFirst(covered)
        }
    }
}

/// A page of a list in which an object never changes its place. The last object of a batch is the cursor of the next.
struct CursorBatches<Item: Sendable>: Batches {
    struct Answer: Sendable {
        let items: [Item]
        /// True if a byte limit cut the answer short.
        let isCut: Bool
        let total: Int
        let nextFrom: String?
    }
    /// Fetches at most `count` objects after `last`, or from the beginning.
    typealias Fetch = @Sendable (_ last: Item?, _ count: Int) async throws(Failure) -> Answer

    private let fetch: Fetch
    /// The objects that were fetched and not returned.
    private var items: [Item] = []
    private var last: Item?
    private var left: Int
    private var hasMore = true

    private init(pageSize: Int, fetch: @escaping Fetch) {
        self.fetch = fetch
        left = pageSize
    }

    /// Returns a page whose first batch has been fetched, which includes the list's total.
    static func page(size: Int, fetch: @escaping Fetch) async throws(Failure) -> ListPage<Self> {
        var page = Self(pageSize: size, fetch: fetch)
        let answer = try await page.fetchMore()
        return ListPage(objects: page, total: answer.total, nextFrom: answer.nextFrom)
    }

    @discardableResult
    private mutating func fetchMore() async throws(Failure) -> Answer {
        let answer = try await fetch(last, left)
        items = answer.items
        left -= items.count
        hasMore = answer.isCut && left > 0 && !items.isEmpty
        last = items.last ?? last
        return answer
    }

    var isFinished: Bool { items.isEmpty && !hasMore }

    mutating func next() async throws(Failure) -> [Item]? {
        if items.isEmpty, hasMore { try await fetchMore() }
        guard !items.isEmpty else { return nil }
        defer { items = [] }
        return items
    }
}

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

extension Array {
    /// Returns the elements in order, in slices of `size`; the last slice may be shorter. Used for services that limit
    /// the items per call.
    func batches(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
