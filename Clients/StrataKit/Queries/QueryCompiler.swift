// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// A query compiled to SQL. All values are bound as arguments.
struct CompiledQuery<Element: Queryable> {
    private let source = Element.querySource
    let condition: SQL
    /// The sort keys. The last one is the id.
    let order: [(expression: SQL, isAscending: Bool)]
    let limit: Int?
    let offset: Int

    /// A range of the result.
    struct Slice {
        var offset = 0
        /// The maximum number of objects; nil: unlimited.
        var limit: Int?
        /// True if the range is counted from the end of the result. The query must have no limit.
        var isReversed = false
    }

    /// Returns SQL for the objects' rows, in order. If the type has a revision, it is the last column.
    func rows(_ slice: Slice = Slice()) -> SQL { select(columns, in: slice) }

    /// Returns SQL for the rows with these ids, in any order, with the columns of ``rows(_:)``.
    func rows(withIDs ids: [DatabaseValue]) -> SQL {
        let list = ids.map { SQL("\($0)") }.joined(separator: ", ")
        return "SELECT \(columns) FROM \(sql: source.tables) WHERE \(sql: source.idColumn) IN (\(list))"
    }

    private var columns: SQL {
        SQL(sql: [source.columns, source.revisionColumn].compactMap(\.self).joined(separator: ", "))
    }

    func revisions(_ column: String, in slice: Slice) -> SQL {
        select("\(sql: source.idColumn), \(sql: column)", in: slice)
    }

    func ids(_ slice: Slice = Slice()) -> SQL { select(SQL(sql: source.idColumn), in: slice) }

    var count: SQL {
        guard let limit else { return "SELECT count(*) FROM \(sql: source.tables) WHERE \(condition)" }
        return """
            SELECT count(*) FROM (\
            SELECT 1 FROM \(sql: source.tables) WHERE \(condition) LIMIT \(limit) OFFSET \(offset))
            """
    }

    private func select(_ columns: SQL, in slice: Slice) -> SQL {
        let order = order.map { key -> SQL in
            "\(key.expression) \(sql: key.isAscending != slice.isReversed ? "ASC" : "DESC")"
        }
        var sql: SQL =
            "SELECT \(columns) FROM \(sql: source.tables) WHERE \(condition) ORDER BY \(order.joined(separator: ", "))"
        let left = limit.map { max(0, $0 - slice.offset) }
        let limit = [left, slice.limit].compactMap { $0 }.min()
        let skipped = (self.limit == nil ? 0 : offset) + slice.offset
        if limit != nil || skipped > 0 { sql = sql + " LIMIT \(limit ?? -1) OFFSET \(skipped)" }
        return sql
    }
}

/// Compiles queries to SQL.
///
/// A comparison with a property that has no value can yield NULL, which counts as false. AND and OR preserve this; NOT
/// is compiled to `IS NOT TRUE`.
struct QueryCompiler {
    let me: UserID
    /// Returns the current id of a conversation.
    let resolve: (ConversationID) throws -> ConversationID

    /// The maximum number of comparisons and combinations in a predicate. SQLite rejects much larger ones.
    static let maximumSize = 400
    static let maximumDepth = 20
    static let maximumValues = 30_000
    static let maximumPatternBytes = 50_000

    /// - Throws: ``StrataError/Code/unsupportedPredicate`` for a value that does not fit its property, and for a
    ///   predicate that is too large; ``StrataError/Code/invalidArgument`` for a negative limit or offset.
    func compile<Element>(_ query: Query<Element>) throws -> CompiledQuery<Element> {
        guard query.limit ?? 0 >= 0 else { throw StrataError(.invalidArgument, "limit is below 0") }
        guard query.offset >= 0 else { throw StrataError(.invalidArgument, "offset is below 0") }
        let source = Element.querySource
        var conditions = source.condition.map { [SQL(sql: $0)] } ?? []
        if let node = query.predicate?.node {
            guard node.size <= Self.maximumSize else {
                throw unsupported("the predicate has more than \(Self.maximumSize) comparisons")
            }
            guard node.depth <= Self.maximumDepth else {
                throw unsupported("the predicate is nested deeper than \(Self.maximumDepth)")
            }
            conditions.append(try condition(node, as: Element.self))
        }
        let condition = conditions.isEmpty ? SQL("TRUE") : conditions.joined(separator: " AND ")
        return CompiledQuery(condition: condition, order: order(query), limit: query.limit, offset: query.offset)
    }

    private func condition<Element: Queryable>(
        _ node: Query<Element>.Predicate.Node, as type: Element.Type
    ) throws -> SQL {
        switch node {
        case .comparison(let property, let comparison, let value):
            return try condition(on: property, comparison: comparison, value: value)
        case .all(let nodes):
            return nodes.isEmpty
                ? "TRUE" : "(\(try nodes.map { try condition($0, as: type) }.joined(separator: " AND ")))"
        case .any(let nodes):
            return nodes.isEmpty
                ? "FALSE" : "(\(try nodes.map { try condition($0, as: type) }.joined(separator: " OR ")))"
        case .not(let node): return "(\(try condition(node, as: type)) IS NOT TRUE)"
        }
    }

