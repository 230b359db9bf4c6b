// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// A property of the objects, for predicates and sort descriptors. Its type says what it can be compared with, and how.
    public struct Property<Value: QueryValueConvertible, Operators: QueryOperatorSet>: Sendable {
        let property: QueryProperty

        init(_ property: QueryProperty) { self.property = property }

        init(_ name: String, _ source: QueryProperty.Source, _ type: QueryProperty.ValueType, sortColumn: String? = nil) {
            property = QueryProperty(name, source, type, Operators.self, sortColumn: sortColumn)
        }

        /// Equal; nil: without a value.
        public static func == (property: Self, value: Value?) -> Predicate { Predicate(property.property, .isEqualTo, value.queryValue) }
        /// Not equal; nil: with a value.
        public static func != (property: Self, value: Value?) -> Predicate { Predicate(property.property, .isNotEqualTo, value.queryValue) }
    }
}

extension Query.Property where Operators: QueryOperators.WithOrder {
    /// Less, or earlier.
    public static func < (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isLessThan, value.queryValue)
    }
    /// Less, earlier, or equal.
    public static func <= (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isLessThanOrEqualTo, value.queryValue)
    }
    /// Greater, or later.
    public static func > (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isGreaterThan, value.queryValue)
    }
    /// Greater, later, or equal.
    public static func >= (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isGreaterThanOrEqualTo, value.queryValue)
    }
}

extension Query.Property where Operators: QueryOperators.WithLists {
    /// One of these values.
    public func isIn(_ values: some Sequence<Value>) -> Query.Predicate { Query.Predicate(property, .isIn, QueryValue(values)) }
    /// None of these values.
    public func isNotIn(_ values: some Sequence<Value>) -> Query.Predicate { Query.Predicate(property, .isNotIn, QueryValue(values)) }
}

extension Query.Property where Operators: QueryOperators.WithLike {
    /// Like a pattern, in which `%` stands for any run of characters, also none, and `_` for one character. `A` to `Z` match `a` to `z`.
    public func isLike(_ pattern: String) -> Query.Predicate { Query.Predicate(property, .like, QueryValue(.text(pattern))) }
}

extension Query.Property where Value == UserID {
    /// Is this user.
    public static func == (property: Self, user: some UserReference) -> Query.Predicate {
        Query.Predicate(property.property, .isEqualTo, user.queryValue)
    }
    /// Is not this user.
    public static func != (property: Self, user: some UserReference) -> Query.Predicate {
        Query.Predicate(property.property, .isNotEqualTo, user.queryValue)
    }
}

extension Query.Property where Value == UserID, Operators: QueryOperators.WithLists {
    /// One of these users.
    public func isIn(_ users: some Sequence<some UserReference>) -> Query.Predicate { Query.Predicate(property, .isIn, QueryValue(users)) }
    /// None of these users.
    public func isNotIn(_ users: some Sequence<some UserReference>) -> Query.Predicate { Query.Predicate(property, .isNotIn, QueryValue(users)) }
}

extension Query.Property where Value == Set<UserID> {
    /// These users and the signed-in user, who need not be named, and no others.
    public static func == (property: Self, users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property.property, .isEqualTo, QueryValue(users))
    }
    /// Not exactly these users and the signed-in user.
    public static func != (property: Self, users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property.property, .isNotEqualTo, QueryValue(users))
    }
    /// At least one of these users. The signed-in user is one of them only if named.
    public func isIn(_ users: some Sequence<some UserReference>) -> Query.Predicate { Query.Predicate(property, .isIn, QueryValue(users)) }
    /// None of these users.
    public func isNotIn(_ users: some Sequence<some UserReference>) -> Query.Predicate { Query.Predicate(property, .isNotIn, QueryValue(users)) }
}

extension Query.Property where Value == Metadata {
    /// The text at a key path, for example `theme.background_color`. Where there is none, the property has no value.
    public subscript(path path: String) -> Query.Property<String, QueryOperators.Lists> { .init(property.atMetadataPath(path)) }
}

extension Query.Property where Value == [String: String] {
    /// The text at a key path. Where there is none, the property has no value.
    public subscript(path path: String) -> Query.Property<String, QueryOperators.Lists> { .init(property.atMetadataPath(path)) }
}

extension QueryProperty {
    /// The text at a key path of these metadata.
    fileprivate func atMetadataPath(_ path: String) -> QueryProperty {
        guard case .metadata(let table) = source else { return self }
        return .metadata(of: table, path: path)
    }
}
