// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf
import Synchronization

/// A cache of the heads of all logs that have grown recently. All gateways ask the same question at nearly the same
/// time. So one answer serves them for half a second, and only one read runs at a time.
final class HeadsCache: Sendable {
    /// The maximum age of a cached answer.
    static let lifetime = Duration.milliseconds(500)

    private struct Answer {
        let since: Int64
        let readAt: ContinuousClock.Instant
        let task: Task<ProtoHeadsResponse, any Error>
    }

    private let database: Database
    private let epoch: EpochSource
    private let hasOtherDatabases: Bool
    private let answer = Mutex<Answer?>(nil)

    /// - Parameter hasOtherDatabases: true if the answer names the apps that have left the database.
    init(database: Database, epoch: EpochSource, hasOtherDatabases: Bool = false) {
        self.database = database
        self.epoch = epoch
        self.hasOtherDatabases = hasOtherDatabases
    }

    /// Returns the heads.
    /// - Parameter since: a time in microseconds since 1970. 0: the database's default. A cached answer with an earlier
    ///   time is sufficient.
    func read(since: Int64, deadline: ContinuousClock.Instant) async throws -> ProtoHeadsResponse {
        let now = ContinuousClock.now
        let task = answer.withLock { answer in
            if let answer, now - answer.readAt < Self.lifetime,
                answer.since == since || (answer.since != 0 && answer.since <= since)
            {
                return answer.task
            }
            let (database, epoch, hasOtherDatabases) = (database, epoch, hasOtherDatabases)
            let task = Task {
                var response = try await Self.read(since: since, from: database, deadline: now + .seconds(5))
                // Read the epoch after the heads. If another database replaces this one in between, the answer shows
                // the change.
                response.epoch = try await epoch.check(deadline: now + .seconds(5))
                if hasOtherDatabases {
                    let rows = try await database.run(ReadMovedApps(), deadline: now + .seconds(5))
                    response.moved = rows.first?.apps.map { Data($0) } ?? []
                }
                return response
            }
            answer = Answer(since: since, readAt: now, task: task)
            return task
        }
        do {
            return try await task.value
        } catch {
            // Failures are not cached.
            answer.withLock { if $0?.task == task { $0 = nil } }
            throw error
        }
    }

    private static func read(
        since: Int64, from database: Database, deadline: ContinuousClock.Instant
    ) async throws -> ProtoHeadsResponse {
        let rows = try await database.runExclusive(
            ReadHeads(since: since == 0 ? nil : PostgresTimestamp(microseconds: since)), deadline: deadline)
        var response = ProtoHeadsResponse()
        for row in rows {
            let position = row.position ?? 0
            switch (row.entry, row.appID, row.userID, row.conversationID) {
            case (0, _, _, _): response.asOf = row.asOf?.microseconds ?? 0
            case (1, _, _, let conversation?):
                response.heads.append(
                    .with {
                        $0.conversationID = Data(conversation)
                        // The contract has one message for a position in a log. In this answer, the position is the
                        // head.
                        $0.after = position
                    })
            case (2, let app?, let user?, let conversation?):
                response.added.append(
                    .with {
                        $0.appID = Data(app)
                        $0.userID = user.rawValue
                        $0.conversationID = Data(conversation)
                        $0.position = position
                    })
            case (3, let app?, let user?, _):
                response.users.append(
                    .with {
                        $0.appID = Data(app)
                        $0.userID = user.rawValue
                        $0.position = position
                    })
            default: continue
            }
        }
        return response
    }
}

/// Reads the apps that have left the database for another one.
struct ReadMovedApps: PostgresQuery {
    typealias Row = AppsRow

    static let statement = Statement(
        "directory.moved", sql: "SELECT conversations.moved_apps() AS apps", isIdempotent: true)

    var parameters: [Value] { [] }
}
