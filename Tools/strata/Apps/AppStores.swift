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
        let (homes, failure) = try await homes(of: app)
        if homes.isEmpty, let failure { throw failure }
        return homes.first ?? all[0]
    }

    /// Returns the only database that has an app, or the first one for an unknown app.
    /// - Throws: ``CommandFailure`` if the app is being moved, or if several databases have it. The error of a database
    ///   that cannot be reached.
    func onlyMember(of app: UUID) async throws -> Member {
        let (homes, failure) = try await homes(of: app)
        if let failure { throw failure }
        guard homes.count < 2 else {
            throw CommandFailure(
                .usage,
                """
                \(homes.map(\.name.description).joined(separator: " and ")) both have the app: one was restored to a time \
                before a move. First repeat the move: \(OwnCommand.name) app move \(LayerID.app.text(app)) \(homes[0].name)
                """)
        }
        return homes.first ?? all[0]
    }

    /// Returns the databases that have an app, the one in which it arrived last first, and the first error of those
    /// that cannot be reached. A single database is returned unasked.
    /// - Throws: ``CommandFailure`` if the app is being moved at the moment.
    private func homes(of app: UUID) async throws -> ([Member], failure: (any Error)?) {
        if all.count == 1 { return (all, nil) }
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
        if homes.isEmpty, failure == nil, isMoving {
            throw CommandFailure(
                .temporary, "\(LayerID.app.text(app)) is being moved to another database. Try again in a moment.")
        }
        return (homes.sorted { $0.arrival > $1.arrival }.map(\.member), failure)
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
