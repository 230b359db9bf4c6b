// SPDX-License-Identifier: Apache-2.0

/// The part of a result that a query controller shows: the first objects, the last objects, or all.
struct ResultWindow: Hashable, Sendable {
    /// The maximum number of objects; nil: unlimited.
    private(set) var length: Int?
    /// True if the window shows the last objects instead of the first.
    let isAtEnd: Bool

    static let unlimited = ResultWindow(length: nil, isAtEnd: false)

    private init(length: Int?, isAtEnd: Bool) {
        self.length = length
        self.isAtEnd = isAtEnd
    }

    /// - Parameter count: n > 0: the first n objects; n < 0: the last; nil: all.
    /// - Throws: ``StrataError/Code/invalidArgument`` for 0.
    init(paginationWindow count: Int?) throws {
        guard count != 0 else { throw StrataError(.invalidArgument, "paginationWindow is 0") }
        self.init(length: count.map { Int(clamping: $0.magnitude) }, isAtEnd: (count ?? 0) < 0)
    }

    var paginationWindow: Int? { length.map { isAtEnd ? -$0 : $0 } }

    func range(in count: Int) -> Range<Int> {
        let shown = min(length ?? count, count)
        return isAtEnd ? count - shown..<count : 0..<shown
    }

    /// Grows the window for objects inserted between the shown objects, so that those stay visible. Deletions offset
    /// insertions. The window does not grow for an object that has moved away.
    /// - Parameters:
    ///   - shown: the previously shown ids, in order.
    ///   - places: the current indexes of the ids in `shown` that are still in the result, counted from the window's
    ///     end of the result.
    mutating func grow<ID: Hashable>(shown: [ID], places: [ID: Int]) {
        guard let length else { return }
        let kept = (isAtEnd ? shown.reversed() : shown).compactMap { places[$0] }
        guard let last = longestIncreasingSubsequence(of: kept).last else { return }
        self.length = max(length, kept[last] + 1)
    }
}

/// Returns the indexes of a longest increasing subsequence. If there are several, the one with the smallest last number
/// is chosen.
/// - Parameter numbers: distinct numbers.
func longestIncreasingSubsequence(of numbers: [Int]) -> [Int] {
    // `ends[n]`: the index of the smallest number that ends a run of n + 1 numbers. `before[i]`: the index of the
    // predecessor of number i in its run.
    var (ends, before): ([Int], [Int?]) = ([], [])
    for (index, number) in numbers.enumerated() {
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
        }
        before.append(low > 0 ? ends[low - 1] : nil)
        if low < ends.count { ends[low] = index } else { ends.append(index) }
    }
    return Array(
        sequence(first: ends.last) { $0.flatMap { before[$0] } }.prefix { $0 != nil }.compactMap { $0 }.reversed())
}
