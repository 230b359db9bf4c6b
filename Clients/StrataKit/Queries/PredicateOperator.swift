// SPDX-License-Identifier: Apache-2.0

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
