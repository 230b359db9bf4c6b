// SPDX-License-Identifier: Apache-2.0
import Crypto
import DatabaseKit
import Foundation
import Postgres

/// The operators of the console in a database. The functions of schema `console` also record each change in the audit
/// log.
struct OperatorStore: Sendable {
    enum Role: String, CaseIterable, Sendable {
        /// Sees everything but traces, and changes nothing.
        case viewer
        /// Sees and changes everything.
        case `operator`
    }

    struct Operator: Decodable, Equatable {
        let name: String
        let role: String
        let createdAt: Date
        /// nil: the operator may sign in.
        let disabledAt: Date?
        /// False if the operator signs in by links only.
        let hasPassword: Bool
    }

    private let database: AppStore

    /// - Parameter url: The libpq URL of the database, as its owner.
    init(url: String) {
        database = AppStore(url: url)
    }

    /// Makes an operator. Returns false if the name is taken.
    /// - Parameter password: nil: the operator signs in by links only.
    func create(_ name: String, password: PasswordHash?, role: Role) async throws -> Bool {
        try await isDone(CreateOperator(name: name, passwordHash: password?.text, role: role.rawValue))
    }

    /// Returns all operators by name.
    func list() async throws -> [Operator] { try await database.query(ListOperators()) }

    /// Disables an operator and ends their sessions. Returns false if there is no such operator.
    func disable(_ name: String) async throws -> Bool { try await isDone(DisableOperator(name: name)) }

    /// Lets an operator sign in again. Returns false if there is no such operator.
    /// - Parameter role: The new role. nil: the role stays.
    func enable(_ name: String, role: Role?) async throws -> Bool {
        try await isDone(EnableOperator(name: name, role: role?.rawValue))
    }

    /// Sets the password of an operator and ends their sessions. Returns false if there is no such operator.
    func setPassword(_ password: PasswordHash, of name: String) async throws -> Bool {
        try await isDone(SetOperatorPassword(name: name, passwordHash: password.text))
    }

    /// Makes a link that signs an operator in once, in place of an earlier one.
    /// - Parameter seconds: The validity. nil: the link does not expire.
    /// - Returns: The path of the link; nil if there is no such operator, or the operator is disabled.
    func makeLink(for name: String, seconds: Int64?) async throws -> String? {
        let token = RandomToken.make()
        let digest = Array(SHA256.hash(data: Data(token.utf8)))
        guard try await isDone(CreateSignInLink(name: name, digest: digest, seconds: seconds)) else { return nil }
        return "/console/link/\(token)"
    }

    private func isDone<Query: PostgresQuery>(_ query: Query) async throws -> Bool where Query.Row == DoneRow {
        try await database.query(query).first?.isDone ?? false
    }
}

struct DoneRow: Decodable {
    let isDone: Bool
}

struct CreateOperator: PostgresQuery {
    let name: String
    let passwordHash: String?
    let role: String

    typealias Row = DoneRow

    static let statement = Statement(
        "operator.create", sql: "SELECT console.create_operator($1, $2, $3) AS is_done")

    var parameters: [Value] { [.text(name), Value(passwordHash), .text(role)] }
}

struct ListOperators: PostgresQuery {
    typealias Row = OperatorStore.Operator

    static let statement = Statement(
        "operator.list",
        sql: """
            SELECT o.name, o.role, o.created_at, o.disabled_at, o.password_hash IS NOT NULL AS has_password
            FROM console.operator o ORDER BY o.name
            """, isIdempotent: true)

    var parameters: [Value] { [] }
}

struct DisableOperator: PostgresQuery {
    let name: String

    typealias Row = DoneRow

    static let statement = Statement("operator.disable", sql: "SELECT console.disable_operator($1) AS is_done")

    var parameters: [Value] { [.text(name)] }
}

struct EnableOperator: PostgresQuery {
    let name: String
    let role: String?

    typealias Row = DoneRow

    static let statement = Statement("operator.enable", sql: "SELECT console.enable_operator($1, $2) AS is_done")

    var parameters: [Value] { [.text(name), Value(role)] }
}

struct SetOperatorPassword: PostgresQuery {
    let name: String
    let passwordHash: String

    typealias Row = DoneRow

    static let statement = Statement("operator.password", sql: "SELECT console.set_password($1, $2) AS is_done")

    var parameters: [Value] { [.text(name), .text(passwordHash)] }
}

struct CreateSignInLink: PostgresQuery {
    let name: String
    let digest: [UInt8]
    let seconds: Int64?

    typealias Row = DoneRow

    static let statement = Statement("operator.link", sql: "SELECT console.create_link($1, $2, $3) AS is_done")

    var parameters: [Value] { [.text(name), .bytes(digest), Value(seconds)] }
}
