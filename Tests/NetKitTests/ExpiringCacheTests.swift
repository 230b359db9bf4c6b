// SPDX-License-Identifier: Apache-2.0

import NetKit
import Testing

@Suite("expiring caches")
struct ExpiringCacheTests {
    private let start = ContinuousClock.now

    @Test("a cache keeps its maximum size and its newest entries")
    func bounded() {
        var cache = ExpiringCache<Int, Int>(capacity: 10)
        for number in 0..<1000 {
            cache.insert(number, for: number, until: start + .seconds(1))
            #expect(cache.count <= 10)
            #expect(cache.value(for: number, at: start) == number)
            #expect(cache.value(for: max(0, number - 4), at: start) == max(0, number - 4))
        }
        #expect(cache.value(for: 999, at: start + .seconds(1)) == nil)
        cache.remove(999)
        #expect(cache.value(for: 999, at: start) == nil)
    }

    @Test("values that match a condition are removed from both generations")
    func forgets() {
        var cache = ExpiringCache<Int, Int>(capacity: 10)
        for number in 0..<8 { cache.insert(number, for: number, until: start + .seconds(1)) }
        cache.removeAll { $0.isMultiple(of: 2) }
        #expect((0..<8).map { cache.value(for: $0, at: start) } == [nil, 1, nil, 3, nil, 5, nil, 7])
        #expect(cache.count == 4)
    }
}
