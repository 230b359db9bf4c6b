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

/// An operator that compares a property with a value.
///
/// A property without a value is equal to nil, not equal to any value and not in any list. It is neither less nor
/// greater than any value.
public enum PredicateOperator: String, Hashable, Sendable, CaseIterable {
    /// Equal to the value, which can be nil.
    case isEqualTo
    /// The opposite of ``isEqualTo``. The value can be nil.
    case isNotEqualTo
    /// Less than or earlier than the value.
    case isLessThan
    /// Less than, earlier than or equal to the value.
    case isLessThanOrEqualTo
    /// Greater than or later than the value.
    case isGreaterThan
    /// Greater than, later than or equal to the value.
    case isGreaterThanOrEqualTo
    /// Equal to one of a list of values.
    case isIn
    /// The opposite of ``isIn``.
    case isNotIn
    /// Matches a pattern. `%` matches any sequence of characters, including the empty one; `_` matches one character.
    /// ASCII letters match regardless of case.
    case like
}

/// The operators that a property supports. The property's type makes the compiler check them.
public protocol QueryOperatorSet: Sendable {
    /// The supported operators.
    static var operators: Set<PredicateOperator> { get }
    /// A Boolean value that indicates whether queries can be sorted by the property.
    static var isSortable: Bool { get }
}

/// The operator sets of properties.
public enum QueryOperators {
    /// Operator sets with ``PredicateOperator/isIn`` and ``PredicateOperator/isNotIn``.
    public protocol WithLists: QueryOperatorSet {}
    /// Operator sets with the four ordering operators.
    public protocol WithOrder: QueryOperatorSet {}
    /// Operator sets with ``PredicateOperator/like``.
    public protocol WithLike: QueryOperatorSet {}
    /// Operator sets of sortable properties.
    public protocol WithSorting: QueryOperatorSet {}

    private static let equality: Set<PredicateOperator> = [.isEqualTo, .isNotEqualTo]
    private static let lists: Set<PredicateOperator> = [.isIn, .isNotIn]
    private static let order: Set<PredicateOperator> = [
        .isLessThan, .isLessThanOrEqualTo, .isGreaterThan, .isGreaterThanOrEqualTo,
    ]

    /// `==` and `!=`.
    public enum Equality: WithSorting {
        /// The supported operators.
        public static var operators: Set<PredicateOperator> { equality }
    }
    /// `==`, `!=`, `isIn` and `isNotIn`.
    public enum Lists: WithLists, WithSorting {
        /// The supported operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists) }
    }
    /// `==`, `!=`, `<`, `<=`, `>` and `>=`.
    public enum Order: WithOrder, WithSorting {
        /// The supported operators.
        public static var operators: Set<PredicateOperator> { equality.union(order) }
    }
    /// All operators except `isLike`.
    public enum Numbers: WithLists, WithOrder, WithSorting {
        /// The supported operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists).union(order) }
    }
    /// `==`, `!=`, `isIn`, `isNotIn` and `isLike`.
    public enum Text: WithLists, WithLike, WithSorting {
        /// The supported operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists).union([.like]) }
    }
    /// `==`, `!=`, `isIn` and `isNotIn` with sets of users.
    public enum Users: QueryOperatorSet {
        /// The supported operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists) }
        /// Always false.
        public static var isSortable: Bool { false }
    }
    /// The operators of `Base` for a property with several values, which cannot be sorted by.
    public enum Unsorted<Base: QueryOperatorSet>: QueryOperatorSet {
        /// The supported operators.
        public static var operators: Set<PredicateOperator> { Base.operators }
        /// Always false.
        public static var isSortable: Bool { false }
    }
}

extension QueryOperators.WithSorting {
    /// Always true.
    public static var isSortable: Bool { true }
}

extension QueryOperators.Unsorted: QueryOperators.WithLists where Base: QueryOperators.WithLists {}
extension QueryOperators.Unsorted: QueryOperators.WithOrder where Base: QueryOperators.WithOrder {}
