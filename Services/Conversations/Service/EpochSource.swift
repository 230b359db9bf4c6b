// SPDX-License-Identifier: Apache-2.0
import Model
import Postgres
import Synchronization

/// Which history of the database this is: shown with every conversation, and another one after the database was restored to an older state.
///
/// The database decides (`conversations.check_epoch`); its answer is used again for a few seconds.
final class EpochSource: Sendable {
    /// How long after a restore the old epoch may still be shown.
    static let lifetime = Duration.seconds(10)

    private let database: Database
    private let known = Mutex<(value: String, until: ContinuousClock.Instant)?>(nil)

    init(database: Database) { self.database = database }

    /// The epoch now.
    func current(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let now = ContinuousClock.now
        if let known = known.withLock({ $0 }), now < known.until { return known.value }
        let rows = try await database.runAlone(.epochCheck, [], deadline: deadline)
        do {
            guard let value = try rows.first?.get(0, as: String.self) else {
                throw Failure(.internalServerError, "Something went wrong on our side.")
            }
            known.withLock { $0 = (value, now + Self.lifetime) }
            return value
        } catch {
            throw Failure(reading: error)
        }
    }
}

extension Statement {
    static let epochCheck = Statement("epoch.check", sql: "SELECT conversations.check_epoch()", isIdempotent: true)
}
