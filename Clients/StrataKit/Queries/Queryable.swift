// SPDX-License-Identifier: Apache-2.0
import GRDB

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
