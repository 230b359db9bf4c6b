// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import StrataModel

/// A load over REST: one page of a list, one conversation, or one page of its messages.
///
/// `next`: the path and query of the page of a list; nil: the first page.
enum SyncLoad: Hashable, Sendable {
    case conversations(next: String?)
    case identities(next: String?)
    case announcements(next: String?)
    case blocks(next: String?)
    /// A conversation that received a change but is not on this device.
    case conversation(ConversationID)
    /// The next page of a conversation's older messages. The load is added again while more messages are needed.
    case history(ConversationID)
}

/// The schedule of loads over REST: which to begin, which are in progress, and when failed ones are retried.
///
/// The plan also keeps the packets received since the oldest load in progress began. An answer can be older than they
/// are, so they are applied to it again (``packets(since:)``).
struct LoadPlan: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The maximum number of concurrent loads of single conversations and their messages.
    static let parallel = 4

    /// Loads of single conversations and their messages that have not begun: due retries first, then in order of
    /// addition.
    private var waiting: [SyncLoad] = []
    /// The start of each load in progress, as a count of packets that includes the discarded ones.
    private var inProgress: [SyncLoad: Int] = [:]
    private var packets: [JSONValue] = []
    /// The number of packets discarded before the first of ``packets``.
    private var discardedCount = 0
    private var failures: [SyncLoad: (times: Int, retry: Instant)] = [:]
    private let retries = RetryPolicy()

    var loadsInProgress: Set<SyncLoad> { Set(inProgress.keys) }
    /// True if no load is waiting, in progress or awaiting a retry. List loads that have not begun are not counted: the
    /// caller of ``nextLoads(for:at:)`` keeps them.
    var isEmpty: Bool { waiting.isEmpty && inProgress.isEmpty && failures.isEmpty }
    /// The earliest retry time of the failed loads that are neither in progress nor waiting for other loads.
    var nextRetry: Instant? {
        failures.filter { inProgress[$0.key] == nil && !waiting.contains($0.key) }.map(\.value.retry).min()
    }

    /// Adds loads of conversations that are not on this device.
    mutating func add(conversations ids: some Collection<ConversationID>) {
        for id in ids.sorted(by: { $0.description < $1.description }) { add(.conversation(id)) }
    }

    /// Adds loads of the older messages of conversations.
    mutating func add(history ids: some Collection<ConversationID>) { for id in ids { add(.history(id)) } }

    /// Adds a load. Has no effect on a load that is waiting, in progress or awaiting a retry.
    private mutating func add(_ load: SyncLoad) {
        if !waiting.contains(load), inProgress[load] == nil, failures[load] == nil { waiting.append(load) }
    }

    /// Begins the loads that are due and returns them.
    /// - Parameter listing: the remaining loads of the lists.
    mutating func nextLoads(for listing: SyncCursor.Listing?, at now: Instant) -> [SyncLoad] {
        var begun: [SyncLoad] = []
        let lists = Self.lists(listing)
        // Forget failures of pages that are no longer needed, so that nothing waits for them.
        failures = failures.filter { !$0.key.isList || lists.contains($0.key) }
        for load in lists where canBegin(load, at: now) { begun.append(load) }
        let due = failures.filter { load, failure in
            failure.retry <= now && !load.isList && inProgress[load] == nil && !waiting.contains(load)
        }
        waiting = due.sorted { $0.value.retry < $1.value.retry }.map(\.key) + waiting
        var room = Self.parallel - inProgress.keys.count { !$0.isList }
        var rest: [SyncLoad] = []
        for load in waiting {
            if room > 0, canBegin(load, at: now) {
                room -= 1
                begun.append(load)
            } else {
                rest.append(load)
            }
        }
        waiting = rest
        for load in begun { inProgress[load] = discardedCount + packets.count }
        return begun
    }

    /// Returns the next load of each list that is not complete.
    private static func lists(_ listing: SyncCursor.Listing?) -> [SyncLoad] {
        guard let listing else { return [] }
        var lists: [SyncLoad] = []
        if !listing.hasConversations { lists.append(.conversations(next: listing.nextConversations)) }
        if !listing.hasIdentities { lists.append(.identities(next: listing.nextIdentities)) }
        if !listing.hasAnnouncements { lists.append(.announcements(next: listing.nextAnnouncements)) }
        if listing.hasBlocks != true { lists.append(.blocks(next: listing.nextBlocks)) }
        return lists
    }

    private func canBegin(_ load: SyncLoad, at now: Instant) -> Bool {
        inProgress[load] == nil && failures[load].map { $0.retry <= now } ?? true
    }

    /// Keeps packets received while loads are in progress.
    mutating func remember(_ new: [JSONValue]) { if !inProgress.isEmpty { packets += new } }

    /// Returns the packets received since a load began; nil if the load is not in progress.
    func packets(since load: SyncLoad) -> [JSONValue]? {
        inProgress[load].map { Array(packets.dropFirst($0 - discardedCount)) }
    }

    /// Removes a load that succeeded, or that is not to be repeated.
    mutating func loadEnded(_ load: SyncLoad) {
        inProgress[load] = nil
        failures[load] = nil
        trim()
    }

    /// Schedules the retry of a failed load.
    /// - Parameters:
    ///   - delay: the minimum delay requested by the server; nil: none.
    ///   - random: a random number from 0 to 1 that varies the delay.
    mutating func loadFailed(_ load: SyncLoad, after delay: Duration?, at now: Instant, random: Double) {
        inProgress[load] = nil
        let times = (failures[load]?.times ?? 0) + 1
        failures[load] = (times, now + retries.delay(after: times, requested: delay, random: random))
        trim()
    }

    /// Discards the packets that no load in progress needs.
    private mutating func trim() {
        let first = inProgress.values.min() ?? discardedCount + packets.count
        packets.removeFirst(first - discardedCount)
        discardedCount = first
    }
}

extension SyncLoad {
    var isList: Bool {
        switch self {
        case .conversations, .identities, .announcements, .blocks: true
        case .conversation, .history: false
        }
    }
}

/// The request for a page. A load of older messages continues with the next page if a page contains no message.
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
    /// - Parameter next: the path and query of the next page; nil after the last page.
    /// - Returns: the next page, if a page of older messages was empty; otherwise nil.
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
