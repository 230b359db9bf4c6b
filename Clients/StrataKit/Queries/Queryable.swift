// SPDX-License-Identifier: Apache-2.0
import GRDB

/// A kind of object that can be queried: ``Conversation``, ``Message``, ``MessagePart``, ``Announcement`` and ``Identity``.
///
/// Only StrataKit has such types: there is no way to make another type queryable.
public protocol Queryable: Hashable, Identifiable, Sendable where ID: Sendable {
    /// The properties that predicates and sort descriptors can name; see ``Query/init(where:sortBy:limit:offset:)``.
    associatedtype QueryProperties: Sendable

    /// All of them.
    static var queryProperties: QueryProperties { get }
    /// Where the objects are in the store. Its members are StrataKit's own.
    static var querySource: QuerySource<Self> { get }
}

/// The place of the objects of one kind in the store, and the way to read them.
public struct QuerySource<Element: Queryable>: Sendable {
    /// The tables, in the form of a FROM clause.
    let tables: String
    /// The columns that ``load`` reads.
    let columns: String
    /// The condition on visible objects. Nil if every row is visible.
    let condition: String?
    /// The column with the id, which orders objects that are otherwise equal.
    let idColumn: String
    /// The properties by their LayerKit names.
    let properties: [String: QueryProperty]
    /// Other names for some of ``properties``.
    let aliases: [String: String]
    /// The table whose column `metadata` is queried by `metadata.<key path>`; nil if there is none.
    let metadataTable: String?
    /// The kinds of objects whose data an object of this kind contains.
    let dependencies: Set<ChangedKind>
    /// The kind of the objects themselves.
    let kind: ChangedKind
    /// The column whose number changes with each change of the row and of the object's own data, but not with objects of other ``dependencies``. Nil means that
    /// there is none, and that all objects are read after each change.
    var revisionColumn: String? = nil
    /// The id in a row with ``idColumn`` as its first column.
    let id: @Sendable (Row) -> Element.ID
    /// The objects of these rows, in the same order.
    let load: @Sendable (StoreReader, [Row]) throws -> [Element]

    /// The property with this name, or nil.
    func property(named name: String) -> QueryProperty? {
        if let property = properties[aliases[name] ?? name] { return property }
        guard let metadataTable, name.hasPrefix("metadata."), name.utf8.count > "metadata.".utf8.count else { return nil }
        return .metadata(of: metadataTable, path: String(name.dropFirst("metadata.".count)))
    }
}

/// The kinds of objects in a batch of changes. Query controllers skip batches that cannot concern their result.
enum ChangedKind: Hashable, Sendable, CaseIterable { case conversation, message, messagePart, announcement, identity }
