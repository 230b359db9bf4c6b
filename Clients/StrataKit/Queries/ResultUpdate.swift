// SPDX-License-Identifier: Apache-2.0

/// A difference between two results of a query.
public enum ResultChange<Element: Queryable>: Hashable, Sendable {
    /// An object was inserted. The index refers to the list after the update.
    case insert(Element, at: Int)
    /// An object was removed. The index refers to the list before the update; the object has its last state.
    case delete(Element, at: Int)
    /// An object was moved: `from` refers to the list before the update, `to` to the list after it.
    case move(Element, from: Int, to: Int)
    /// Properties of an object changed. The index refers to the list before the update.
    case update(Element, at: Int)

    /// The object in its current state; for deletes, in its last state.
    public var object: Element {
        switch self {
        case .insert(let object, _), .delete(let object, _), .move(let object, _, _), .update(let object, _): object
        }
    }

    /// The index in the list before the update; nil for inserts.
    public var oldIndex: Int? {
        switch self {
        case .insert: nil
        case .delete(_, let index), .move(_, let index, _), .update(_, let index): index
        }
    }

    /// The index in the list after the update; nil for deletes and updates.
    public var newIndex: Int? {
        switch self {
        case .insert(_, let index), .move(_, _, let index): index
        case .delete, .update: nil
        }
    }
}

/// The differences between two successive results of a query.
///
/// Old indexes refer to the list before all changes, and new indexes to the list after all changes, as the batch
/// updates of table and collection views expect. To change a list step by step:
/// 1. Replace the updated objects.
/// 2. Remove the deleted and moved objects by their old indexes, from the last to the first.
/// 3. Insert the new and moved objects by their new indexes, from the first to the last.
public struct ResultUpdate<Element: Queryable>: Hashable, Sendable {
    /// The changes, at least one: first updates, then deletes from the last to the first, then inserts and moves by
    /// ascending new index. An object that changed and moved has both an update and a move.
    public let changes: [ResultChange<Element>]
    /// The list after the update.
    public let snapshotAfter: [Element]

    /// Compares two results.
    /// - Parameter updatable: the properties whose changes are reported as updates; nil: all.
    init(from old: [Element], to new: [Element], updatable: [any PartialKeyPath<Element> & Sendable]? = nil) {
        snapshotAfter = new
        var oldIndexes = Dictionary(old.enumerated().map { ($1.id, $0) }) { first, _ in first }
        // The old index of each new object. Each old index is used once.
        let sources = new.map { oldIndexes.removeValue(forKey: $0.id) }
        let survivors = sources.indices.filter { sources[$0] != nil }
        let stays = Set(longestIncreasingSubsequence(of: survivors.compactMap { sources[$0] }).map { survivors[$0] })
        let used = Set(sources.compactMap { $0 })

        let updates = zip(new, sources)
            .compactMap { object, source in
                source.flatMap {
                    Self.differ(old[$0], object, in: updatable) ? ResultChange.update(object, at: $0) : nil
                }
            }
        let deletes = old.indices.reversed().filter { !used.contains($0) }.map { ResultChange.delete(old[$0], at: $0) }
        let arrivals = new.indices.filter { !stays.contains($0) }
            .map { index -> ResultChange<Element> in
                guard let source = sources[index] else { return .insert(new[index], at: index) }
                return .move(new[index], from: source, to: index)
            }
        changes = updates.sorted { ($0.oldIndex ?? 0) < ($1.oldIndex ?? 0) } + deletes + arrivals
    }

    private static func differ(
        _ old: Element, _ new: Element, in updatable: [any PartialKeyPath<Element> & Sendable]?
    ) -> Bool {
        guard old != new else { return false }
        guard let updatable else { return true }
        return updatable.contains { (old[keyPath: $0] as? AnyHashable) != (new[keyPath: $0] as? AnyHashable) }
    }
}

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
