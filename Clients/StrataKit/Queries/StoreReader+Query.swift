// SPDX-License-Identifier: Apache-2.0
import GRDB

extension StoreReader {
    func execute<Element>(_ query: Query<Element>) throws -> [Element] { try load(compile(query).rows()).map(\.object) }

    func ids<Element>(_ query: Query<Element>) throws -> [Element.ID] {
        let source = Element.querySource
        return try Array(Row.fetchCursor(db, SQLRequest<Row>(literal: try compile(query).ids())).map(source.id))
    }

    func count<Element>(_ query: Query<Element>) throws -> Int { try count(compile(query)) }

    /// Returns the page of a query's result that a controller shows.
    /// - Parameters:
    ///   - window: the requested part of the result.
    ///   - shown: the previously shown ids, in order. The window grows if objects were inserted between them; without
    ///     `shown` it does not grow.
    ///   - known: objects that are not loaded again if their revision is unchanged.
    func page<Element>(
        _ query: Query<Element>, window: ResultWindow, shown: [Element.ID],
        known: [Element.ID: ReadObject<Element>] = [:]
    ) throws -> ResultPage<Element> {
        let compiled = try compile(query)
        var window = window
        guard window.length != nil else {
            let objects = try load(compiled, slice: .init(), known: known)
            return ResultPage(objects: objects, totalCount: objects.count, window: window)
        }
        let total = try count(compiled)
        if !shown.isEmpty {
            window.grow(shown: shown, places: try places(of: Set(shown), in: compiled, fromEnd: window.isAtEnd))
        }
        let range = window.range(in: total)
        let objects = try load(compiled, slice: .init(offset: range.lowerBound, limit: range.count), known: known)
        return ResultPage(objects: objects, totalCount: total, window: window)
    }

    /// Returns the indexes of these objects in the result, counted from one of its ends. Objects outside the result are
    /// omitted.
    private func places<Element>(
        of wanted: Set<Element.ID>, in compiled: CompiledQuery<Element>, fromEnd: Bool
    ) throws -> [Element.ID: Int] {
        let source = Element.querySource
        // A result with a limit can only be read from its first object.
        let isTurned = fromEnd && compiled.limit != nil
        let rows = try Row.fetchCursor(
            db, SQLRequest<Row>(literal: compiled.ids(.init(isReversed: fromEnd && !isTurned))))
        var (places, count): ([Element.ID: Int], Int) = ([:], 0)
        while isTurned || places.count < wanted.count, let row = try rows.next() {
            let id = source.id(row)
            if wanted.contains(id) { places[id] = count }
            count += 1
        }
        return isTurned ? places.mapValues { count - 1 - $0 } : places
    }

    func compile<Element>(_ query: Query<Element>) throws -> CompiledQuery<Element> {
        try QueryCompiler(me: me) { try resolve($0) }.compile(query)
    }

    private func count<Element>(_ compiled: CompiledQuery<Element>) throws -> Int {
        try SQLRequest<Int>(literal: compiled.count).fetchOne(db) ?? 0
    }

    /// Loads a range of the result. Most live queries already know all objects except one or two.
    private func load<Element>(
        _ compiled: CompiledQuery<Element>, slice: CompiledQuery<Element>.Slice,
        known: [Element.ID: ReadObject<Element>]
    ) throws -> [ReadObject<Element>] {
        let source = Element.querySource
        guard let column = source.revisionColumn, !known.isEmpty else { return try load(compiled.rows(slice)) }
        var (ids, missing): ([Element.ID], [DatabaseValue]) = ([], [])
        let rows = try Row.fetchCursor(db, SQLRequest<Row>(literal: compiled.revisions(column, in: slice)))
        while let row = try rows.next() {
            let id = source.id(row)
            ids.append(id)
            if known[id]?.revision != row[1] as Int64 { missing.append(row[0]) }
        }
        guard missing.count <= ids.count / 2, missing.count <= Self.mostMissing else {
            return try load(compiled.rows(slice))
        }
        let read: [ReadObject<Element>] = missing.isEmpty ? [] : try load(compiled.rows(withIDs: missing))
        let objects = Dictionary(read.map { ($0.object.id, $0) }) { first, _ in first }
        return ids.compactMap { objects[$0] ?? known[$0] }
    }

    /// The maximum number of objects to load by their ids. With more missing objects, the whole range is loaded.
    private static let mostMissing = 500

    private func load<Element: Queryable>(_ sql: SQL) throws -> [ReadObject<Element>] {
        let source = Element.querySource
        let rows = try SQLRequest<Row>(literal: sql).fetchAll(db)
        let objects = try source.load(self, rows)
        guard source.revisionColumn != nil else { return objects.map { ReadObject(object: $0, revision: nil) } }
        return zip(objects, rows).map { ReadObject(object: $0, revision: $1[$1.count - 1]) }
    }
}

struct ReadObject<Element: Queryable>: Sendable {
    var object: Element
    /// The revision; nil for types without revisions.
    var revision: Int64?
}

struct ResultPage<Element: Queryable>: Sendable {
    var objects: [ReadObject<Element>]
    var totalCount: Int
    var window: ResultWindow
}
