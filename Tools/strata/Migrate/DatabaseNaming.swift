// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import Postgres
import StrataModel

/// The naming of several databases after their migration. Each gets the name of the setting, and a number that no other
/// one has, by which the ids that they make differ. A named database keeps its number.
struct DatabaseNaming {
    private let stores: AppStores

    init(_ stores: AppStores) { self.stores = stores }

    /// The name and the number of a database.
    struct Identity: Decodable, Equatable {
        let name: String?
        let number: Int64
        /// True if the database has an app, whose ids have the present number.
        let hasApps: Bool
    }

    /// Names the databases that have no name yet.
    /// - Throws: ``CommandFailure`` if a database has another name, or the number of another one.
    func run() async throws {
        var known: [(member: AppStores.Member, identity: Identity)] = []
        for member in stores.all {
            guard let identity = try await member.store.query(ReadDatabaseIdentity()).first else { continue }
            known.append((member, identity))
        }
        let numbers = try Self.numbers(for: known.map { (name: $0.member.name, identity: $0.identity) })
        for (database, number) in zip(known, numbers) where database.identity.name == nil {
            _ = try await database.member.store.query(
                NameDatabase(name: database.member.name.description, number: number))
            Console.standard.say("\(database.member.name): Named, with the number \(number).")
        }
    }

    /// Returns the number of each database.
    static func numbers(for databases: [(name: DatabaseName, identity: Identity)]) throws -> [Int64] {
        var numbers = [Int64?](repeating: nil, count: databases.count)
        var taken: Set<Int64> = []
        // A database whose ids have its number must keep it.
        for (index, database) in databases.enumerated() where database.identity.name != nil || database.identity.hasApps
        {
            if let name = database.identity.name, name != database.name.description {
                throw CommandFailure(
                    .configuration,
                    "The database that is given as \(database.name) has the name \(name). Are the URLs swapped?")
            }
            guard taken.insert(database.identity.number).inserted else {
                throw CommandFailure(
                    .configuration,
                    """
                    The database \(database.name) has apps, and ids with the number of another database. Only one \
                    database may have had apps before there were several.
                    """)
            }
            numbers[index] = database.identity.number
        }
        return numbers.map { number in
            let chosen = number ?? (Int64(1)...1024).first { !taken.contains($0) } ?? 1024
            taken.insert(chosen)
            return chosen
        }
    }
}

struct ReadDatabaseIdentity: PostgresQuery {
    typealias Row = DatabaseNaming.Identity

    static let statement = Statement(
        "database.identity",
        sql: """
            SELECT d.name, d.number, EXISTS (SELECT FROM conversations.app) AS has_apps
            FROM conversations.database d WHERE d.is_only
            """, isIdempotent: true)

    var parameters: [Value] { [] }
}

struct NameDatabase: PostgresQuery {
    let name: String
    let number: Int64

    static let statement = Statement(
        "database.name", sql: "SELECT conversations.name_database($1, $2::int8)", isIdempotent: true)

    var parameters: [Value] { [.text(name), .int8(number)] }
}
