// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// A condition on objects of one kind.
    ///
    /// Combine predicates with `&&`, `||` and `!`.
    public struct Predicate: Hashable, Sendable {
        indirect enum Node: Hashable, Sendable {
            case comparison(QueryProperty, PredicateOperator, QueryValue)
            case all([Node])
            case any([Node])
            case not(Node)
        }

        let node: Node

        init(_ node: Node) { self.node = node }

        init(_ property: QueryProperty, _ comparison: PredicateOperator, _ value: QueryValue) {
            node = .comparison(property, comparison, value)
        }

        /// A comparison with the names that LayerKit has, for apps that were written for it: `try .where("isUnread", .isEqualTo, true)`.
        ///
        /// Ids may be typed ids, their text (`layer:///messages/…`), its URL, or the objects themselves; users may be user ids or identities.
        /// - Throws: ``StrataError/Code/unqueryableProperty`` if there is no such property; ``StrataError/Code/unsupportedPredicate`` if it cannot be
        ///   compared in this way or with this kind of value.
        public static func `where`(_ name: String, _ comparison: PredicateOperator, _ value: (any QueryValueConvertible)?) throws -> Predicate {
            guard let property = Element.querySource.property(named: name) else {
                throw StrataError(.unqueryableProperty, "objects of type \(Element.self) cannot be queried by \(name)")
            }
            let value = value?.queryValue ?? .null
            _ = try property.operand(for: comparison, value: value)
            return Predicate(property, comparison, value)
        }

        /// Holds if all of these predicates hold. Without any predicate it always holds.
        public static func and(_ predicates: [Predicate]) -> Predicate { Predicate(.all(predicates.map(\.node))) }
        /// Holds if one of these predicates holds. Without any predicate it never holds.
        public static func or(_ predicates: [Predicate]) -> Predicate { Predicate(.any(predicates.map(\.node))) }
        /// Holds if the given predicate does not.
        public static func not(_ predicate: Predicate) -> Predicate { Predicate(.not(predicate.node)) }

        /// Holds if both hold.
        public static func && (a: Predicate, b: Predicate) -> Predicate {
            if case .all(let nodes) = a.node { return Predicate(.all(nodes + [b.node])) }
            return Predicate(.all([a.node, b.node]))
        }
        /// Holds if one of the two holds, or both.
        public static func || (a: Predicate, b: Predicate) -> Predicate {
            if case .any(let nodes) = a.node { return Predicate(.any(nodes + [b.node])) }
            return Predicate(.any([a.node, b.node]))
        }
        /// Holds if the given predicate does not.
        public static prefix func ! (predicate: Predicate) -> Predicate { not(predicate) }
    }
}

extension Query.Predicate.Node {
    /// The number of its comparisons and combinations.
    var size: Int {
        switch self {
        case .comparison: 1
        case .all(let nodes), .any(let nodes): nodes.reduce(1) { $0 + $1.size }
        case .not(let node): 1 + node.size
        }
    }

    var depth: Int {
        switch self {
        case .comparison: 0
        case .all(let nodes), .any(let nodes): 1 + (nodes.map(\.depth).max() ?? 0)
        case .not(let node): 1 + node.depth
        }
    }
}
