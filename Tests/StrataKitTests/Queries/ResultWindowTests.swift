// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

@Suite("pagination windows")
struct ResultWindowTests {
    @Test(
        "a window has the first objects, the last ones, or all", .proves("QC-6"),
        arguments: [(nil, 0..<10), (3, 0..<3), (-3, 7..<10), (20, 0..<10), (-20, 0..<10), (Int.min, 0..<10)]
            as [(Int?, Range<Int>)])
    func range(size: Int?, expected: Range<Int>) throws {
        #expect(try ResultWindow(paginationWindow: size).range(in: 10) == expected)
        #expect(try ResultWindow(paginationWindow: size).range(in: 0) == 0..<0)
    }

    @Test("a window of no objects is refused")
    func zero() { expectStrataError(.invalidArgument) { _ = try ResultWindow(paginationWindow: 0) } }

    @Test(
        "a window grows only with objects inserted inside it", .proves("QC-6"),
        arguments: [
            // No insert; one inside; several inside; one after the last object; one before the first.
            (3, "abc", "abcd", 3), (3, "abc", "axbcd", 4), (3, "abc", "xaybzcd", 6), (3, "abc", "abcxd", 3),
            (3, "abc", "xabcd", 4),
            // Unused room: the window was not full; deleted objects make room.
            (5, "abc", "axbc", 5), (3, "abc", "axcd", 3), (3, "abc", "xyz", 3), (3, "abc", "", 3),
            // An object moves out of the window; one moves to the top; one moves in from outside.
            (3, "abc", "bcdefa", 3), (3, "abc", "cabd", 3), (3, "abc", "dabc", 4), (2, "ab", "bxyza", 2),
            // From the end: one inside; one at the end; one before the first.
            (-3, "bcd", "abcxd", -4), (-3, "bcd", "abcdx", -4), (-3, "bcd", "axbcd", -3), (-3, "bcd", "axcd", -3),
            (-2, "ab", "bxyza", -2),
        ])
    func growth(size: Int, shown: String, result: String, expected: Int) throws {
        var window = try ResultWindow(paginationWindow: size)
        let ids = Array(size < 0 ? String(result.reversed()) : result)
        window.grow(shown: Array(shown), places: Dictionary(uniqueKeysWithValues: zip(ids, ids.indices)))
        #expect(window.paginationWindow == expected)
    }

    @Test("a window without a limit does not grow")
    func unlimited() {
        var window = ResultWindow.unlimited
        window.grow(shown: ["a"], places: ["a": 1])
        #expect(window.paginationWindow == nil)
    }

    @Test(
        "the run with the least end is chosen from runs of equal length",
        arguments: [
            ([], []), ([5], [5]), ([3, 1, 2], [1, 2]), ([1, 2, 3], [1, 2, 3]), ([9, 1], [1]), ([2, 9, 1, 3], [1, 3]),
        ] as [([Int], [Int])])
    func subsequence(numbers: [Int], expected: [Int]) {
        #expect(longestIncreasingSubsequence(of: numbers).map { numbers[$0] } == expected)
    }
}
