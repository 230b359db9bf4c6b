// SPDX-License-Identifier: Apache-2.0

/// One difference between two results of a query.
public enum ResultChange<Element: Queryable>: Hashable, Sendable {
    /// An object has entered the result. The index is its place in the list after the update.
    case insert(Element, at: Int)
    /// An object is no longer in the result. The index was its place in the list before the update; the object is as it was then.
    case delete(Element, at: Int)
    /// An object has another place among the others: `from` in the list before the update, `to` in the list after it.
    case move(Element, from: Int, to: Int)
    /// An object has other properties. The index was its place in the list before the update.
    case update(Element, at: Int)

    /// The object, in its present state unless it was deleted.
    public var object: Element {
        switch self {
        case .insert(let object, _), .delete(let object, _), .move(let object, _, _), .update(let object, _): object
        }
    }

    /// The place in the list before the update; nil for inserts.
    public var oldIndex: Int? {
        switch self {
        case .insert: nil
        case .delete(_, let index), .move(_, let index, _), .update(_, let index): index
        }
    }

    /// The place in the list after the update; nil for deletes and updates.
    public var newIndex: Int? {
        switch self {
        case .insert(_, let index), .move(_, _, let index): index
        case .delete, .update: nil
        }
    }
}

/// How a result became another one.
///
/// Old indexes are places in the list before all of the changes, and new indexes places in the list after all of them, as the batch updates of table and
/// collection views take them. To change a list step by step: replace updated objects; remove deleted and moved ones by their old indexes, from the last to
/// the first; insert new and moved ones by their new indexes, from the first to the last.
public struct ResultUpdate<Element: Queryable>: Hashable, Sendable {
    /// The updates, at least one: first updates, then deletes from the last to the first, then inserts and moves in the order of the new indexes. An object
    /// that has other properties and another place has an update and a move.
    public let changes: [ResultChange<Element>]
    /// The list after the update.
    public let snapshotAfter: [Element]

    /// Compares two results.
    /// - Parameter updatable: the properties that make updates; nil: all.
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
                source.flatMap { Self.differ(old[$0], object, in: updatable) ? ResultChange.update(object, at: $0) : nil }
            }
        let deletes = old.indices.reversed().filter { !used.contains($0) }.map { ResultChange.delete(old[$0], at: $0) }
        let arrivals = new.indices.filter { !stays.contains($0) }
            .map { index -> ResultChange<Element> in
                guard let source = sources[index] else { return .insert(new[index], at: index) }
                return .move(new[index], from: source, to: index)
            }
        changes = updates.sorted { ($0.oldIndex ?? 0) < ($1.oldIndex ?? 0) } + deletes + arrivals
    }

    private static func differ(_ old: Element, _ new: Element, in updatable: [any PartialKeyPath<Element> & Sendable]?) -> Bool {
        guard old != new else { return false }
        guard let updatable else { return true }
        return updatable.contains { (old[keyPath: $0] as? AnyHashable) != (new[keyPath: $0] as? AnyHashable) }
    }
}
