// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("wanted and running loads")
struct LoadPlanTests {
    private var plan = LoadPlan()
    private let now = ContinuousClock.now

    private func history(_ numbers: ClosedRange<Int>) -> [SyncLoad] { numbers.map { .history(.test($0)) } }

    private mutating func fail(_ load: SyncLoad, after: Duration? = nil) {
        plan.loadFailed(load, after: after, at: now, random: 0)
    }

    @Test("the number of concurrent loads is limited, in request order", .proves("SYNC-64"))
    mutating func parallel() {
        plan.add(history: (1...6).map { .test($0) })
        #expect(plan.nextLoads(for: nil, at: now) == history(1...4))
        #expect(plan.nextLoads(for: nil, at: now).isEmpty)
        plan.loadEnded(.history(.test(2)))
        #expect(plan.nextLoads(for: nil, at: now) == history(5...5))
    }

    @Test("a load requested twice runs once, also while it is running")
    mutating func once() {
        for _ in 1...2 { plan.add(history: [.test(1)]) }
        #expect(plan.nextLoads(for: nil, at: now) == history(1...1))
        plan.add(history: [.test(1)])
        plan.loadEnded(.history(.test(1)))
        #expect(plan.nextLoads(for: nil, at: now).isEmpty && plan.isEmpty)
    }

    @Test("lists do not take the slots of other loads, and run page by page")
    mutating func lists() {
        var listing = SyncCursor.Listing()
        listing.hasAnnouncements = true
        listing.hasBlocks = true
        plan.add(history: (1...5).map { .test($0) })
        #expect(
            plan.nextLoads(for: listing, at: now) == [.conversations(next: nil), .identities(next: nil)]
                + history(1...4))
        plan.loadEnded(.conversations(next: nil))
        listing.nextConversations = "/2"
        #expect(plan.nextLoads(for: listing, at: now) == [.conversations(next: "/2")])
    }

    @Test("each failure waits longer, and a server's pause is kept", .proves("OFF-5"))
    mutating func backoff() throws {
        plan.add(history: [.test(1)])
        var pauses: [Duration] = []
        for _ in 1...4 {
            _ = plan.nextLoads(for: nil, at: plan.nextRetry ?? now)
            fail(.history(.test(1)))
            pauses.append(try #require(plan.nextRetry) - now)
        }
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 < $1 })
        _ = plan.nextLoads(for: nil, at: now + 60)
        fail(.history(.test(1)), after: .seconds(50))
        #expect(plan.nextRetry == now + 50)
    }

    @Test("a repeatedly failing load stops no other", .proves("SYNC-64"))
    mutating func broken() {
        plan.add(history: (1...5).map { .test($0) })
        _ = plan.nextLoads(for: nil, at: now)
        fail(.history(.test(1)))
        #expect(plan.nextLoads(for: nil, at: now) == history(5...5))
        #expect(!plan.isEmpty)
    }

    @Test("a retried load runs once and ends its wait")
    mutating func retried() throws {
        plan.add(history: [.test(1)])
        _ = plan.nextLoads(for: nil, at: now)
        fail(.history(.test(1)))
        let retry = try #require(plan.nextRetry)
        #expect(plan.nextLoads(for: nil, at: retry) == history(1...1))
        #expect(plan.nextRetry == nil)
        #expect(plan.nextLoads(for: nil, at: retry).isEmpty)
        plan.loadEnded(.history(.test(1)))
        #expect(plan.nextLoads(for: nil, at: retry).isEmpty && plan.isEmpty)
    }

    @Test("each load gets the packets since it began, and no packet is kept needlessly")
    mutating func packets() {
        plan.remember([0])
        plan.add(history: [.test(1)])
        _ = plan.nextLoads(for: nil, at: now)
        plan.remember([1])
        plan.add(history: [.test(2)])
        _ = plan.nextLoads(for: nil, at: now)
        plan.remember([2])
        #expect(plan.packets(since: .history(.test(1))) == [1, 2])
        plan.loadEnded(.history(.test(1)))
        #expect(plan.packets(since: .history(.test(2))) == [2])
        plan.loadEnded(.history(.test(2)))
        #expect(plan.packets(since: .history(.test(2))) == nil)
    }
}
