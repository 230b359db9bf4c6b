// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import FoundationEssentials
import Logging
import RPC
import StrataModel
import SwiftProtobuf
import Sync

/// Objects that are fetched a batch at a time, so that a page takes no more memory than a batch, whatever is on it.
protocol Batches: Sendable {
    associatedtype Item: Sendable
    /// Whether there are no more.
    var isFinished: Bool { get }
    /// Bytes, about, that are held for later batches and are worth counting.
    var heldBytes: Int { get }
    /// The next objects, about ``GatewayServices/batchBytes`` of them, and at least one; nil if there are no more.
    mutating func next() async throws(Failure) -> [Item]?
}

extension Batches {
    var heldBytes: Int { 0 }
}

extension GatewayServices {
    /// Bytes of objects that one call brings, about. An object that is larger comes alone.
    static let batchBytes = 1 << 20

    /// Conversations cannot be shown, and whatever they belong to goes on without them.
    func leftOut(_ count: Int, example: ConversationID, of what: String) {
        metrics.unshownConversations.increment(by: count)
        logger.warning(
            "conversations cannot be shown, and are left out",
            metadata: ["conversation.list": "\(what)", "conversation.count": "\(count)", "conversation.id": "\(example)"])
    }
}

struct ConversationBatches: Batches {
    private let services: GatewayServices
    private let call: GatewayServices.Call
    /// Without their trees.
    private var views: [ConversationView]
    private var later: [ConversationID]
    private var size = BatchSize()

    init(_ views: [ConversationView], later: [ConversationID] = [], from services: GatewayServices, for call: GatewayServices.Call) {
        self.services = services
        self.call = call
        self.views = views
        self.later = later
    }

    var isFinished: Bool { views.isEmpty && later.isEmpty }

    mutating func next() async throws(Failure) -> [ConversationView]? {
        let call = call.renewed
        while true {
            while views.isEmpty {
                guard !later.isEmpty else { return nil }
                let (found, covered) = try await services.bareConversations(later, for: call)
                views = found
                later.removeFirst(covered)
            }
            let asked = views.prefix(size.count(of: views.count))
            do throws(Failure) {
                let trees = try await services.someTrees(of: asked.map(\.conversation.id), for: call)
                size.came(trees.count, of: asked.count)
                let batch = await services.composed(Array(asked.prefix(trees.count)), with: trees, for: call)
                views.removeFirst(trees.count)
                return batch
            } catch {
                // An answer holds at least the first one, so that is the one that is too large. The others are not to suffer by it.
                guard error == .answerTooLarge, let first = views.first else { throw error }
                services.leftOut(1, example: first.conversation.id, of: "a list")
                views.removeFirst()
            }
        }
    }
}

/// A page of a list in which the place of an object never changes, so that the last one of a batch tells where the next begins.
struct CursorBatches<Item: Sendable>: Batches {
    /// What is fetched at a time.
    struct Answer: Sendable {
        let items: [Item]
        /// Whether they are fewer than were asked for, since a number of bytes was used up before.
        let isCut: Bool
        /// See ``ListPage``.
        let total: Int
        let nextFrom: String?
    }
    /// The objects after one, or the first; so many, or fewer.
    typealias Fetch = @Sendable (_ last: Item?, _ count: Int) async throws(Failure) -> Answer

    private let fetch: Fetch
    /// Fetched, and not handed out.
    private var items: [Item] = []
    private var last: Item?
    private var left: Int
    private var hasMore = true

    private init(pageSize: Int, fetch: @escaping Fetch) {
        self.fetch = fetch
        left = pageSize
    }

    /// A page whose first batch has been fetched, which tells what there is on the list.
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