    private func condition(on property: QueryProperty, comparison: PredicateOperator, value: QueryValue) throws -> SQL {
        let operand = try resolved(property.operand(for: comparison, value: value), for: property)
        if case .list(let values) = operand, values.count > Self.maximumValues {
            throw unsupported("\(property.name) has too many values")
        }
        switch property.source {
        case .column(let column):
            return columnCondition(SQL(sql: column), type: property.type, comparison: comparison, operand: operand)
        case .metadata(let table):
            return columnCondition(
                SQL(sql: "\(table).metadata"), type: property.type, comparison: comparison, operand: operand)
        case .metadataPath(let table, let path):
            return columnCondition(
                text(at: path, of: table), type: property.type, comparison: comparison, operand: operand)
        case .parts(let column, let owner):
            let (positive, isNegated) = comparison.positive
            let part = columnCondition(SQL(sql: column), type: property.type, comparison: positive, operand: operand)
            return """
                \(sql: isNegated ? "NOT EXISTS" : "EXISTS") \
                (SELECT 1 FROM part WHERE part.message = \(sql: owner) AND \(part))
                """
        case .participants: return participantsCondition(comparison: comparison, operand: operand)
        }
    }

    // MARK: Comparisons

    private func columnCondition(
        _ column: SQL, type: QueryProperty.ValueType, comparison: PredicateOperator, operand: QueryProperty.Operand
    ) -> SQL {
        switch operand {
        case .null: return comparison == .isNotEqualTo ? "\(column) IS NOT NULL" : "\(column) IS NULL"
        // SQLite can use a partial index with this condition only in this form, without a comparison with 1.
        case .value(let value) where type == .bool:
            return (value == 1.databaseValue) == (comparison == .isEqualTo) ? column : "NOT \(column)"
        case .value(let value):
            return comparison == .isNotEqualTo
                ? "\(column) IS NOT \(value)" : "\(column) \(sql: comparison.sql) \(value)"
        case .list(let values):
            return comparison == .isNotIn
                ? "(\(column) IN \(list(values)) IS NOT TRUE)" : "\(column) IN \(list(values))"
        }
    }

    /// Compares the participants of conversations. The signed-in user is added to a set that is compared as a whole.
    private func participantsCondition(comparison: PredicateOperator, operand: QueryProperty.Operand) -> SQL {
        guard case .list(let values) = operand else { return comparison == .isNotEqualTo ? "TRUE" : "FALSE" }
        switch comparison {
        case .isIn, .isNotIn:
            let conversations: SQL = "(SELECT conversation FROM participant WHERE user_id IN \(list(values)))"
            return "conversation.id \(sql: comparison == .isIn ? "IN" : "NOT IN") \(conversations)"
        default:
            let users = Set(values.compactMap { String.fromDatabaseValue($0) }.map { UserID(trusted: $0) }).union([me])
            let lines = users.sorted().map(\.rawValue).joined(separator: "\n")
            return "conversation.participants \(sql: comparison == .isEqualTo ? "=" : "<>") \(lines)"
        }
    }

    /// Returns SQL for the text at a key path, which is a single key in the column. `json_each` needs no JSON path, so
    /// the key needs no quoting.
    private func text(at path: String, of table: String) -> SQL {
        "(SELECT value FROM json_each(\(sql: table).metadata) WHERE key = \(path))"
    }

    private func list(_ values: [DatabaseValue]) -> SQL { "(\(values.map { SQL("\($0)") }.joined(separator: ", ")))" }

    /// Replaces previous conversation ids by the current ones.
    private func resolved(_ operand: QueryProperty.Operand, for property: QueryProperty) throws -> QueryProperty.Operand
    {
        guard property.type == .conversation else { return operand }
        let resolve = { (value: DatabaseValue) throws -> DatabaseValue in
            guard let id = UUID.fromDatabaseValue(value) else { return value }
            return try self.resolve(ConversationID(rawValue: id)).blob.databaseValue
        }
        return switch operand {
        case .null: .null
        case .value(let value): .value(try resolve(value))
        case .list(let values): .list(try values.map(resolve))
        }
    }

    // MARK: Order

    private func order<Element>(_ query: Query<Element>) -> [(expression: SQL, isAscending: Bool)] {
        let keys = query.sortDescriptors.map { (expression: sortKey($0.property), isAscending: $0.isAscending) }
        // The id has the direction of the last key, so that SQLite can read an index over both in one direction.
        return keys + [(SQL(sql: Element.querySource.idColumn), keys.last?.isAscending ?? true)]
    }

    private func sortKey(_ property: QueryProperty) -> SQL {
        switch property.source {
        case .metadataPath(let table, let path): text(at: path, of: table)
        case .metadata(let table): SQL(sql: "\(table).metadata")
        case .participants: SQL(sql: "conversation.participants")
        case .column(let column), .parts(let column, _): SQL(sql: property.sortColumn ?? column)
        }
    }

    private func unsupported(_ message: String) -> StrataError { StrataError(.unsupportedPredicate, message) }
}

extension PredicateOperator {
    /// The SQL operator for a comparison with a single value.
    fileprivate var sql: String {
        switch self {
        case .isEqualTo: "="
        case .isNotEqualTo: "IS NOT"
        case .isLessThan: "<"
        case .isLessThanOrEqualTo: "<="
        case .isGreaterThan: ">"
        case .isGreaterThanOrEqualTo: ">="
        case .isIn: "IN"
        case .isNotIn: "NOT IN"
        case .like: "LIKE"
        }
    }

    /// The operator that this one negates, or this one if it is not a negation.
    fileprivate var positive: (PredicateOperator, isNegated: Bool) {
        switch self {
        case .isNotEqualTo: (.isEqualTo, true)
        case .isNotIn: (.isIn, true)
        default: (self, false)
        }
    }
}
