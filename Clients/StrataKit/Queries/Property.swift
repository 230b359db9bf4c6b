// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// A property of queryable objects, for predicates and sort descriptors. Its type determines the values and the
    /// operators that it supports.
    public struct Property<Value: QueryValueConvertible, Operators: QueryOperatorSet>: Sendable {
        let property: QueryProperty

        init(_ property: QueryProperty) { self.property = property }

        init(_ name: String, _ source: QueryProperty.Source, _ type: QueryProperty.ValueType, sortColumn: String? = nil)
        {
            property = QueryProperty(name, source, type, Operators.self, sortColumn: sortColumn)
        }

        /// Returns a predicate that is true if the property is equal to the value. nil matches objects without a value.
        public static func == (property: Self, value: Value?) -> Predicate {
            Predicate(property.property, .isEqualTo, value.queryValue)
        }
        /// Returns a predicate that is true if the property is not equal to the value. nil matches objects with a
        /// value.
        public static func != (property: Self, value: Value?) -> Predicate {
            Predicate(property.property, .isNotEqualTo, value.queryValue)
        }
    }
}

extension Query.Property where Operators: QueryOperators.WithOrder {
    /// Returns a predicate that is true if the property is less or earlier than the value.
    public static func < (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isLessThan, value.queryValue)
    }
    /// Returns a predicate that is true if the property is less than, earlier than or equal to the value.
    public static func <= (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isLessThanOrEqualTo, value.queryValue)
    }
    /// Returns a predicate that is true if the property is greater or later than the value.
    public static func > (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isGreaterThan, value.queryValue)
    }
    /// Returns a predicate that is true if the property is greater than, later than or equal to the value.
    public static func >= (property: Self, value: Value) -> Query.Predicate {
        Query.Predicate(property.property, .isGreaterThanOrEqualTo, value.queryValue)
    }
}

extension Query.Property where Operators: QueryOperators.WithLists {
    /// Returns a predicate that is true if the property has one of these values.
    public func isIn(_ values: some Sequence<Value>) -> Query.Predicate {
        Query.Predicate(property, .isIn, QueryValue(values))
    }
    /// Returns a predicate that is true if the property has none of these values.
    public func isNotIn(_ values: some Sequence<Value>) -> Query.Predicate {
        Query.Predicate(property, .isNotIn, QueryValue(values))
    }
}

extension Query.Property where Operators: QueryOperators.WithLike {
    /// Returns a predicate that is true if the property matches a pattern. `%` matches any sequence of characters,
    /// including the empty one; `_` matches one character. ASCII letters match regardless of case.
    public func isLike(_ pattern: String) -> Query.Predicate {
        Query.Predicate(property, .like, QueryValue(.text(pattern)))
    }
}

extension Query.Property where Value == UserID {
    /// Returns a predicate that is true if the property is this user.
    public static func == (property: Self, user: some UserReference) -> Query.Predicate {
        Query.Predicate(property.property, .isEqualTo, user.queryValue)
    }
    /// Returns a predicate that is true if the property is not this user.
    public static func != (property: Self, user: some UserReference) -> Query.Predicate {
        Query.Predicate(property.property, .isNotEqualTo, user.queryValue)
    }
}

extension Query.Property where Value == UserID, Operators: QueryOperators.WithLists {
    /// Returns a predicate that is true if the property is one of these users.
    public func isIn(_ users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property, .isIn, QueryValue(users))
    }
    /// Returns a predicate that is true if the property is none of these users.
    public func isNotIn(_ users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property, .isNotIn, QueryValue(users))
    }
}

extension Query.Property where Value == Set<UserID> {
    /// Returns a predicate that is true if the participants are exactly these users and the signed-in user, who can be
    /// omitted.
    public static func == (property: Self, users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property.property, .isEqualTo, QueryValue(users))
    }
    /// Returns a predicate that is true unless the participants are exactly these users and the signed-in user.
    public static func != (property: Self, users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property.property, .isNotEqualTo, QueryValue(users))
    }
    /// Returns a predicate that is true if at least one of these users is a participant. The signed-in user is not
    /// added implicitly.
    public func isIn(_ users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property, .isIn, QueryValue(users))
    }
    /// Returns a predicate that is true if none of these users is a participant.
    public func isNotIn(_ users: some Sequence<some UserReference>) -> Query.Predicate {
        Query.Predicate(property, .isNotIn, QueryValue(users))
    }
}

extension Query.Property where Value == Metadata {
    /// The text at a key path, for example `theme.background_color`. The property has no value if the path has no text.
    public subscript(path path: String) -> Query.Property<String, QueryOperators.Lists> {
        .init(property.atMetadataPath(path))
    }
}

extension Query.Property where Value == [String: String] {
    /// The text at a key path. The property has no value if the path has no text.
    public subscript(path path: String) -> Query.Property<String, QueryOperators.Lists> {
        .init(property.atMetadataPath(path))
    }
}

extension QueryProperty {
    fileprivate func atMetadataPath(_ path: String) -> QueryProperty {
        guard case .metadata(let table) = source else { return self }
        return .metadata(of: table, path: path)
    }
}
