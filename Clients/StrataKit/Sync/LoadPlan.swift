// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import StrataModel

/// A resource to load over REST.
enum SyncLoad: Hashable, Sendable {
    /// A page of the list of conversations; nil: the first page.
    case conversations(next: String?)
    case identities(next: String?)
    case announcements(next: String?)
    case blocks(next: String?)
    /// A conversation that received a change but is not on this device.
    case conversation(ConversationID)
    case history(ConversationID)
}

/// The wanted loads, the loads in progress, and the packets received since the latter began.
struct LoadPlan: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The maximum number of concurrent loads of single conversations and their messages.
    static let parallel = 4

    private var wanted: [SyncLoad] = []
    /// The start of each load in progress, as a count of packets that includes the discarded ones.
    private var inProgress: [SyncLoad: Int] = [:]
    private var packets: [JSONValue] = []
    /// The number of packets discarded before the first of ``packets``.
    private var discardedCount = 0
    private var failures: [SyncLoad: (times: Int, retry: Instant)] = [:]
    private let retries = RetryPolicy()

    /// The loads in progress.
    var awaited: Set<SyncLoad> { Set(inProgress.keys) }
    var isEmpty: Bool { wanted.isEmpty && inProgress.isEmpty && failures.isEmpty }
    /// The earliest retry time of the failed loads that are neither in progress nor waiting for other loads.
    var nextRetry: Instant? {
        failures.filter { inProgress[$0.key] == nil && !wanted.contains($0.key) }.map(\.value.retry).min()
    }

    mutating func want(conversations ids: some Collection<ConversationID>) {
        for id in ids.sorted(by: { $0.description < $1.description }) { want(.conversation(id)) }
    }

    mutating func want(history ids: some Collection<ConversationID>) { for id in ids { want(.history(id)) } }

    /// Adds a load. Has no effect on a load that is wanted, in progress or awaiting a retry.
    private mutating func want(_ load: SyncLoad) {
        if !wanted.contains(load), inProgress[load] == nil, failures[load] == nil { wanted.append(load) }
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
            failure.retry <= now && !load.isList && inProgress[load] == nil && !wanted.contains(load)
        }
        wanted = due.sorted { $0.value.retry < $1.value.retry }.map(\.key) + wanted
        var room = Self.parallel - inProgress.keys.count { !$0.isList }
        var waiting: [SyncLoad] = []
        for load in wanted {
            if room > 0, canBegin(load, at: now) {
                room -= 1
                begun.append(load)
            } else {
                waiting.append(load)
            }
        }
        wanted = waiting
        for load in begun { inProgress[load] = discardedCount + packets.count }
        return begun
    }

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

    mutating func remember(_ new: [JSONValue]) { if !inProgress.isEmpty { packets += new } }

    /// Returns the packets received since a load began; nil if the load is not in progress.
    func packets(since load: SyncLoad) -> [JSONValue]? {
        inProgress[load].map { Array(packets.dropFirst($0 - discardedCount)) }
    }

    mutating func loadEnded(_ load: SyncLoad) {
        inProgress[load] = nil
        failures[load] = nil
        trim()
    }

    mutating func loadFailed(_ load: SyncLoad, after: Duration?, at now: Instant, random: Double) {
        inProgress[load] = nil
        let times = (failures[load]?.times ?? 0) + 1
        failures[load] = (times, now + retries.delay(after: times, requested: after, random: random))
        trim()
    }

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
