// SPDX-License-Identifier: Apache-2.0

/// How much of a result a query controller shows: its first objects, its last objects, or all.
struct ResultWindow: Hashable, Sendable {
    /// The most objects to show. Nil means all.
    private(set) var length: Int?
    /// Whether the window shows the last objects instead of the first.
    let isAtEnd: Bool

    static let unlimited = ResultWindow(length: nil, isAtEnd: false)

    private init(length: Int?, isAtEnd: Bool) {
        self.length = length
        self.isAtEnd = isAtEnd
    }

    /// - Parameter count: the first `count` objects, or the last `-count`; nil: all.
    /// - Throws: ``StrataError/Code/invalidArgument`` for 0.
    init(paginationWindow count: Int?) throws {
        guard count != 0 else { throw StrataError(.invalidArgument, "paginationWindow is 0") }
        self.init(length: count.map { Int(clamping: $0.magnitude) }, isAtEnd: (count ?? 0) < 0)
    }

    /// The value that an app sets.
    var paginationWindow: Int? { length.map { isAtEnd ? -$0 : $0 } }

    /// The indexes in a result of `count` objects.
    func range(in count: Int) -> Range<Int> {
        let shown = min(length ?? count, count)
        return isAtEnd ? count - shown..<count : 0..<shown
    }

    /// Makes room for objects that were inserted between the shown objects, so that these stay. Deleted objects make room, too. The window does not grow for an
    /// object that has moved away.
    /// - Parameters:
    ///   - shown: the ids that were shown until now, in order.
    ///   - places: the present indexes of those of `shown` that are still in the result, counted from the end at which the window is.
    mutating func grow<ID: Hashable>(shown: [ID], places: [ID: Int]) {
        guard let length else { return }
        let kept = (isAtEnd ? shown.reversed() : shown).compactMap { places[$0] }
        guard let last = longestIncreasingSubsequence(of: kept).last else { return }
        self.length = max(length, kept[last] + 1)
    }
}

/// The indexes of a longest increasing subsequence. If there are several, it is one that ends with the least number.
/// - Parameter numbers: no number twice.
func longestIncreasingSubsequence(of numbers: [Int]) -> [Int] {
    // ends[n]: the index of the least number with which a run of n + 1 numbers ends. before[i]: the index of the number before that at i in its run.
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
    return Array(sequence(first: ends.last) { $0.flatMap { before[$0] } }.prefix { $0 != nil }.compactMap { $0 }.reversed())
}
