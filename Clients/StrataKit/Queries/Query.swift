// SPDX-License-Identifier: Apache-2.0

/// A query for objects in the local store: a condition, a sort order and a limit.
///
/// ```swift
/// let unread = Query<Conversation>(
///     where: { $0.hasUnreadMessages == true && $0.metadata[path: "theme.color"] == "red" },
///     sortBy: [.descending(\.lastMessage.receivedAt)], limit: 20)
/// ```
///
/// A query finds objects on this device and sends no requests to the server. It does not find deleted objects, nor
/// conversations that were created on this device and have no message yet.
public struct Query<Element: Queryable>: Hashable, Sendable {
    /// The condition on the objects; nil selects all objects of the type.
    public var predicate: Predicate?
    /// The maximum number of objects; nil: unlimited.
    public var limit: Int?
    /// The number of objects to skip. It has no effect without a ``limit``.
    public var offset: Int
    /// The sort keys, most significant first. Objects that are equal in all keys are sorted by id; so are all objects
    /// if there are no keys. Objects without a value come first in ascending order and last in descending order.
    public var sortDescriptors: [SortDescriptor]

    /// Creates a query with an existing predicate, or without one.
    public init(
        predicate: Predicate? = nil, sortBy sortDescriptors: [SortDescriptor] = [], limit: Int? = nil, offset: Int = 0
    ) {
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
        self.limit = limit
        self.offset = offset
    }

    /// Creates a query for the objects that satisfy a predicate.
    /// - Parameter predicate: builds the predicate from the queryable properties.
    public init(
        where predicate: (Element.QueryProperties) -> Predicate, sortBy sortDescriptors: [SortDescriptor] = [],
        limit: Int? = nil, offset: Int = 0
    ) {
        self.init(predicate: predicate(Element.queryProperties), sortBy: sortDescriptors, limit: limit, offset: offset)
    }

    /// A sort key.
    public struct SortDescriptor: Hashable, Sendable {
        let property: QueryProperty
        /// A Boolean value that indicates whether the smallest value comes first.
        public let isAscending: Bool

        private init(property: QueryProperty, isAscending: Bool) {
            self.property = property
            self.isAscending = isAscending
        }

        /// Creates a sort key by a LayerKit property name, for example `lastMessage.receivedAt` or `metadata.title`.
        /// - Throws: ``StrataError/Code/unsupportedSort`` if the property is unknown or not sortable.
        public init(_ name: String, ascending: Bool) throws {
            guard let property = Element.querySource.property(named: name), property.isSortable else {
                throw StrataError(.unsupportedSort, "objects of type \(Element.self) cannot be sorted by \(name)")
            }
            self.init(property: property, isAscending: ascending)
        }

        /// Returns a sort key with the smallest or earliest value first.
        public static func ascending<Value, Operators: QueryOperators.WithSorting>(
            _ property: KeyPath<Element.QueryProperties, Property<Value, Operators>>
        ) -> SortDescriptor {
            SortDescriptor(property: Element.queryProperties[keyPath: property].property, isAscending: true)
        }

        /// Returns a sort key with the greatest or latest value first.
        public static func descending<Value, Operators: QueryOperators.WithSorting>(
            _ property: KeyPath<Element.QueryProperties, Property<Value, Operators>>
        ) -> SortDescriptor {
            SortDescriptor(property: Element.queryProperties[keyPath: property].property, isAscending: false)
        }
    }
}
