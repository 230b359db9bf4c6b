// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel
import Synchronization

/// Which history of the database this is: shown with every conversation, and another one after the database was restored to an older state.
///
/// The database decides (`conversations.check_epoch`). It is asked every two seconds while the service runs, and in between its last answer is used.
final class EpochSource: Service {
    /// How long after a restore the old epoch may still be shown.
    static let lifetime = Duration.seconds(10)
    /// How often the database is asked.
    private static let interval = Duration.seconds(2)

    private struct Known {
        var value: String
        /// How far the write-ahead log reached.
        var reached: Int64?
        var askedAt: ContinuousClock.Instant
    }

    private let database: Database
    private let state = Mutex<Known?>(nil)
    private let checks = Counter(label: "strata_conversations_epoch_checks_total")

    init(database: Database) { self.database = database }

    /// The epoch as it was told last; empty before the first time.
    var known: String { state.withLock { $0?.value ?? "" } }

    /// The epoch now.
    func current(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        if let known = state.withLock({ $0 }), .now < known.askedAt + Self.lifetime { return known.value }
        return try await check(deadline: deadline)
    }

    /// What `conversations.check_epoch` is to be called with.
    var asked: [Value] {
        let known = state.withLock { $0 }
        return [known.map { .text($0.value) } ?? .null, known?.reached.map { .int8($0) } ?? .null]
    }

    /// Asks the database.
    func check(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let askedAt = ContinuousClock.now
        let rows = try await database.runAlone(.epochCheck, asked, deadline: deadline)
        do {
            guard let row = rows.first else { throw Failure(.internalServerError, "Something went wrong on our side.") }
            let new = Known(value: try row.get(0, as: String.self), reached: try row.getOptional(1), askedAt: askedAt)
            state.withLock { known in
                // Of several answers that are under way the latest counts.
                if let known, known.askedAt > askedAt { return }
                known = new
            }
            checks.increment()
            return new.value
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Asks now and then, until the service stops.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { _ = try? await self.check(deadline: .now + Self.interval) } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }
}

extension Statement {
    static let epochCheck = Statement(
        "epoch.check", sql: "SELECT epoch, reached FROM conversations.check_epoch($1::text, $2::int8)", isIdempotent: true)
}
