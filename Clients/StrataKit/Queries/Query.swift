// SPDX-License-Identifier: Apache-2.0
import GRDB

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

/// A type of object that can be queried: ``Conversation``, ``Message``, ``MessagePart``, ``Announcement`` and
/// ``Identity``.
///
/// Only StrataKit's types conform; apps cannot add conformances.
public protocol Queryable: Hashable, Identifiable, Sendable where ID: Sendable {
    /// The properties for predicates and sort descriptors; see ``Query/init(where:sortBy:limit:offset:)``.
    associatedtype QueryProperties: Sendable

    /// The queryable properties.
    static var queryProperties: QueryProperties { get }
    /// The location of the objects in the store. Its members are internal to StrataKit.
    static var querySource: QuerySource<Self> { get }
}

/// The tables of one type of object, and the functions that read it.
public struct QuerySource<Element: Queryable>: Sendable {
    /// The tables, as a FROM clause.
    let tables: String
    /// The columns that ``load`` expects.
    let columns: String
    /// The condition for visible objects; nil if every row is visible.
    let condition: String?
    /// The id column, which breaks ties in the sort order.
    let idColumn: String
    /// The properties by their LayerKit names.
    let properties: [String: QueryProperty]
    /// Alternative names of ``properties``.
    let aliases: [String: String]
    /// The table whose `metadata` column is queried by `metadata.<key path>`; nil if there is none.
    let metadataTable: String?
    /// The types of objects whose data are part of these objects.
    let dependencies: Set<ChangedKind>
    let kind: ChangedKind
    /// The column with the revision of a row. The revision changes with the row and the object's own data, but not with
    /// objects of other ``dependencies``. nil: the type has no revisions, so each change reloads all objects.
    var revisionColumn: String? = nil
    /// Returns the id from a row whose first column is ``idColumn``.
    let id: @Sendable (Row) -> Element.ID
    /// Returns the objects of these rows, in the same order.
    let load: @Sendable (StoreReader, [Row]) throws -> [Element]

    /// Returns the property with a name or alias; nil if it is unknown.
    func property(named name: String) -> QueryProperty? {
        if let property = properties[aliases[name] ?? name] { return property }
        guard let metadataTable, name.hasPrefix("metadata."), name.utf8.count > "metadata.".utf8.count else {
            return nil
        }
        return .metadata(of: metadataTable, path: String(name.dropFirst("metadata.".count)))
    }
}

/// The type of a changed object. Query controllers skip batches that cannot affect their result.
enum ChangedKind: Hashable, Sendable, CaseIterable { case conversation, message, messagePart, announcement, identity }
