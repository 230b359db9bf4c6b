// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// A condition on objects of one type.
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

        /// Returns a comparison by LayerKit names, for apps that were written for LayerKit: `try .where("isUnread",
        /// .isEqualTo, true)`.
        ///
        /// Ids can be typed ids, their text (`layer:///messages/…`), its URL, or the objects themselves. Users can be
        /// user ids or identities.
        /// - Throws: ``StrataError/Code/unqueryableProperty`` for an unknown property;
        ///   ``StrataError/Code/unsupportedPredicate`` if the property does not support the operator or the type of the
        ///   value.
        public static func `where`(
            _ name: String, _ comparison: PredicateOperator, _ value: (any QueryValueConvertible)?
        ) throws -> Predicate {
            guard let property = Element.querySource.property(named: name) else {
                throw StrataError(.unqueryableProperty, "objects of type \(Element.self) cannot be queried by \(name)")
            }
            let value = value?.queryValue ?? .null
            _ = try property.operand(for: comparison, value: value)
            return Predicate(property, comparison, value)
        }

        /// Returns a predicate that is true if all of these predicates are true. Without predicates it is always true.
        public static func and(_ predicates: [Predicate]) -> Predicate { Predicate(.all(predicates.map(\.node))) }
        /// Returns a predicate that is true if at least one of these predicates is true. Without predicates it is
        /// always false.
        public static func or(_ predicates: [Predicate]) -> Predicate { Predicate(.any(predicates.map(\.node))) }
        /// Returns a predicate that is true if the given predicate is false.
        public static func not(_ predicate: Predicate) -> Predicate { Predicate(.not(predicate.node)) }

        /// Returns a predicate that is true if both predicates are true.
        public static func && (a: Predicate, b: Predicate) -> Predicate {
            if case .all(let nodes) = a.node { return Predicate(.all(nodes + [b.node])) }
            return Predicate(.all([a.node, b.node]))
        }
        /// Returns a predicate that is true if at least one of the two predicates is true.
        public static func || (a: Predicate, b: Predicate) -> Predicate {
            if case .any(let nodes) = a.node { return Predicate(.any(nodes + [b.node])) }
            return Predicate(.any([a.node, b.node]))
        }
        /// Returns a predicate that is true if the given predicate is false.
        public static prefix func ! (predicate: Predicate) -> Predicate { not(predicate) }
    }
}

extension Query.Predicate.Node {
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
