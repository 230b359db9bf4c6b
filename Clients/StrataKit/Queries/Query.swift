// SPDX-License-Identifier: Apache-2.0

/// Which objects of the local store to find, in which order, and how many.
///
/// ```swift
/// let unread = Query<Conversation>(
///     where: { $0.hasUnreadMessages == true && $0.metadata[path: "theme.color"] == "red" },
///     sortBy: [.descending(\.lastMessage.receivedAt)], limit: 20)
/// ```
///
/// A query finds what is on this device: it asks the server for nothing. It finds neither deleted objects nor conversations that were made on this device
/// and have no message yet.
public struct Query<Element: Queryable>: Hashable, Sendable {
    /// The condition on the objects. Nil selects all objects of this kind.
    public var predicate: Predicate?
    /// The most objects to find. Nil means all.
    public var limit: Int?
    /// How many objects to skip at the beginning. Without a ``limit`` it has no effect.
    public var offset: Int
    /// The order, the most important first. Objects that are equal in all of them are in the order of their ids, and so are all objects if this is empty.
    /// Objects without a value come first in an ascending order and last in a descending one.
    public var sortDescriptors: [SortDescriptor]

    /// A query with an existing predicate, or without one.
    public init(predicate: Predicate? = nil, sortBy sortDescriptors: [SortDescriptor] = [], limit: Int? = nil, offset: Int = 0) {
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
        self.limit = limit
        self.offset = offset
    }

    /// A query for the objects for which the predicate holds.
    /// - Parameter predicate: makes the predicate from the properties of these objects.
    public init(
        where predicate: (Element.QueryProperties) -> Predicate, sortBy sortDescriptors: [SortDescriptor] = [], limit: Int? = nil, offset: Int = 0
    ) {
        self.init(predicate: predicate(Element.queryProperties), sortBy: sortDescriptors, limit: limit, offset: offset)
    }

    /// One key of the order.
    public struct SortDescriptor: Hashable, Sendable {
        let property: QueryProperty
        /// Smallest first.
        public let isAscending: Bool

        private init(property: QueryProperty, isAscending: Bool) {
            self.property = property
            self.isAscending = isAscending
        }

        /// Sorts by the property with this LayerKit name, for example `lastMessage.receivedAt` or `metadata.title`.
        /// - Throws: ``StrataError/Code/unsupportedSort`` if there is no such property, or it cannot be sorted by.
        public init(_ name: String, ascending: Bool) throws {
            guard let property = Element.querySource.property(named: name), property.isSortable else {
                throw StrataError(.unsupportedSort, "objects of type \(Element.self) cannot be sorted by \(name)")
            }
            self.init(property: property, isAscending: ascending)
        }

        /// Smallest, or earliest, first.
        public static func ascending<Value, Operators: QueryOperators.WithSorting>(
            _ property: KeyPath<Element.QueryProperties, Property<Value, Operators>>
        ) -> SortDescriptor {
            SortDescriptor(property: Element.queryProperties[keyPath: property].property, isAscending: true)
        }

        /// Greatest, or latest, first.
        public static func descending<Value, Operators: QueryOperators.WithSorting>(
            _ property: KeyPath<Element.QueryProperties, Property<Value, Operators>>
        ) -> SortDescriptor {
            SortDescriptor(property: Element.queryProperties[keyPath: property].property, isAscending: false)
        }
    }
}
