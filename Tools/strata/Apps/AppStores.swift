// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import Postgres
import StrataModel

/// The apps of all databases of an installation.
struct AppStores: Sendable {
    struct Member: Sendable {
        let name: DatabaseName
        let store: AppStore
    }

    /// The databases in the order of the setting; not empty.
    let all: [Member]

    init(_ list: DatabaseList) {
        all = list.databases.map { Member(name: $0.name, store: AppStore(url: $0.url)) }
    }

    /// Returns the database in which an app lives: of several that have it, the one in which it arrived last. For an
    /// unknown app it is the first one, which does not have it.
    /// - Throws: ``CommandFailure`` if the app is being moved at the moment. The error of a database that cannot be
    ///   reached, if no other one has the app.
    func member(of app: UUID) async throws -> Member {
        if all.count == 1 { return all[0] }
        var (failure, isMoving): ((any Error)?, Bool) = (nil, false)
        var homes: [(member: Member, arrival: Int64)] = []
        for member in all {
            do {
                let found = try await member.store.query(ReadAppState(app: AppID(rawValue: app))).first
                if found?.state == "here" { homes.append((member, found?.arrivedAt?.microseconds ?? .min)) }
                isMoving = isMoving || found?.state == "paused" || found?.state == "arriving"
            } catch {
                failure = failure ?? error
            }
        }
        if let home = homes.max(by: { $0.arrival < $1.arrival }) { return home.member }
        if let failure { throw failure }
        if isMoving {
            throw CommandFailure(
                .temporary, "\(LayerID.app.text(app)) is being moved to another database. Try again in a moment.")
        }
        return all[0]
    }

    /// Returns the apps of the database in which an app lives, like ``member(of:)``.
    func store(of app: UUID) async throws -> AppStore { try await member(of: app).store }

    /// Returns the database for a new app: the smallest one.
    /// - Throws: The error of a database that cannot be reached.
    func emptiest() async throws -> Member {
        if all.count == 1 { return all[0] }
        var sizes: [(member: Member, bytes: Int64)] = []
        for member in all {
            guard let row = try await member.store.query(ReadDatabaseSize()).first else { continue }
            sizes.append((member, row.bytes))
        }
        return sizes.min { $0.bytes < $1.bytes }?.member ?? all[0]
    }
}

/// Reads the size of the database.
struct ReadDatabaseSize: PostgresQuery {
    static let statement = Statement(
        "database.size", sql: "SELECT pg_database_size(current_database()) AS bytes", isIdempotent: true)

    var parameters: [Value] { [] }

    struct Row: Decodable {
        let bytes: Int64
    }
}
