// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import StrataKit

/// A row of the table of queryable properties, with the expected results of each operator for one value in the example.
struct PropertyRow<Element: Queryable & Labelled>: CustomTestStringConvertible, Sendable {
    enum Kind: Sendable { case equality, lists, order, numbers, text }

    var name: String
    var kind: Kind
    var value: any QueryValueConvertible
    /// The objects whose value is equal to the tested value; below: less, greater, absent.
    var equal: Set<String>
    var less: Set<String> = []
    var greater: Set<String> = []
    var absent: Set<String> = []

    var testDescription: String { name }

    init(
        _ name: String, _ kind: Kind, _ value: any QueryValueConvertible, equal: String, less: String = "",
        greater: String = "", absent: String = ""
    ) {
        func labels(_ text: String) -> Set<String> { Set(text.split(separator: " ").map(String.init)) }
        (self.name, self.kind, self.value) = (name, kind, value)
        (self.equal, self.less, self.greater, self.absent) = (
            labels(equal), labels(less), labels(greater), labels(absent)
        )
    }

    var operators: Set<PredicateOperator> {
        let (lists, order): (Set<PredicateOperator>, Set<PredicateOperator>) =
            ([.isIn, .isNotIn], [.isLessThan, .isLessThanOrEqualTo, .isGreaterThan, .isGreaterThanOrEqualTo])
        let equality: Set<PredicateOperator> = [.isEqualTo, .isNotEqualTo]
        return switch kind {
        case .equality: equality
        case .lists: equality.union(lists)
        case .order: equality.union(order)
        case .numbers: equality.union(lists).union(order)
        case .text: equality.union(lists).union([.like])
        }
    }

    func expected(_ comparison: PredicateOperator, of all: Set<String>) -> Set<String> {
        switch comparison {
        case .isEqualTo, .isIn, .like: equal
        case .isNotEqualTo, .isNotIn: all.subtracting(equal)
        case .isLessThan: less
        case .isLessThanOrEqualTo: less.union(equal)
        case .isGreaterThan: greater
        case .isGreaterThanOrEqualTo: greater.union(equal)
        }
    }

    /// Checks all operators with the value and with nil.
    func check() throws {
        let store = try QueryStore()
        let all = try store.labels(Query<Element>())
        for comparison in PredicateOperator.allCases {
            guard operators.contains(comparison) else {
                expectStrataError(.unsupportedPredicate) {
                    _ = try Query<Element>.Predicate.where(name, comparison, value)
                }
                continue
            }
            let query = Query<Element>(predicate: try .where(name, comparison, value))
            #expect(try store.labels(query) == expected(comparison, of: all), "\(name) \(comparison)")
            let opposite = Query<Element>(predicate: .not(try .where(name, comparison, value)))
            #expect(
                try store.labels(opposite) == all.subtracting(expected(comparison, of: all)),
                "not \(name) \(comparison)")
        }
        #expect(try store.labels(Query<Element>(predicate: try .where(name, .isEqualTo, nil))) == absent)
        #expect(
            try store.labels(Query<Element>(predicate: try .where(name, .isNotEqualTo, nil))) == all.subtracting(absent)
        )
    }
}

extension QueryStore {
    /// Returns the labels of a query's results. Expects ids and count to match the objects.
    func labels<Element: Queryable & Labelled>(_ query: Query<Element>) throws -> Set<String> { Set(try list(query)) }

    func list<Element: Queryable & Labelled>(_ query: Query<Element>) throws -> [String] {
        try read { reader in
            let objects = try reader.execute(query)
            #expect(try reader.ids(query) == objects.map(\.id))
            #expect(try reader.count(query) == objects.count)
            return objects.map(\.label)
        }
    }
}

func expectStrataError(
    _ code: StrataError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
    let error = #expect(throws: StrataError.self, sourceLocation: sourceLocation, performing: body)
    #expect(error?.code == code, sourceLocation: sourceLocation)
}
