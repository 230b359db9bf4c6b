// SPDX-License-Identifier: Apache-2.0

/// How a predicate compares a property with a value.
///
/// A property without a value is equal to nil, is not equal to any value, is not in any list, and is neither less nor greater than anything.
public enum PredicateOperator: String, Hashable, Sendable, CaseIterable {
    /// Equal. The value may be nil.
    case isEqualTo
    /// The opposite of ``isEqualTo``. The value may be nil.
    case isNotEqualTo
    /// Less than, or earlier than.
    case isLessThan
    /// Less than, earlier than, or equal.
    case isLessThanOrEqualTo
    /// Greater than, or later than.
    case isGreaterThan
    /// Greater than, later than, or equal.
    case isGreaterThanOrEqualTo
    /// One of a list of values.
    case isIn
    /// The opposite of ``isIn``.
    case isNotIn
    /// Like a pattern, in which `%` stands for any run of characters, also none, and `_` for one character. `A` to `Z` match `a` to `z`.
    case like
}

/// Which operators a property can be compared with. The compiler checks them through the type of the property.
public protocol QueryOperatorSet: Sendable {
    /// The operators.
    static var operators: Set<PredicateOperator> { get }
    /// Whether queries can be sorted by the property.
    static var isSortable: Bool { get }
}

/// The sets of operators that properties have.
public enum QueryOperators {
    /// Sets with ``PredicateOperator/isIn`` and ``PredicateOperator/isNotIn``.
    public protocol WithLists: QueryOperatorSet {}
    /// Sets with the four operators that compare an order.
    public protocol WithOrder: QueryOperatorSet {}
    /// Sets with ``PredicateOperator/like``.
    public protocol WithLike: QueryOperatorSet {}
    /// Sets of properties that queries can be sorted by.
    public protocol WithSorting: QueryOperatorSet {}

    private static let equality: Set<PredicateOperator> = [.isEqualTo, .isNotEqualTo]
    private static let lists: Set<PredicateOperator> = [.isIn, .isNotIn]
    private static let order: Set<PredicateOperator> = [.isLessThan, .isLessThanOrEqualTo, .isGreaterThan, .isGreaterThanOrEqualTo]

    /// `==` and `!=`.
    public enum Equality: WithSorting {
        /// These operators.
        public static var operators: Set<PredicateOperator> { equality }
    }
    /// `==`, `!=`, `isIn` and `isNotIn`.
    public enum Lists: WithLists, WithSorting {
        /// These operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists) }
    }
    /// `==`, `!=`, `<`, `<=`, `>` and `>=`.
    public enum Order: WithOrder, WithSorting {
        /// These operators.
        public static var operators: Set<PredicateOperator> { equality.union(order) }
    }
    /// All but `isLike`.
    public enum Numbers: WithLists, WithOrder, WithSorting {
        /// These operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists).union(order) }
    }
    /// `==`, `!=`, `isIn`, `isNotIn` and `isLike`.
    public enum Text: WithLists, WithLike, WithSorting {
        /// These operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists).union([.like]) }
    }
    /// `==`, `!=`, `isIn` and `isNotIn` with sets of users.
    public enum Users: QueryOperatorSet {
        /// These operators.
        public static var operators: Set<PredicateOperator> { equality.union(lists) }
        /// False.
        public static var isSortable: Bool { false }
    }
    /// The operators of `Base`, for a property that queries cannot be sorted by, because it has many values.
    public enum Unsorted<Base: QueryOperatorSet>: QueryOperatorSet {
        /// These operators.
        public static var operators: Set<PredicateOperator> { Base.operators }
        /// False.
        public static var isSortable: Bool { false }
    }
}

extension QueryOperators.WithSorting {
    /// True.
    public static var isSortable: Bool { true }
}

extension QueryOperators.Unsorted: QueryOperators.WithLists where Base: QueryOperators.WithLists {}
extension QueryOperators.Unsorted: QueryOperators.WithOrder where Base: QueryOperators.WithOrder {}
